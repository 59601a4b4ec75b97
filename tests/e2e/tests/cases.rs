//! The end-to-end cases, each named after its id in the list of compatible behaviour.

mod cases {
    mod life;
    mod serve;
}
