//! `narthex compare` and `narthex switch`, between two controllers of ours.

mod migrate {
    mod compare;
    mod sides;
    mod switch;
}
