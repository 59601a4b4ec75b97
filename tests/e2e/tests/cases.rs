//! The end-to-end cases, each named after its id in the list of compatible behaviour.

mod cases {
    mod adm;
    mod class;
    mod defb;
    mod dyn_config;
    mod err;
    mod golden;
    mod golden_routes;
    mod host;
    mod icon;
    mod life;
    mod limit;
    mod log;
    mod modsec;
    mod path;
    mod serve;
    mod snip;
    mod status;
    mod svc;
}
