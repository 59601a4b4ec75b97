//! Commands of people: `kubectl narthex`, `narthex migrate values`, and every command in the documentation.

mod commands {
    mod fake;
    mod live;
    mod pages;
    mod plan;
    mod plugin;
    mod values;
}
