//! The steps of a tenant: a random sequence for each seed.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngSeed, TestRunner};

/// Numbers of Ingresses, and of Services.
pub(super) const INGRESSES: usize = 12;
pub(super) const SERVICES: usize = 4;
/// Secrets that together are larger than NGINX's memory for them.
const HOARD: usize = 40;
/// Paths of an Ingress that the API server still takes.
const MOST_PATHS: usize = 20_000;

/// One thing that it does.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// An Ingress is made or changed.
    Ingress(IngressPlan),
    /// An Ingress changes to and fro, as fast as the API server takes it.
    Flap(IngressPlan, IngressPlan),
    /// So many small Ingresses are made.
    Crowd(usize),
    Service(usize, Shape),
    Endpoints(usize, Endpoints),
    Secret(usize, Content),
    /// So many Secrets full of users, each named by an Ingress.
    Hoard(usize),
    ConfigMap(usize, Content),
    DeleteIngress(usize),
    /// All of one Ingress's hosts are asked, with passwords.
    Visit(usize),
}

/// The plan of an Ingress.
#[derive(Debug, Clone)]
pub(super) struct IngressPlan {
    pub(super) number: usize,
    pub(super) hosts: Hosts,
    pub(super) paths: Paths,
    /// Number of the next values of [`super::values`] that it has.
    pub(super) annotations: usize,
    pub(super) service: usize,
    pub(super) tls: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hosts {
    Own,
    /// A host of another tenant.
    Victim(usize),
    /// The wildcard above the other tenants' hosts.
    Above,
    /// None at all.
    Nothing,
    /// So many.
    Many(usize),
    /// Texts that are hardly names.
    Odd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paths {
    Root,
    /// Regular expressions.
    Expressions(usize),
    /// As many as an object has room for.
    Many(usize),
    /// 400, each with the same list of addresses, as long as an annotation may be.
    Listed,
    Odd,
}

impl Paths {
    /// The same with so many paths at most.
    fn within(self, most: usize) -> Self {
        match self {
            Self::Expressions(count) => Self::Expressions(count.min(most)),
            Self::Many(count) => Self::Many(count.min(most)),
            Self::Listed if most < 400 => Self::Root,
            other => other,
        }
    }
}

/// The form of a Service.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    Plain,
    Headless,
    ManyPorts,
    /// A name elsewhere.
    External(usize),
    Gone,
}

/// The endpoints of a Service.
#[derive(Debug, Clone, Copy)]
pub(super) enum Endpoints {
    Nothing,
    /// An echo server of its own.
    Own,
    /// This machine, and where clouds keep credentials.
    Local,
    /// So many slices of a thousand.
    Thousands(usize),
}

/// The content of a Secret or a ConfigMap.
#[derive(Debug, Clone, Copy)]
pub(super) enum Content {
    Good,
    Empty,
    /// As large as an object may be, one value.
    Large,
    /// As large as an object may be, in many entries.
    Many,
    Garbage,
    Gone,
}

/// The owners of the hosts that Ingresses name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The hosts of others as well.
    Everywhere,
    /// None that another tenant has.
    OwnHosts,
}

/// The sequence of a seed.
///
/// # Panics
/// The strategy yields nothing, which is a fault of this module.
pub(super) fn sequence(seed: u64, length: usize, reach: Reach) -> Vec<Step> {
    let config = Config { rng_seed: RngSeed::Fixed(seed), failure_persistence: None, ..Config::default() };
    let strategy = proptest::collection::vec(step(reach), length);
    strategy.new_tree(&mut TestRunner::new(config)).expect("no value is refused").current()
}

