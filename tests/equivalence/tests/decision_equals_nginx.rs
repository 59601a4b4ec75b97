//! `decision::decide`, which answers `narthex explain request`, says what NGINX does with text of its own (`equivalence::oracle`), without Lua.
//!
//! Random Ingresses become a model, which one NGINX runs as text. It gets random requests; the status, where clients are sent, the rule, the backend, and
//! the request line and host that the backend gets must be those that the decision says.
//!
//! Left out, and why:
//! - Requests whose line is not `METHOD /target HTTP/x`: a URL can't say them.
//! - Errors of backends, which a request does not tell; and the pages of other backends for errors, of which only the backend is compared.
//! - Where NGINX gives up on a regular expression: it has limits of its own.
//! - Variables that only NGINX knows stand in a decision by their names.
//!
//! The seed is fixed, so that a failure comes again. `NARTHEX_EQUIVALENCE_SEED` sets another; what fails says which.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::IpAddr;

use decision::{Condition, Decision, Outcome, Request};
use equivalence::Dice;
use equivalence::client::{Answer, Client};
use equivalence::oracle::RULE_HEADER;
use equivalence::requests::{self, request};
use equivalence::rules::{self, Backends, RuleSet, rule_set, snapshot};
use equivalence::sides::Sides;
use model::{Builder, Built, Snapshot};
use testkit::ports::Ports;

/// Configurations, one after the other: each has a catch-all and global settings of its own.
const ROUNDS: usize = 4;
/// Rule sets in each.
const SETS: usize = 40;
/// Requests to each set.
const REQUESTS: usize = 80;
/// How many disagreements are printed in full.
const SHOWN: usize = 8;
/// What `requests` and `rules` agree on as the right password.
const RIGHT: &str = "Basic dXNlcjpzZWNyZXQ=";

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_says_what_nginx_does() {
    compare(std::env::var("NARTHEX_EQUIVALENCE_SEED").map_or(1, |text| text.parse().expect("the seed is a number"))).await;
}

#[expect(clippy::print_stdout, reason = "figures of the run")]
async fn compare(seed: u64) {
    let mut dice = Dice::new(seed);
    let ports = Ports::take(2).unwrap();
    let backends = Backends::start().unwrap();
    let mut sides = Sides::new(ports[0]).await.unwrap();
    let mut builder = Builder::new(rules::settings(ports[0], ports[1]).unwrap());
    let mut seen = Seen::default();
    for round in 0..ROUNDS {
        let sets: Vec<RuleSet> = (0..SETS).map(|number| rule_set(number, &mut dice.fork())).collect();
        let objects = snapshot(&sets, &backends, &mut dice.fork(), round % 2 == 0);
        let built = builder.build(&objects);
        sides.apply(&built.model).await.unwrap_or_else(|error| panic!("seed {seed}, round {round}: {error:#}"));
        let mut client = Client::new(sides.addresses()[1]);
        for (number, set) in sets.iter().enumerate() {
            for _ in 0..REQUESTS {
                let request = request(set, number, &mut dice);
                let answer = client.send(&request).unwrap_or_else(|error| panic!("{request}: {error:#}"));
                seen.compare(&built, &objects, &request, &answer);
            }
        }
    }
    sides.quit().await.unwrap();
    println!("seed {seed}: {} decisions agree, {} requests left out, by kind {:?}", seen.agreed, seen.left_out, seen.kinds);
    assert!(
        seen.faults.is_empty(),
        "seed {seed}: {} disagree:\n{}",
        seen.faults.len(),
        seen.faults[..seen.faults.len().min(SHOWN)].join("\n")
    );
    assert!(seen.agreed >= 10_000, "only {} were compared", seen.agreed);
    for kind in ["proxy", "301", "302", "308", "401", "403", "404", "503", "400"] {
        assert!(seen.kinds.contains_key(kind), "seed {seed}: no request was answered with {kind}: {:?}", seen.kinds);
    }
}

#[derive(Default)]
struct Seen {
    agreed: usize,
    left_out: usize,
    kinds: BTreeMap<String, usize>,
    faults: Vec<String>,
}

impl Seen {
    fn compare(&mut self, built: &Built, objects: &Snapshot, bytes: &requests::Request, answer: &Answer) {
        // NGINX gave up on a random regular expression.
        let has_given_up = answer.status == 500 && answer.header(RULE_HEADER).is_some_and(|rule| rule.starts_with('|'));
        // The backend's own error, of which no page is to be had.
        let is_error = answer.status == 404 && bytes.to_string().contains("/status/");
        let Some(request) = read(bytes, built).filter(|_| !has_given_up && !is_error) else {
            self.left_out += 1;
            return;
        };
        let (kind, fault) = match decision::decide(built, &objects.ingresses, &request) {
            Err(error) => ("400".to_owned(), (answer.status != 400).then(|| error.to_string())),
            Ok(decision) => (kind(&decision), disagreement(&decision, &request, answer).map(|what| format!("{what}\n{decision}"))),
        };
        match fault {
            None => {
                self.agreed += 1;
                *self.kinds.entry(kind).or_default() += 1;
            }
            Some(fault) => self.faults.push(format!("{bytes}\n  NGINX answers {answer}\n  and the decision is: {fault}\n")),
        }
    }
}

fn kind(decision: &Decision) -> String {
    match &decision.outcome {
        Outcome::Proxy { .. } => "proxy".into(),
        Outcome::Answer { page: Some(_), .. } => "page".into(),
        Outcome::Answer { status, .. } => status.to_string(),
    }
}

