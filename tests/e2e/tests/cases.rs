//! The end-to-end cases, each named after its id in the list of compatible behaviour.

mod cases {
    mod acl;
    mod adm;
    mod aff;
    mod atls;
    mod auth;
    mod bproto;
    mod can;
    mod class;
    mod cors;
    mod defb;
    mod dyn_config;
    mod err;
    mod faults;
    mod gauth;
    mod golden;
    mod golden_routes;
    mod guard;
    mod hdr;
    mod host;
    mod hostile;
    mod icon;
    mod lb;
    mod life;
    mod limit;
    mod local;
    mod log;
    mod mirror;
    mod modsec;
    mod nameless;
    mod obs;
    mod owners;
    mod pass;
    mod path;
    mod proxy;
    mod pssl;
    mod redir;
    mod retries;
    mod rw;
    mod sec;
    mod serve;
    mod snip;
    mod status;
    mod svc;
    mod unlike;
}