/// The largest object of each kind, in each way of being large.
pub(super) fn largest() -> Vec<Step> {
    let plan = |number, hosts, paths| Step::Ingress(IngressPlan { number, hosts, paths, annotations: 0, service: 0, tls: false });
    let mut steps = vec![
        plan(0, Hosts::Own, Paths::Many(20_000)),
        plan(1, Hosts::Own, Paths::Listed),
        plan(2, Hosts::Many(3_000), Paths::Root),
        plan(3, Hosts::Own, Paths::Expressions(8_000)),
        Step::Endpoints(0, Endpoints::Thousands(5)),
    ];
    for content in [Content::Large, Content::Many] {
        steps.extend((0..super::objects::SECRETS.len()).map(|number| Step::Secret(number, content)));
        steps.extend((0..super::objects::CONFIG_MAPS.len()).map(|number| Step::ConfigMap(number, content)));
    }
    steps.push(Step::Hoard(HOARD));
    steps
}

fn step(reach: Reach) -> impl Strategy<Value = Step> {
    let content = || {
        prop_oneof![
            4 => Just(Content::Good),
            1 => Just(Content::Empty),
            1 => Just(Content::Large),
            1 => Just(Content::Many),
            1 => Just(Content::Garbage),
            1 => Just(Content::Gone),
        ]
    };
    let shape = prop_oneof![
        3 => Just(Shape::Plain),
        1 => Just(Shape::Headless),
        1 => Just(Shape::ManyPorts),
        2 => (0..super::objects::EXTERNAL.len()).prop_map(Shape::External),
        1 => Just(Shape::Gone),
    ];
    let endpoints = prop_oneof![
        1 => Just(Endpoints::Nothing),
        3 => Just(Endpoints::Own),
        1 => Just(Endpoints::Local),
        1 => (1..4_usize).prop_map(Endpoints::Thousands),
    ];
    prop_oneof![
        28 => plan(reach).prop_map(Step::Ingress),
        4 => (plan(reach), plan(reach)).prop_map(|(one, other)| Step::Flap(one, other)),
        1 => (20..60_usize).prop_map(Step::Crowd),
        4 => (0..SERVICES, shape).prop_map(|(number, shape)| Step::Service(number, shape)),
        4 => (0..SERVICES, endpoints).prop_map(|(number, endpoints)| Step::Endpoints(number, endpoints)),
        4 => (any::<prop::sample::Index>(), content()).prop_map(|(at, content)| Step::Secret(at.index(super::objects::SECRETS.len()), content)),
        1 => (2..6_usize).prop_map(Step::Hoard),
        3 => (any::<prop::sample::Index>(), content()).prop_map(|(at, content)| Step::ConfigMap(at.index(super::objects::CONFIG_MAPS.len()), content)),
        3 => (0..INGRESSES).prop_map(Step::DeleteIngress),
        4 => (0..INGRESSES).prop_map(Step::Visit),
    ]
}

fn plan(reach: Reach) -> impl Strategy<Value = IngressPlan> {
    // A wildcard with TLS applies to hosts below it, unless each belongs to one namespace.
    let (foreign, above) = if reach == Reach::Everywhere { (4, 2) } else { (0, 0) };
    let hosts = prop_oneof![
        12 => Just(Hosts::Own),
        foreign => (0..super::victims::COUNT).prop_map(Hosts::Victim),
        above => Just(Hosts::Above),
        1 => Just(Hosts::Nothing),
        1 => (2..200_usize).prop_map(Hosts::Many),
        1 => Just(Hosts::Odd),
    ];
    let paths = prop_oneof![
        20 => Just(Paths::Root),
        4 => (1..400_usize).prop_map(Paths::Expressions),
        1 => (5_000..20_000_usize).prop_map(Paths::Many),
        1 => Just(Paths::Listed),
        2 => Just(Paths::Odd),
    ];
    (0..INGRESSES, hosts, paths, 0..9_usize, 0..SERVICES, any::<bool>()).prop_map(|(number, hosts, paths, annotations, service, tls)| {
        let count = if let Hosts::Many(count) = hosts { count } else { 1 };
        IngressPlan { number, hosts, paths: paths.within(MOST_PATHS / count), annotations, service, tls }
    })
}
