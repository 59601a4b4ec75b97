//! `narthex rollout` against a real API server, with real Deployments.

mod rollout {
    mod annotations;
    mod content;
    mod flags;
    mod guard;
    mod kinds;
    mod names;
    mod replicas;
    mod rights;
    mod scope;
    mod stop;
    mod tell;
    mod trouble;
}
