//! The Helm chart: what it renders and refuses, and that what it installs works with the rights that it gives.

mod chart {
    mod controller;
    mod objects;
    mod render;
    mod rollout;
    mod scaling;
    mod values;
    mod versions;
    mod webhook;
}
