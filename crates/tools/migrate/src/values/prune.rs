//! The part of a file that makes a difference. Helm merges maps and replaces everything else; `null` takes a default away.

use serde_json::{Map, Value};

use super::defaults::rows;
use super::{Chart, Idle, Path};

/// Images of ingress-nginx: the chart takes them as not set.
const FOREIGN: &[&str] = &["ingress-nginx/controller", "ingress-nginx/controller-chroot"];
/// Values that belong to such an image.
const OF_IMAGE: &[&str] = &["image", "tag", "digest", "digestChroot"];
/// A registry without an image of this project.
const REGISTRY: &str = "registry.k8s.io";

/// The value at a path.
pub fn at<'a>(value: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, key| value.as_object()?.get(key))
}

/// Every value that is no map, and empty maps, with their paths.
pub fn leaves(value: &Value) -> Vec<(Path, &Value)> {
    fn walk<'a>(value: &'a Value, path: &mut Path, all: &mut Vec<(Path, &'a Value)>) {
        match value {
            Value::Object(map) if !map.is_empty() => {
                for (key, value) in map {
                    path.push(key.clone());
                    walk(value, path, all);
                    path.pop();
                }
            }
            value => all.push((path.clone(), value)),
        }
    }
    let mut all = Vec::new();
    if !value.is_null() {
        walk(value, &mut Path::new(), &mut all);
    }
    all
}

/// `true` if merging it where there is nothing changes nothing.
pub(super) fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(Map::is_empty)
}

/// The part that differs from the defaults; `None`: nothing.
pub(super) fn prune(value: &Value, default: &Value) -> Option<Value> {
    match (value, default) {
        (value, default) if value == default => None,
        (value, Value::Null) if is_nothing(value) => None,
        (Value::Object(map), default) => {
            let left = map.iter().filter_map(|(key, value)| Some((key.clone(), prune(value, default.get(key).unwrap_or(&Value::Null))?)));
            let left: Map<String, Value> = left.collect();
            // An empty map takes nothing away from a map, but replaces everything else.
            let replaces = map.is_empty() && !default.is_object();
            (replaces || !left.is_empty()).then_some(Value::Object(left))
        }
        (value, _) => Some(value.clone()),
    }
}

/// `true` if a value has no meaning here.
pub(super) fn is_idle(chart: &Chart, path: &[String]) -> bool {
    rows(&chart.idle, "idle").iter().any(|(idle, _)| path.starts_with(idle))
}

/// `true` if a value says which image of ingress-nginx runs.
pub(super) fn is_image(path: &[String]) -> bool {
    matches!(path, [controller, image, key] if controller == "controller" && image == "image" && OF_IMAGE.contains(&key.as_str()))
}

/// Values without a meaning that differ from their defaults, and the file without all of those.
pub(super) fn without_idle(chart: &Chart, values: &Value) -> (Vec<Idle>, Value) {
    let (mut found, mut left) = (Vec::new(), values.clone());
    for (path, row) in rows(&chart.idle, "idle") {
        let Some(value) = at(values, &path) else { continue };
        remove(&mut left, &path);
        let reason = row["reason"].as_str().unwrap_or_default();
        for (below, leaf) in leaves(value) {
            let default = at(&row["default"], &below).unwrap_or(&Value::Null);
            if leaf != default && !(is_empty(leaf) && is_empty(default)) {
                found.push(Idle { path: [path.clone(), below].concat(), value: leaf.clone(), reason: reason.to_owned() });
            }
        }
    }
    found.extend(foreign_image(values, &mut left));
    found.sort_by(|a, b| a.path.cmp(&b.path));
    (found, left)
}

/// `true` for what Helm's templates call empty.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
    }
}

/// The image of ingress-nginx by its parts, which are taken out.
fn foreign_image(values: &Value, left: &mut Value) -> Vec<Idle> {
    let path = |key: &str| ["controller", "image", key].map(str::to_owned).to_vec();
    let text = |key: &str| at(values, &path(key)).and_then(Value::as_str).filter(|text| !text.is_empty());
    if text("repository").is_some() || !text("image").is_some_and(|image| FOREIGN.contains(&image)) {
        return Vec::new();
    }
    if text("registry") == Some(REGISTRY)
        && let Some(registry) = left.pointer_mut("/controller/image/registry")
    {
        *registry = "".into();
    }
    let parts = OF_IMAGE.iter().filter_map(|key| Some((path(key), at(values, &path(key))?)));
    let found: Vec<Idle> = parts
        .filter(|(path, value)| path[2] != "digestChroot" && !is_empty(value))
        .map(|(path, value)| Idle {
            path,
            value: value.clone(),
            reason: "it names the image of ingress-nginx: the chart's own is used".into(),
        })
        .collect();
    OF_IMAGE.iter().for_each(|key| remove(left, &path(key)));
    found
}

fn remove(value: &mut Value, path: &[String]) {
    let Some((key, rest)) = path.split_first() else { return };
    let Some(map) = value.as_object_mut() else { return };
    match rest.is_empty() {
        true => {
            map.remove(key);
        }
        false => {
            if let Some(inner) = map.get_mut(key) {
                remove(inner, rest);
            }
        }
    }
}