/// A request as a URL could say it. `None`: none could.
fn read(bytes: &requests::Request, built: &Built) -> Option<Request> {
    let text = std::str::from_utf8(&bytes.bytes).ok()?;
    let (head, _) = text.split_once("\r\n\r\n")?;
    let mut lines = head.split("\r\n");
    let words: Vec<&str> = lines.next()?.split(' ').collect();
    let [method, target, version] = words[..] else { return None };
    let is_plain = target.starts_with('/') && target.bytes().all(|byte| byte > b' ' && byte != 0x7f);
    if !is_plain || !method.bytes().all(|byte| byte.is_ascii_uppercase()) || method == "TRACE" || version == "HTTP/1.0" {
        return None;
    }
    let headers: Vec<(String, String)> =
        lines.filter_map(|line| line.split_once(':')).map(|(name, value)| (name.to_owned(), value.trim_matches(' ').to_owned())).collect();
    let of = |wanted: &str| headers.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
    let forwarded = of("X-Forwarded-For").filter(|_| built.model.fixed.globals.config.use_forwarded_headers);
    let client: IpAddr = forwarded.as_deref().and_then(|list| list.split(',').next()).unwrap_or("127.0.0.1").parse().ok()?;
    let authority = of("Host").filter(|host| !host.is_empty())?;
    let others = headers.into_iter().filter(|(name, _)| name != "Host").collect();
    Some(Request { method: method.into(), tls: false, authority, target: target.into(), headers: others, client: Some(client) })
}

/// What differs, if anything does.
fn disagreement(decision: &Decision, request: &Request, answer: &Answer) -> Option<String> {
    if let (Some(rule), Some(location)) =
        (answer.header(RULE_HEADER).filter(|rule| !rule.starts_with(" |") && !rule.starts_with('|')), &decision.location)
    {
        let words: Vec<&str> = rule.splitn(6, " | ").collect();
        let named = location.ingress.clone().unwrap_or_default();
        if format!("{}/{}", words[0], words[1]) != named {
            return Some(format!("the Ingress {named}, not {rule}"));
        }
        if let Some(other) = differs("the path", &location.path, words[4]) {
            return Some(other);
        }
    }
    match &decision.outcome {
        Outcome::Answer { page: Some(page), .. } => differs("the page's backend", &service(page), &backend_of(answer)?),
        Outcome::Answer { .. } if refusals(&decision.conditions, request).contains(&answer.status) => None,
        Outcome::Answer { status, location, .. } => {
            let by_status = differs("the status", &status.to_string(), &answer.status.to_string());
            let known = location.as_ref().filter(|location| !location.contains('$'));
            let to = answer.header("location").map(ToOwned::to_owned).unwrap_or_default();
            by_status.or_else(|| differs("the location", known?, &to))
        }
        Outcome::Proxy { backends, target, headers } => {
            let refused = refusals(&decision.conditions, request);
            let Some(backend) = backend_of(answer) else {
                // The page of a refusal may be asked of a default backend without endpoints.
                let is_refusal = refused.contains(&answer.status) || !refused.is_empty() && answer.status == 404;
                let is_expected = is_refusal || answer.status >= 200 && request.method == "HEAD";
                return (!is_expected).then(|| format!("a backend, not {}", answer.status));
            };
            if is_page(answer) {
                return None;
            }
            let all: Vec<String> = backends.iter().map(|share| service(&share.backend)).collect();
            if !all.contains(&backend) {
                return Some(format!("one of {all:?}, not {backend}"));
            }
            let (line, host) = received(answer)?;
            let sent = line.split(' ').nth(1).unwrap_or_default().to_owned();
            let unknown = target.contains('$');
            let expected = headers.iter().find(|(name, _)| name == "Host").map(|(_, value)| value.clone()).unwrap_or_default();
            let by_target = if unknown { None } else { differs("the target", target, &sent) };
            by_target.or_else(|| if expected.contains('$') { None } else { differs("the host", &expected, &host) })
        }
    }
}

/// `actual` has a character for each byte.
fn differs(what: &str, decided: &str, actual: &str) -> Option<String> {
    (!decided.bytes().eq(actual.chars().map(|c| c as u8))).then(|| format!("{what} is {decided:?}, not {actual:?}"))
}

/// Statuses of what the decision can't know.
fn refusals(conditions: &[Condition], request: &Request) -> Vec<u16> {
    let password = request.headers.iter().find(|(name, _)| name == "Authorization").map(|(_, value)| value.as_str());
    let may = |condition: &&Condition| !condition.when.contains("password") || password != Some(RIGHT);
    let statuses = conditions.iter().filter(may).flat_map(|condition| {
        let stated = condition.then.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse::<u16>().ok());
        let any = condition.then.contains("satisfy").then_some([401, 403, 302]);
        stated.chain(any.into_iter().flatten()).collect::<Vec<_>>()
    });
    statuses.collect()
}

/// The Service of a key.
fn service(key: &str) -> String {
    match key.split_once('/') {
        Some((_, rest)) => rest.split(':').next().unwrap_or_default().to_owned(),
        None => "default".to_owned(),
    }
}

/// The name of the backend that answered.
fn backend_of(answer: &Answer) -> Option<String> {
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    Some(text.strip_prefix("backend ")?.lines().next()?.to_owned())
}

/// Whether it is the page of an error.
fn is_page(answer: &Answer) -> bool {
    String::from_utf8_lossy(&answer.body).contains("\r\nX-Code: ")
}

/// Request line and host that the backend got.
fn received(answer: &Answer) -> Option<(String, String)> {
    let text: String = answer.body.iter().map(|byte| char::from(*byte)).collect();
    let mut lines = text.split_once('\n')?.1.split("\r\n");
    let first = lines.next()?.to_owned();
    let mut host = String::new();
    let _ = lines.find_map(|line| line.strip_prefix("Host: ")).map(|value| write!(host, "{value}"));
    Some((first, host))
}
