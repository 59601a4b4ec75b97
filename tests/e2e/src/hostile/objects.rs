//! Objects as a hostile tenant writes them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::{Ipv4Addr, SocketAddr};

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::Ingress;
use kube::api::ObjectMeta;
use serde_json::json;
use testkit::kube::{Certificate, IngressBuilder, PathType, mk_ingress, mk_service, mk_slice};

use super::step::{Content, Hosts, IngressPlan, Paths, Shape};
use super::{values, victims};

/// Names that the examples of annotations have.
pub(super) const SECRETS: [&str; 4] = ["users", "ca", "backend-tls", "pair"];
/// The same.
pub(super) const CONFIG_MAPS: [&str; 3] = ["response-headers", "auth-headers", "php-parameters"];
/// The targets of Services of the type ExternalName.
pub(super) const EXTERNAL: [&str; 5] = ["localhost", "169.254.169.254", "kubernetes.default.svc", "no-such-name.invalid", "0.0.0.0"];
/// Its own domain.
pub(super) const DOMAIN: &str = "evil.example.org";

/// bcrypt of `bar`, cost 4.
const HASH: &str = "$2y$04$abcdefghijklmnopqrstuuEnktNu4dNa/sMz6nY.lAbxawdTTajT2";
/// A hash that takes a worker very long.
const SLOW_HASH: &str = "$6$rounds=999999999$abcdefgh$Zw8zTkJp";
/// An object has 1 MiB of data.
const LARGE_BYTES: usize = 1_000_000;
/// As an annotation of this length has room for.
const LISTED: usize = 12_000;

/// The host that an Ingress of this number has, unless it asks for others.
pub(super) fn host(number: usize) -> String {
    format!("e{number}.{DOMAIN}")
}

fn ingress_name(number: usize) -> String {
    format!("i{number}")
}

/// The Ingress of a plan; its annotations begin at a number of [`values`].
pub(super) fn ingress(plan: &IngressPlan, first: usize, namespace: &str) -> Ingress {
    let name = ingress_name(plan.number);
    let mut ingress = mk_ingress(&name).class("nginx");
    for host in hosts(plan) {
        ingress = paths(ingress.host(&host), plan);
        if plan.tls && !host.is_empty() {
            ingress = ingress.tls(&host, "pair");
        }
    }
    if plan.paths == Paths::Listed {
        let list: Vec<String> = (0..LISTED).map(|at| format!("10.{}.{}.0/24", at / 256, at % 256)).collect();
        ingress = ingress.annotation("allowlist-source-range", &list.join(","));
    }
    if matches!(plan.paths, Paths::Expressions(_)) {
        ingress = ingress.annotation("use-regex", "true");
    }
    // Its own value comes after what stands beside others.
    let values = (first..first + plan.annotations).map(|number| values::value(number, namespace));
    let values = values.flat_map(|mut values| {
        values.reverse();
        values
    });
    values.fold(ingress, |ingress, (name, value)| ingress.annotation(name, &value)).build()
}

/// An Ingress that names all of [`SECRETS`] and [`CONFIG_MAPS`].
pub(super) fn naming(namespace: &str) -> Ingress {
    let of = |name: &str| format!("{namespace}/{name}");
    let ingress = mk_ingress("naming").class("nginx").host(&format!("naming.{DOMAIN}")).path("/", PathType::Prefix, "s0", 80);
    let ingress = ingress.tls(&format!("naming.{DOMAIN}"), "pair").annotation("auth-type", "basic").annotation("auth-secret", "users");
    let ingress = ingress.annotation("auth-tls-secret", &of("ca")).annotation("proxy-ssl-secret", &of("backend-tls"));
    let ingress = ingress.annotation("custom-headers", &of("response-headers")).annotation("auth-url", "http://auth.invalid/");
    ingress.annotation("auth-proxy-set-headers", &of("auth-headers")).annotation("fastcgi-params-configmap", "php-parameters").build()
}

/// One of very many Ingresses.
pub(super) fn small(number: usize) -> Ingress {
    let name = format!("crowd{number}");
    // Some of them have a profile of their own.
    let size = format!("{}k", 8 + number % 8);
    let ingress = mk_ingress(&name).class("nginx").annotation("proxy-buffer-size", &size).host(&format!("{name}.{DOMAIN}"));
    ingress.path("/", PathType::Prefix, "s0", 80).build()
}

fn hosts(plan: &IngressPlan) -> Vec<String> {
    match plan.hosts {
        Hosts::Own => vec![host(plan.number)],
        Hosts::Victim(number) => vec![victims::nth(number)],
        Hosts::Above => vec![format!("*.{}", victims::DOMAIN)],
        Hosts::Nothing => vec![String::new()],
        Hosts::Many(count) => (0..count).map(|at| format!("m{at}.{}", host(plan.number))).collect(),
        Hosts::Odd => vec![format!("xn--0.{}.{DOMAIN}", "a".repeat(60)), "*.org".into()],
    }
}

fn paths(ingress: IngressBuilder, plan: &IngressPlan) -> IngressBuilder {
    let service = format!("s{}", plan.service);
    let whole = |ingress: IngressBuilder| ingress.path("/", PathType::Prefix, &service, 80);
    let each = |ingress: IngressBuilder, count: usize, kind: PathType, path: fn(usize) -> String| {
        (0..count).fold(ingress, |ingress, at| ingress.path(&path(at), kind, &service, 80))
    };
    match plan.paths {
        Paths::Root => whole(ingress),
        Paths::Expressions(count) => {
            whole(each(ingress, count, PathType::ImplementationSpecific, |at| format!("/x{at}/(.*a+)+(b|c{{1,9}})$")))
        }
        Paths::Many(count) => whole(each(ingress, count, PathType::Exact, |at| format!("/{at}"))),
        Paths::Listed => whole(each(ingress, 399, PathType::Prefix, |at| format!("/p{at}"))),
        Paths::Odd => {
            let odd = ["/\";}evil{", "/a\r\nb", "/%2e%2e/%00", "/[", "/(?<x>", "/\u{2028}", "/{{ evil }}"];
            odd.iter().fold(whole(ingress), |ingress, path| ingress.path(path, PathType::ImplementationSpecific, &service, 80))
        }
    }
}

