//! What the table of annotations says about reloads is so.

use model::Built;
use settings::Applies;

use crate::world::World;

/// Two Ingresses of the host `h`: one without annotations, one below the path `/b` with these.
fn build(annotations: &[(&str, &str)]) -> Built {
    World::new(&[]).ingress("a", "h", &["/"], &[]).ingress("b", "h", &["/b"], annotations).build()
}

#[test]
fn what_is_called_live_asks_for_no_other_text() {
    for entry in settings::descriptions().iter().filter(|entry| entry.live) {
        let (_, companions) = entry.example.split_last().unwrap();
        let (without, with) = (build(companions).model, build(&entry.example).model);
        assert!(without.fixed == with.fixed, "{}: {:?} needs a reload", entry.name, entry.example);
    }
}

#[test]
fn what_has_a_profile_that_is_always_there_asks_for_no_other_text() {
    let none = build(&[]).model;
    let ready: Vec<_> = settings::descriptions().into_iter().filter(|entry| entry.applies == Applies::Ready.to_string()).collect();
    assert!(!ready.is_empty());
    for entry in ready {
        let with = build(&entry.example).model;
        assert!(none.fixed == with.fixed, "{}: {:?} needs a reload", entry.name, entry.example);
        assert_ne!(none.live, with.live, "{}: {:?} changes nothing", entry.name, entry.example);
    }
}

#[test]
fn every_protocol_and_switch_has_its_profile() {
    let none = build(&[]).model.fixed;
    let protocols = ["HTTPS", "AUTO_HTTP", "GRPC", "GRPCS", "FCGI"].map(|value| [("backend-protocol", value)]);
    let switches = [[("proxy-buffering", "on")], [("proxy-request-buffering", "off")], [("proxy-http-version", "1.0")]];
    for annotation in protocols.into_iter().chain(switches) {
        assert!(build(&annotation).model.fixed == none, "{annotation:?} needs a reload");
    }
}

#[test]
fn beside_a_snippet_what_snippets_ask_for_is_text() {
    let settings = [("allow-snippet-annotations", "true"), ("annotations-risk-level", "Critical")];
    let snippet = ("configuration-snippet", "set $a 1;");
    let text = |annotations: &[(&str, &str)]| {
        let built = World::new(&settings).ingress("a", "h", &["/"], annotations).build();
        let route = built.model.live.hosts["h"].routes[0].clone();
        let profile = built.model.fixed.profiles[&route.profile].clone();
        (profile.transport.fastcgi_index.is_some(), profile.rewrite_log)
    };
    let (index, log) = (("fastcgi-index", "index.php"), ("enable-rewrite-log", "true"));
    let fcgi = ("backend-protocol", "FCGI");
    assert_eq!(text(&[fcgi, index, log]), (false, false));
    assert_eq!(text(&[fcgi, index, log, snippet]), (true, true));
}
