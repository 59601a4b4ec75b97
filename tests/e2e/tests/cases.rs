//! The end-to-end cases, each named after its id in the list of compatible behaviour.

mod cases {
    mod aff;
    mod can;
    mod class;
    mod defb;
    mod dyn_config;
    mod golden;
    mod golden_routes;
    mod host;
    mod icon;
    mod lb;
    mod life;
    mod path;
    mod serve;
    mod status;
    mod svc;
}
