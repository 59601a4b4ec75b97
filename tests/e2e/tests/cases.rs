//! The end-to-end cases, each named after its id in the list of compatible behaviour.

mod cases {
    mod class;
    mod cors;
    mod defb;
    mod dyn_config;
    mod golden;
    mod golden_routes;
    mod hdr;
    mod host;
    mod icon;
    mod life;
    mod path;
    mod redir;
    mod rw;
    mod serve;
    mod status;
    mod svc;
}
