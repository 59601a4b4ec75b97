//! The end-to-end cases, each named after its id in the list of compatible behaviour.

mod cases {
    mod bproto;
    mod class;
    mod defb;
    mod dyn_config;
    mod golden;
    mod golden_routes;
    mod host;
    mod icon;
    mod life;
    mod mirror;
    mod path;
    mod proxy;
    mod pssl;
    mod serve;
    mod status;
    mod svc;
}
