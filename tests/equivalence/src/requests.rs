//! Random requests as bytes: many near what a rule says, some that are odd, some that are wrong.

use crate::Dice;
use crate::rules::RuleSet;

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// All that goes over the wire.
    pub bytes: Vec<u8>,
    /// Its answer has no body.
    pub head_only: bool,
}

impl std::fmt::Display for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.bytes.escape_ascii().fmt(f)
    }
}

/// Request targets that are odd by themselves.
const ODD: [&str; 74] = [
    "/",
    "//",
    "///",
    "/./",
    "/../",
    "/..",
    "/.",
    "/a/../",
    "/foo/..",
    "/foo/../bar",
    "/foo/../../bar",
    "/foo/.",
    "/foo/./bar",
    "/foo//bar",
    "//foo",
    "/%2F",
    "/%2f..%2f",
    "/foo%2Fbar",
    "/foo%2fbar/",
    "/foo%20bar",
    "/a%20b",
    "/a b",
    "/+",
    "/foo+",
    "/foo%2B",
    "/;a=b",
    "/foo;x/",
    "/semi;colon",
    "/%41",
    "/%2541",
    "/%2",
    "/%zz",
    "/%00",
    "/%",
    "/FOO",
    "/Foo/",
    "/healthz",
    "/healthz/",
    "/%68ealthz",
    "/ü",
    "/%C3%BC",
    "/%c3%bc/",
    "/%FF",
    "/%0A",
    "/foo%0d%0abar",
    "/%7F",
    "/a%3Fb",
    "/a%3Fb/",
    "/%23h",
    "/foo%5Cbar",
    "/back\\slash",
    "/%24",
    "/d$d",
    "/$1",
    "/\"",
    "/q%22q",
    "/'",
    "/{}",
    "/|",
    "/a|b",
    "/^x",
    "/`",
    "/<>",
    "/ ",
    "/\t",
    "",
    "foo",
    "?",
    "/?",
    "/foo?/",
    "/foo#frag",
    "/#",
    "/.well-known/acme-challenge/x",
    "/%2e%2e/foo",
];

/// Paths that the regexes of the rules often match.
const SAMPLES: [&str; 33] = [
    "/foo",
    "/foo/",
    "/foo/bar",
    "/foo/bar/end",
    "/bar",
    "/bar/x/y",
    "/a",
    "/b",
    "/ab",
    "/abab",
    "/a/b",
    "/aab/",
    "/A",
    "/id/1",
    "/id/123",
    "/ABC",
    "/admin",
    "/xx",
    "/x/x",
    "/abc/x",
    "/.git",
    "/c",
    "/fooXbar",
    "/foo/a%20b",
    "/foo/%C3%BC",
    "/foo/a%2Fb",
    "/foo/?x=1",
    "/foo/a?b",
    "/foo/a%3Fb=c",
    "/foo/http%3A//x.test",
    "/foo/status/404",
    "/status/503",
    "/bar/status/410",
];

const QUERIES: [&str; 9] = ["?", "?a=/", "?a=b&c=d", "?x=%2F..%2f", "?/a?b", "?a=1#frag", "?%zz", "?a b", "?a=ü"];

