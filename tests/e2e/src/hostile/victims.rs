//! Twenty hosts in three namespaces, protected in every way, and what they have to answer.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::ObjectMeta;
use testkit::bed::Bed;
use testkit::gate::Gate;
use testkit::http::basic;
use testkit::kube::{IngressBuilder, PathType, mk_authority, mk_ingress, mk_tls_secret};
use testkit::ports;

use super::check::{Check, Expected};
use crate::{Case, Echo, Servers};

/// The domain of all of them.
pub(super) const DOMAIN: &str = "victims.example.com";
/// Number of hosts.
pub(super) const COUNT: usize = NAMES.len();
const NAMES: [&str; 20] = [
    "plain-0",
    "plain-1",
    "plain-2",
    "plain-3",
    "rewritten",
    "redirected",
    "canary",
    "tls-0",
    "tls-1",
    "tls-2",
    "mtls-0",
    "mtls-1",
    "basic-0",
    "basic-1",
    "external-0",
    "external-1",
    "limited",
    "counted",
    "listed-0",
    "listed-1",
];
/// A client's address that lists of addresses have.
const LISTED: &str = "127.0.0.2";
/// bcrypt of `bar`, cost 4.
const HASH: &str = "$2y$04$abcdefghijklmnopqrstuuEnktNu4dNa/sMz6nY.lAbxawdTTajT2";

/// A host by its first label.
pub(super) fn host(name: &str) -> String {
    format!("{name}.{DOMAIN}")
}

/// A host by its number, below [`COUNT`].
pub(super) fn nth(number: usize) -> String {
    host(NAMES[number])
}

/// The tenants that are to notice nothing.
pub struct Victims {
    /// Three namespaces: plain hosts, TLS, protection.
    pub cases: [Case; 3],
    /// The expected answers of their hosts.
    pub checks: Vec<Check>,
    _servers: Vec<Servers>,
    _gate: Gate,
}

impl Victims {
    /// Makes their objects.
    ///
    /// # Errors
    /// The API server refuses one.
    pub async fn new(bed: &Bed) -> anyhow::Result<Self> {
        let case = async |id: &str| Case::with_bed(bed.clone(), id).await;
        let cases = [case("victim-plain").await?, case("victim-tls").await?, case("victim-guarded").await?];
        let mut servers = Vec::new();
        for case in &cases {
            servers.push(case.deploy(&[Echo::named("echo"), Echo::named("second")]).await?);
        }
        let gate = Gate::start((ports::addresses(1)?[0], 8080).into()).await?;
        let [plain, tls, guarded] = &cases;
        let mut checks = plain_hosts(plain).await?;
        checks.extend(tls_hosts(tls).await?);
        checks.extend(guarded_hosts(guarded, &gate).await?);
        Ok(Self { cases, checks, _servers: servers, _gate: gate })
    }
}

fn rule(name: &str) -> IngressBuilder {
    mk_ingress(name).class("nginx").host(&host(name)).path("/", PathType::Prefix, "echo", 80)
}

async fn create(case: &Case, ingress: IngressBuilder) -> anyhow::Result<()> {
    case.create(&ingress.build()).await.map(drop)
}

async fn plain_hosts(case: &Case) -> anyhow::Result<Vec<Check>> {
    let mut checks = Vec::new();
    for name in ["plain-0", "plain-1", "plain-2", "plain-3"] {
        create(case, rule(name)).await?;
        checks.push(Check::of(name, Expected::served(case, "echo")));
    }
    let rewritten = mk_ingress("rewritten").class("nginx").host(&host("rewritten"));
    let rewritten = rewritten.path("/old(/|$)(.*)", PathType::ImplementationSpecific, "echo", 80);
    create(case, rewritten.annotation("use-regex", "true").annotation("rewrite-target", "/new/$2")).await?;
    checks.push(Check::of("rewritten", Expected::served(case, "echo").with_path("/new/x")).path("/old/x"));
    let target = "https://elsewhere.example.com/";
    create(case, rule("redirected").annotation("permanent-redirect", target)).await?;
    checks.push(Check::of("redirected", Expected::Redirected(301, target.into())));
    create(case, rule("canary")).await?;
    let canary = mk_ingress("canary-second").class("nginx").host(&host("canary")).path("/", PathType::Prefix, "second", 80);
    create(case, canary.annotation("canary", "true").annotation("canary-by-header", "X-Canary")).await?;
    checks.push(Check::of("canary", Expected::served(case, "echo")));
    checks.push(Check::of("canary", Expected::served(case, "second")).header("X-Canary", "always"));
    Ok(checks)
}

