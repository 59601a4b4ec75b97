//! Backends in the JSON of ingress-nginx, from the records of the live protocol.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// Backends in the order of their names, from records with their keys.
pub(super) fn shape(records: &[(String, Value)]) -> Vec<Value> {
    // There, the rules of a canary are its own; here, those of the backend whose requests it takes.
    let choices: BTreeMap<&str, &Value> = records
        .iter()
        .filter_map(|(_, record)| {
            let alternative = record.get("alternative")?;
            Some((alternative["backend"].as_str()?, alternative))
        })
        .collect();
    let names: BTreeMap<&str, &str> = records.iter().filter_map(|(key, record)| Some((key.as_str(), record["name"].as_str()?))).collect();
    let mut backends: Vec<Value> =
        records.iter().map(|(key, record)| backend(key, record, choices.get(key.as_str()).copied(), &names)).collect();
    backends.sort_by(|a, b| a["name"].as_str().cmp(&b["name"].as_str()));
    backends
}

fn backend(key: &str, record: &Value, choice: Option<&Value>, names: &BTreeMap<&str, &str>) -> Value {
    let mut backend = Map::new();
    let mut put = |name: &str, value: Value| backend.insert(name.to_owned(), value);
    put("name", record["name"].clone());
    if let Some((_, port)) = key.rsplit_once(':') {
        put("port", port.parse().map_or_else(|_| port.into(), |number: u16| number.into()));
    }
    put("sslPassthrough", false.into());
    put("endpoints", record["endpoints"].as_array().into_iter().flatten().map(endpoint).collect());
    put("sessionAffinityConfig", record.get("affinity").map_or_else(|| json!({"name": "", "mode": ""}), affinity));
    put("upstreamHashByConfig", record.get("hash").map_or_else(|| json!({}), hash));
    if let Some(algorithm) = record.get("load_balance") {
        put("load-balance", algorithm.clone());
    }
    put("noServer", choice.is_some().into());
    put("trafficShapingPolicy", shaping(choice));
    if let Some(other) = record.get("alternative").and_then(|alternative| alternative["backend"].as_str()) {
        put("alternativeBackends", json!([names.get(other).unwrap_or(&other)]));
    }
    backend.into()
}

/// `[address, port]` or `[address, port, weight]`; ports are text there.
fn endpoint(endpoint: &Value) -> Value {
    let mut shaped = json!({"address": endpoint[0], "port": endpoint[1].to_string()});
    if let Some(weight) = endpoint.get(2) {
        shaped["weight"] = weight.clone();
    }
    shaped
}

fn affinity(affinity: &Value) -> Value {
    let mode = if affinity["persistent"] == true { "persistent" } else { "balanced" };
    let mut cookie = Map::new();
    for (from, to) in [
        ("session_cookie_name", "name"),
        ("session_cookie_expires", "expires"),
        ("session_cookie_max_age", "maxage"),
        ("session_cookie_path", "path"),
        ("session_cookie_domain", "domain"),
        ("session_cookie_secure", "secure"),
        ("session_cookie_samesite", "samesite"),
        ("session_cookie_conditional_samesite_none", "conditional_samesite_none"),
        ("session_cookie_change_on_failure", "change_on_failure"),
    ] {
        if let Some(value) = affinity.get(from) {
            cookie.insert(to.to_owned(), value.clone());
        }
    }
    // Times are text there.
    for name in ["expires", "maxage"] {
        if let Some(value) = cookie.get_mut(name).filter(|value| value.is_number()) {
            *value = value.to_string().into();
        }
    }
    json!({"name": "cookie", "mode": mode, "cookieSessionAffinity": cookie})
}

fn hash(hash: &Value) -> Value {
    let mut shaped = json!({"upstream-hash-by": hash["upstream_hash_by"]});
    if let Some(size) = hash.get("upstream_hash_by_subset_size") {
        shaped["upstream-hash-by-subset"] = true.into();
        shaped["upstream-hash-by-subset-size"] = size.clone();
    }
    shaped
}

fn shaping(choice: Option<&Value>) -> Value {
    let text = |name: &str| choice.and_then(|choice| choice.get(name)).cloned().unwrap_or_else(|| "".into());
    let number =
        |name: &str, absent: u32| choice.map_or_else(|| 0.into(), |choice| choice.get(name).cloned().unwrap_or_else(|| absent.into()));
    json!({
        "weight": number("canary_weight", 0),
        "weightTotal": number("canary_weight_total", 100),
        "header": text("canary_by_header"),
        "headerValue": text("canary_by_header_value"),
        "headerPattern": text("canary_by_header_pattern"),
        "cookie": text("canary_by_cookie"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(records: &[(&str, Value)]) -> Vec<(String, Value)> {
        records.iter().map(|(key, record)| ((*key).to_owned(), record.clone())).collect()
    }

    #[test]
    fn endpoints_have_text_for_ports_and_names_are_in_order() {
        let shaped = shape(&records(&[
            (
                "shop/web:http",
                json!({"name": "shop-web-http", "load_balance": "ewma", "endpoints": [["10.0.0.1", 8080], ["fd00::1", 80, 3]]}),
            ),
            ("-", json!({"name": "a-default", "endpoints": []})),
        ]));
        assert_eq!((&shaped[0]["name"], &shaped[0]["endpoints"], shaped[0].get("port")), (&json!("a-default"), &json!([]), None));
        assert_eq!((&shaped[1]["port"], &shaped[1]["load-balance"]), (&json!("http"), &json!("ewma")));
        let endpoints = json!([{"address": "10.0.0.1", "port": "8080"}, {"address": "fd00::1", "port": "80", "weight": 3}]);
        assert_eq!(shaped[1]["endpoints"], endpoints);
    }

    #[test]
    fn the_rules_of_a_canary_are_with_the_canary() {
        let shaped = shape(&records(&[
            (
                "s/a:80",
                json!({"name": "s-a-80", "endpoints": [], "alternative": {"backend": "s/b:80", "canary_weight": 20, "canary_by_header": "X-C"}}),
            ),
            ("s/b:80", json!({"name": "s-b-80", "endpoints": []})),
        ]));
        assert_eq!((&shaped[0]["alternativeBackends"], &shaped[0]["noServer"]), (&json!(["s-b-80"]), &json!(false)));
        assert_eq!(shaped[0]["trafficShapingPolicy"]["weight"], 0);
        let policy = json!({"weight": 20, "weightTotal": 100, "header": "X-C", "headerValue": "", "headerPattern": "", "cookie": ""});
        assert_eq!((&shaped[1]["trafficShapingPolicy"], &shaped[1]["noServer"]), (&policy, &json!(true)));
    }

    #[test]
    fn affinity_and_hashes_have_their_fields() {
        let shaped = shape(&records(&[(
            "s/a:80",
            json!({"name": "s-a-80", "endpoints": [],
                "affinity": {"session_cookie_name": "route", "persistent": true, "session_cookie_max_age": 60},
                "hash": {"upstream_hash_by": "$uri", "upstream_hash_by_subset_size": 3}}),
        )]));
        let affinity = json!({"name": "cookie", "mode": "persistent", "cookieSessionAffinity": {"name": "route", "maxage": "60"}});
        assert_eq!(shaped[0]["sessionAffinityConfig"], affinity);
        let hash = json!({"upstream-hash-by": "$uri", "upstream-hash-by-subset": true, "upstream-hash-by-subset-size": 3});
        assert_eq!(shaped[0]["upstreamHashByConfig"], hash);
    }
}