/// A Service, or nothing.
pub(super) fn service(number: usize, shape: Shape) -> Option<Service> {
    let name = format!("s{number}");
    let of = |spec: serde_json::Value| {
        let object = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec});
        serde_json::from_value(object).expect("it is written as the API has it")
    };
    Some(match shape {
        Shape::Plain => mk_service(&name, 80, 8080, None),
        Shape::Headless => of(json!({"clusterIP": "None", "ports": [{"name": "http", "port": 80, "targetPort": 8080}]})),
        Shape::ManyPorts => {
            of(json!({"ports": (80..380).map(|port| json!({"name": format!("p{port}"), "port": port})).collect::<Vec<_>>()}))
        }
        Shape::External(which) => of(json!({"type": "ExternalName", "externalName": EXTERNAL[which]})),
        Shape::Gone => return None,
    })
}

/// A slice of a Service with as many endpoints as one may have, none of which answers.
pub(super) fn thousand(number: usize, slice: usize) -> EndpointSlice {
    let addresses: Vec<SocketAddr> = (0..1000_u16)
        .map(|at| {
            let [high, low] = at.to_be_bytes();
            (Ipv4Addr::new(10, 200 + u8::try_from(slice).unwrap_or(0), high, low), 8080).into()
        })
        .collect();
    mk_slice(&slice_name(number, slice), &format!("s{number}"), &addresses)
}

/// The name of a slice of a Service.
pub(super) fn slice_name(number: usize, slice: usize) -> String {
    format!("s{number}-{slice}")
}

/// A Secret that annotations may name, or nothing. Its keys are all that any of them reads.
pub(super) fn secret(name: &str, content: Content, pair: &Certificate) -> Option<Secret> {
    let keys = ["auth", "tls.crt", "tls.key", "ca.crt"];
    let each = |value: &[u8]| keys.map(|key| (key.to_owned(), value.to_vec())).into();
    let data: BTreeMap<String, Vec<u8>> = match content {
        Content::Good => {
            let good = [format!("foo:{HASH}\nslow:{SLOW_HASH}\n"), pair.certificate_pem.clone(), pair.key_pem.clone()];
            keys.iter()
                .zip(good.iter().chain([&pair.certificate_pem]))
                .map(|(key, value)| ((*key).to_owned(), value.clone().into()))
                .collect()
        }
        Content::Empty => BTreeMap::new(),
        Content::Large => {
            let mut all =
                secret(name, Content::Good, pair)?.data?.into_iter().map(|(key, value)| (key, value.0)).collect::<BTreeMap<_, _>>();
            let key = if name == "users" { "auth" } else { "ca.crt" };
            all.entry(key.into()).or_default().resize(LARGE_BYTES, b'\n');
            all
        }
        Content::Many => BTreeMap::from([("auth".to_owned(), users("u"))]),
        Content::Garbage => each(b"-----BEGIN CERTIFICATE-----\n\0\xff}evil{\n"),
        Content::Gone => return None,
    };
    let data = data.into_iter().map(|(key, value)| (key, ByteString(value))).collect();
    Some(Secret { metadata: ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() }, data: Some(data), ..Secret::default() })
}

/// As many users as an object has room for.
fn users(prefix: &str) -> Vec<u8> {
    let mut users = String::new();
    for at in 0..LARGE_BYTES / (HASH.len() + prefix.len() + 9) {
        writeln!(users, "{prefix}{at:06}:{HASH}").expect("writing to a String can't fail");
    }
    users.into_bytes()
}

/// One of many Secrets that have nothing in common.
pub(super) fn hoarded(number: usize) -> Secret {
    let data = BTreeMap::from([("auth".to_owned(), ByteString(users(&format!("h{number}-"))))]);
    let metadata = ObjectMeta { name: Some(format!("hoard{number}")), ..ObjectMeta::default() };
    Secret { metadata, data: Some(data), ..Secret::default() }
}

/// The Ingress that names it.
pub(super) fn hoarding(number: usize) -> Ingress {
    let name = format!("hoard{number}");
    let ingress = mk_ingress(&name).class("nginx").annotation("auth-type", "basic").annotation("auth-secret", &name);
    ingress.host(&format!("{name}.{DOMAIN}")).path("/", PathType::Prefix, "s0", 80).build()
}

/// A ConfigMap that annotations may name, or nothing.
pub(super) fn config_map(name: &str, content: Content) -> Option<ConfigMap> {
    let data: BTreeMap<String, String> = match content {
        Content::Good => [("X-One", "one"), ("X-Two", "$remote_addr")].map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        Content::Empty => BTreeMap::new(),
        Content::Large => BTreeMap::from([("X-Large".to_owned(), "x".repeat(LARGE_BYTES))]),
        Content::Many => (0..20_000).map(|at| (format!("X-Header-{at}"), format!("value {at}"))).collect(),
        Content::Garbage => [("X-\u{e4}", "\r\nevil: on"), ("..x", "\";}evil{"), ("Host", "\0")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into(),
        Content::Gone => return None,
    };
    Some(ConfigMap { metadata: ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() }, data: Some(data), ..ConfigMap::default() })
}