/// A request to one of the hosts of a set, mostly.
pub fn request(set: &RuleSet, number: usize, dice: &mut Dice) -> Request {
    let mut host = host(set, number, dice);
    let mut target = target(set, dice);
    if dice.percent(3) && matches!(target.first(), None | Some(b'/' | b'?')) {
        let authority = if dice.percent(50) { host.clone().unwrap_or_default() } else { dice.among(&set.hosts).clone() };
        target.splice(0..0, format!("{}://{authority}", dice.of(&["http", "HTTP", "https"])).into_bytes());
        // The router has it take the place of the header, as RFC 9112 says; NGINX passes on another one.
        host = Some(authority);
    }
    let mut method = dice.of(&["GET", "GET", "GET", "GET", "GET", "GET", "GET", "GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "FOO"]);
    if method == "OPTIONS" && dice.percent(30) {
        target = b"*".to_vec();
    }
    if dice.percent(2) {
        method = dice.of(&["TRACE", "get"]);
    }
    let version = if host.is_none() || dice.percent(4) { "1.0" } else { "1.1" };

    let mut bytes = format!("{method} ").into_bytes();
    bytes.extend(&target);
    bytes.extend(format!(" HTTP/{version}\r\n").bytes());
    let mut header = |line: String| bytes.extend(format!("{line}\r\n").bytes());
    if let Some(host) = &host {
        header(format!("Host: {host}"));
    }
    // Otherwise each NGINX makes up its own.
    header("X-Request-ID: 1".into());
    if dice.percent(6) {
        header(format!("X-Forwarded-Proto: {}", dice.of(&["https", "http", "HTTPS", ""])));
    }
    if dice.percent(6) {
        header(format!("X-Forwarded-Host: {}", dice.of(&["front.test", "front.test, other.test", "Front.test:8443", ""])));
    }
    if dice.percent(6) {
        header(format!("X-Forwarded-Port: {}", dice.of(&["443", "80", "8443", "x"])));
    }
    if dice.percent(6) {
        header("X-Forwarded-For: 192.0.2.1, 192.0.2.2".into());
    }
    if dice.percent(3) {
        header("Upgrade: websocket".into());
    }
    if dice.percent(20) {
        header(format!(
            "Origin: {}",
            dice.of(&["http://a.test", "https://b.test:8443", "https://x.b.test:8443", "HTTP://A.test", "null", "x"])
        ));
    }
    if dice.percent(30) {
        header(format!("Authorization: {}", dice.of(&["Basic dXNlcjpzZWNyZXQ=", "Basic dXNlcjp3cm9uZw==", "Basic x", "Bearer x"])));
    }
    if dice.percent(20) {
        header(format!("X-Canary: {}", dice.of(&["always", "never", "yes", "yours", "no", "Always"])));
    }
    if dice.percent(20) {
        header(format!("Cookie: {}", dice.of(&["canary=always", "canary=never", "a=b; canary=always", "canary=yes", "Canary=always"])));
    }
    let body = if ["POST", "PUT"].contains(&method) { dice.of(&[0, 1, 16, 17, 1024, 1025]) } else { 0 };
    if body > 0 || method == "POST" {
        header(format!("Content-Length: {body}"));
    }
    bytes.extend(b"\r\n");
    bytes.extend(std::iter::repeat_n(b'x', body));
    Request { bytes, head_only: method == "HEAD" }
}

/// A Host header; `None`: there is none.
fn host(set: &RuleSet, number: usize, dice: &mut Dice) -> Option<String> {
    let known = dice.among(&set.hosts).replacen('*', dice.of(&["x", "any", "deep", "a-b", "a_b"]), 1);
    if dice.percent(80) {
        return Some(known);
    }
    Some(match dice.roll(19) {
        0 => known.to_ascii_uppercase(),
        1 => format!("{known}:8080"),
        2 => format!("{known}."),
        3 => format!("{known}.:80"),
        4 => format!("alias{number}.test"),
        5 => format!("x.alias{number}.test"),
        6 => format!("w{number}.test"),
        7 => format!("y.x.w{number}.test"),
        8 => format!("{}.w{number}.test", dice.of(&["", "ü", "a b", "*", "-", "x%41", "(", "~"])),
        9 => (dice.of(&[
            "unknown.test",
            "test",
            "localhost",
            "127.0.0.1",
            "[::1]",
            "[::1]:80",
            "_",
            "*",
            "~",
            "a..b",
            "a/b",
            ":80",
            ".",
            "-",
        ]))
        .into(),
        10 => String::new(),
        11 => format!(" {known}\t"),
        12 => format!("{known}:"),
        13 => format!("{known}:x"),
        14 => format!("user@{known}"),
        15 | 16 => format!("www.{known}"),
        17 => format!("z.y.alias{number}.test"),
        _ => return None,
    })
}

fn target(set: &RuleSet, dice: &mut Dice) -> Vec<u8> {
    let roll = dice.roll(100);
    let mut target = if roll < 55 && !set.paths.is_empty() {
        let path = dice.among(&set.paths).clone();
        near(path, dice)
    } else if roll < 80 {
        dice.of(&SAMPLES).as_bytes().to_vec()
    } else if roll < 97 {
        dice.of(&ODD).as_bytes().to_vec()
    } else {
        format!("/{}{}", dice.of(&["foo", "bar/", "é"]), "a".repeat(set.longest)).into_bytes()
    };
    if dice.percent(20) {
        target.extend(dice.of(&QUERIES).bytes());
    }
    target
}

/// The path of a rule as a client writes it, with something changed.
fn near(path: String, dice: &mut Dice) -> Vec<u8> {
    let mut path = if dice.percent(50) { path } else { path.chars().filter(|c| !"()[]{}|*+?^$\\".contains(*c)).collect() };
    for _ in 0..dice.roll(3) {
        path = match dice.roll(11) {
            0 => path.trim_end_matches('/').to_owned(),
            1 | 2 => format!("{path}/"),
            3 => format!("{path}/x"),
            4 => format!("{path}x"),
            5 => path.replacen('/', "//", 1),
            6 => format!("/.{path}"),
            7 => format!("/x/..{path}"),
            8 => path.to_ascii_uppercase(),
            9 => format!("{path}/."),
            _ => path.chars().take(path.chars().count() / 2 + 1).collect(),
        };
    }
    encoded(&path, dice)
}

/// Escapes what must be, sometimes not, and sometimes what need not be.
fn encoded(path: &str, dice: &mut Dice) -> Vec<u8> {
    let careless = dice.percent(5);
    let eager = dice.percent(20);
    let mut out = Vec::new();
    for byte in path.bytes() {
        let must = byte <= b' ' || byte == 0x7f || b"?#%".contains(&byte);
        let escape = match byte {
            _ if must => !careless,
            b'/' => eager && dice.percent(10),
            0x80.. => dice.percent(50),
            _ => eager && dice.percent(30),
        };
        if escape {
            out.extend(if dice.percent(50) { format!("%{byte:02X}") } else { format!("%{byte:02x}") }.bytes());
        } else {
            out.push(byte);
        }
    }
    out
}
