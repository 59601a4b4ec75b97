//! A namespace that fills NGINX's memory, and another one that begins to need some.

use std::net::SocketAddr;

use serde_json::{Value, json};
use testkit::echo::{self, Identity};
use testkit::http::{Request, basic};
use testkit::kube::mk_certificate;

use crate::bed::Bed;

const PREFIX: &str = "nginx.ingress.kubernetes.io";

fn list(objects: &[Value]) -> String {
    json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string()
}

/// An Ingress of the host `NAME.NAMESPACE.example.com`, with a Service of its name.
fn ingress(namespace: &str, name: &str, annotations: &[(&str, &str)], secured: bool) -> Value {
    let host = format!("{name}.{namespace}.example.com");
    let annotations: serde_json::Map<String, Value> =
        annotations.iter().map(|(name, value)| (format!("{PREFIX}/{name}"), json!(value))).collect();
    let paths = json!([{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": name, "port": {"number": 80}}}}]);
    let mut spec = json!({"ingressClassName": "nginx", "rules": [{"host": host, "http": {"paths": paths}}]});
    if secured {
        spec["tls"] = json!([{"hosts": [host], "secretName": name}]);
    }
    let metadata = json!({"namespace": namespace, "name": name, "annotations": annotations});
    json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata, "spec": spec})
}

fn secret(namespace: &str, name: &str, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": namespace, "name": name}, "stringData": data})
}

/// A Service and its endpoints.
fn service(namespace: &str, name: &str, endpoints: &[SocketAddr]) -> [Value; 2] {
    let labels = json!({"kubernetes.io/service-name": name});
    let addresses: Vec<Value> = endpoints.iter().map(|endpoint| json!({"addresses": [endpoint.ip().to_string()]})).collect();
    let port = endpoints.first().map_or(80, SocketAddr::port);
    [
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": namespace, "name": name}, "spec": {"ports": [{"port": 80}]}}),
        json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4", "endpoints": addresses,
            "metadata": {"namespace": namespace, "name": name, "labels": labels}, "ports": [{"port": port}]}),
    ]
}

impl Bed {
    fn dictionaries(&self, sizes: &str) {
        let data = json!({"worker-processes": "1", "lua-shared-dicts": sizes});
        let metadata = json!({"namespace": "default", "name": "settings"});
        self.write("settings.yaml", &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}).to_string());
    }

    /// The status for a host, and which server answered.
    async fn answer(&self, request: Request) -> anyhow::Result<(u16, String)> {
        let response = request.header("Connection", "close").send().await?;
        let server = response.text().lines().find_map(|line| line.strip_prefix("pod=").map(str::to_owned));
        Ok((response.status, server.unwrap_or_default()))
    }

    async fn answers(&self, host: &str, user: Option<&str>, expected: (u16, &str)) {
        self.until(&format!("{host} answers {expected:?}"), || async {
            let mut request = Request::get(self.address(0), "/").host(host);
            if let Some(user) = user {
                request = request.header("Authorization", basic(user, "secret"));
            }
            let (status, server) = self.answer(request).await?;
            anyhow::ensure!((status, &*server) == expected, "{host} answers {status} {server}");
            Ok(())
        })
        .await;
    }
}

#[tokio::test]
async fn huge_secrets_of_one_namespace_take_no_room_from_the_certificates_and_users_of_another() {
    let mut bed = Bed::new(&[]);
    bed.dictionaries("certificate_data: 4");
    let first = echo::start(([127, 0, 0, 1], 0).into(), Identity::named("first")).await.unwrap();
    let users = |name: &str| (0..5_000).map(|at| format!("{name}-{at:05}:{{PLAIN}}{at:040}\n")).collect::<String>();
    let mut evil = Vec::new();
    for at in 0..24 {
        let name = format!("u{at:02}");
        evil.push(secret("evil", &name, &json!({"auth": users(&name)})));
        evil.push(ingress("evil", &name, &[("auth-type", "basic"), ("auth-secret", &name)], false));
        evil.extend(service("evil", &name, &[first.address()]));
    }
    bed.write("evil.json", &list(&evil));
    bed.start();
    bed.says("Secrets and Services are beyond the share of their namespace").await;
    bed.answers("u00.evil.example.com", Some("unknown"), (401, "")).await;
    bed.answers("u23.evil.example.com", Some("u23-00001"), (503, "")).await;

    let pair = mk_certificate(&["shop.good.example.com"]).unwrap();
    let mut good = vec![
        secret("good", "shop", &json!({"tls.crt": pair.certificate_pem, "tls.key": pair.key_pem, "auth": "ann:{PLAIN}secret"})),
        ingress("good", "shop", &[("auth-type", "basic"), ("auth-secret", "shop"), ("ssl-redirect", "false")], true),
    ];
    good.extend(service("good", "shop", &[first.address()]));
    bed.write("good.json", &list(&good));
    bed.answers("shop.good.example.com", Some("ann"), (200, "first")).await;
    bed.answers("shop.good.example.com", Some("bob"), (401, "")).await;
    bed.until("its own certificate", || async {
        let response = Request::get(bed.address(1), "/").tls("shop.good.example.com").host("shop.good.example.com").send().await?;
        anyhow::ensure!(response.certificates.first() == Some(&pair.der), "another certificate");
        Ok(())
    })
    .await;
    bed.says("0 records find no room").await;
    assert!(bed.log().contains("its share is"), "{}", bed.log());
}

#[tokio::test]
async fn routes_and_endpoints_of_one_namespace_take_no_room_from_another() {
    let mut bed = Bed::new(&[]);
    bed.dictionaries("configuration_data: 1");
    let first = echo::start(([127, 0, 0, 1], 0).into(), Identity::named("first")).await.unwrap();
    let second = echo::start(([127, 0, 0, 1], 0).into(), Identity::named("second")).await.unwrap();
    let target = format!("https://one.example.com/{}", "x".repeat(900));
    let mut evil: Vec<Value> =
        (0..1_000).map(|at| ingress("evil", &format!("r{at:04}"), &[("permanent-redirect", &target)], false)).collect();
    let many: Vec<SocketAddr> = (0..5_000u32).map(|at| SocketAddr::from((std::net::Ipv4Addr::from(0x0a00_0000 + at), 80))).collect();
    for at in 0..8 {
        let name = format!("s{at}");
        evil.push(ingress("evil", &name, &[], false));
        evil.extend(service("evil", &name, &many));
    }
    bed.write("evil.json", &list(&evil));
    bed.start();
    bed.says("Secrets and Services are beyond the share of their namespace").await;

    let good = |endpoint: &echo::Handle| {
        let mut objects = vec![ingress("good", "shop", &[], false)];
        objects.extend(service("good", "shop", &[endpoint.address()]));
        list(&objects)
    };
    bed.write("good.json", &good(&first));
    bed.answers("shop.good.example.com", None, (200, "first")).await;
    bed.write("good.json", &good(&second));
    bed.answers("shop.good.example.com", None, (200, "second")).await;
    bed.says("0 records find no room").await;
    let log = bed.log();
    assert!(log.contains("of NGINX's memory for routes") && log.contains("of NGINX's memory for endpoints"), "{log}");
}