async fn tls_hosts(case: &Case) -> anyhow::Result<Vec<Check>> {
    let mut checks = Vec::new();
    for name in ["tls-0", "tls-1", "tls-2"] {
        let certificate = case.certificate(name, &[&host(name)]).await?;
        create(case, rule(name).tls(&host(name), name)).await?;
        checks.push(Check::of(name, Expected::Redirected(308, format!("https://{}", host(name)))));
        checks.push(Check::of(name, Expected::served(case, "echo")).tls().certificate(&certificate));
    }
    for name in ["mtls-0", "mtls-1"] {
        let authority = mk_authority(&host(name))?;
        let certificate = authority.sign(&[&host(name)])?;
        let mut secret = mk_tls_secret(name, &certificate);
        let ca = ByteString(authority.certificate_pem.clone().into_bytes());
        secret.data.get_or_insert_default().insert("ca.crt".into(), ca);
        case.create::<Secret>(&secret).await?;
        create(case, rule(name).tls(&host(name), name).annotation("auth-tls-secret", &format!("{}/{name}", case.ns()))).await?;
        let client = authority.sign(&["client"])?;
        let stranger = mk_authority("stranger")?.sign(&["client"])?;
        checks.push(Check::of(name, Expected::Refused(400)).tls().certificate(&certificate));
        checks.push(Check::of(name, Expected::Refused(400)).tls().certificate(&certificate).identity(&stranger));
        checks.push(Check::of(name, Expected::served(case, "echo")).tls().certificate(&certificate).identity(&client));
    }
    Ok(checks)
}

async fn guarded_hosts(case: &Case, gate: &Gate) -> anyhow::Result<Vec<Check>> {
    let users = BTreeMap::from([("auth".to_owned(), ByteString(format!("foo:{HASH}\n").into_bytes()))]);
    let metadata = ObjectMeta { name: Some("users".into()), ..ObjectMeta::default() };
    case.create(&Secret { metadata, data: Some(users), ..Secret::default() }).await?;
    let served = || Expected::served(case, "echo");
    let mut checks = Vec::new();
    for name in ["basic-0", "basic-1"] {
        create(case, rule(name).annotation("auth-type", "basic").annotation("auth-secret", "users")).await?;
        checks.push(Check::of(name, Expected::Refused(401)));
        checks.push(Check::of(name, Expected::Refused(401)).header("Authorization", &basic("foo", "wrong")));
        checks.push(Check::of(name, served()).header("Authorization", &basic("foo", "bar")));
    }
    for name in ["external-0", "external-1"] {
        create(case, rule(name).annotation("auth-url", &gate.url("/basic-auth/user/password"))).await?;
        checks.push(Check::of(name, Expected::Refused(401)));
        checks.push(Check::of(name, served()).header("Authorization", &basic("user", "password")));
    }
    create(case, rule("limited").annotation("limit-rpm", "1").annotation("limit-burst-multiplier", "1")).await?;
    checks.push(Check::of("limited", Expected::Limited(503)));
    create(case, rule("counted").annotation("limit-connections", "8")).await?;
    checks.push(Check::of("counted", served()));
    for name in ["listed-0", "listed-1"] {
        create(case, rule(name).annotation("allowlist-source-range", &format!("{LISTED}/32"))).await?;
        checks.push(Check::of(name, Expected::Refused(403)));
        checks.push(Check::of(name, served()).from(LISTED.parse()?));
    }
    Ok(checks)
}
