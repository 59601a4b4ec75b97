//! Random answers of backends, with the headers that NGINX treats specially, and requests for them.

use crate::Dice;
use crate::script::Script;

/// Statuses. Most others are a plain one.
const STATUSES: [&str; 41] = [
    "100 Continue",
    "101 Switching Protocols",
    "103 Early Hints",
    "201 Created",
    "202 Accepted",
    "203 Non-Authoritative",
    "204 No Content",
    "205 Reset Content",
    "206 Partial Content",
    "226 IM Used",
    "300 Multiple Choices",
    "301 Moved Permanently",
    "302 Found",
    "303 See Other",
    "304 Not Modified",
    "305 Use Proxy",
    "307 Temporary Redirect",
    "308 Permanent Redirect",
    "400 Bad Request",
    "401 Unauthorized",
    "402 Pay",
    "403 Forbidden",
    "404 Not Found",
    "404",
    "405 No Way",
    "409 Conflict",
    "410 Gone",
    "412 Precondition Failed",
    "413 Too Large",
    "416 Range Not Satisfiable",
    "418 Teapot",
    "429 Too Many",
    "451 Ünavailable",
    "494 Own",
    "499 Gone",
    "500 Oops",
    "501 Not Implemented",
    "502 Bad",
    "503 Busy",
    "504 Late",
    "599 Last",
];

/// Headers that NGINX knows or that proxies like to touch, with values that are usual and odd.
const HEADERS: [(&str, &[&str]); 39] = [
    ("Location", &["/login", "/", "//other.test/x", "relative", "../up?a=b#c", "?a=b", "", "http://a.test/x", "https://other.test:8443/"]),
    ("Location", &["http://upstream_balancer/x", "http://127.0.0.1/y", "/a b", "/\u{fc}", "http://", "mailto:a@b.test", "#frag"]),
    ("Refresh", &["5", "0; url=/x", "5;URL=http://a.test/x", "1; url=", "2; url=http://upstream_balancer/x", "url=/only"]),
    ("Set-Cookie", &["a=b", "a=b; Path=/; HttpOnly", "c=d;path=/x;Domain=.a.test;secure", "e=f; Domain=", "g=h; Path=", "=x", "i; path=/"]),
    ("Set-Cookie", &["k=l ; Path = / ; SameSite=None", "m=\"q; r\"; Domain=A.TEST; Max-Age=1", ";", "n=o;;Path=/;"]),
    ("Set-Cookie2", &["a=b"]),
    ("Server", &["backend/1.0", ""]),
    ("Date", &["Thu, 01 Jan 1970 00:00:00 GMT", "yesterday"]),
    ("Accept-Ranges", &["bytes", "none"]),
    ("ETag", &["\"abc\"", "W/\"abc\"", "abc", ""]),
    ("Vary", &["Origin", "Accept-Encoding", "*", "Cookie, Accept"]),
    ("Content-Encoding", &["gzip", "identity", "br"]),
    (
        "Content-Type",
        &["text/html", "text/plain; charset=utf-8", "application/json", "TEXT/HTML;Charset=\"x\"", "odd", "", "text/html; a=b; charset="],
    ),
    ("Content-Language", &["en"]),
    ("Content-Range", &["bytes 0-4/10", "bytes */10"]),
    ("Content-Disposition", &["attachment; filename=\"a;b\""]),
    ("Last-Modified", &["Thu, 01 Jan 1970 00:00:00 GMT", "never"]),
    ("Expires", &["0", "Thu, 01 Jan 2099 00:00:00 GMT"]),
    ("Cache-Control", &["no-store", "max-age=10, private", "max-age=0"]),
    ("Pragma", &["no-cache"]),
    ("Age", &["10"]),
    ("Link", &["</x>; rel=preload", "</y.css>; rel=preload; as=style, </z>; rel=next"]),
    ("WWW-Authenticate", &["Basic realm=\"a\"", "Negotiate"]),
    ("Proxy-Authenticate", &["Basic"]),
    ("Via", &["1.1 inner"]),
    ("Connection", &["keep-alive", "close", "X-Hop", "Upgrade"]),
    ("Keep-Alive", &["timeout=5"]),
    ("Upgrade", &["websocket", "h2c"]),
    ("Trailer", &["X-Sum"]),
    ("X-Accel-Expires", &["10", "off", "@5"]),
    ("X-Accel-Limit-Rate", &["100000000", "off", "x"]),
    ("X-Accel-Buffering", &["yes", "no", "odd"]),
    ("X-Accel-Charset", &["koi8-r", "off"]),
    ("Strict-Transport-Security", &["max-age=1"]),
    ("X-Powered-By", &["them"]),
    ("Access-Control-Allow-Origin", &["*"]),
    ("X-Request-ID", &["of-the-backend"]),
    ("X-Under_Score", &["1"]),
    ("x-lower-case", &["1", "", "  2 "]),
];

/// What stands in no header and yet comes from backends.
const BROKEN_LINES: [&str; 5] = ["no colon here", ": no name", "X Space: 1", "X-Nul: a\u{0}b", " folded"];

const BODY: &str = "0123456789 abcdefghijklmnopqrstuvwxyz\n";

/// An answer of a backend. Number 0 is a plain one.
pub fn script(number: usize, of: usize, dice: &mut Dice) -> Script {
    if number == 0 {
        return whole("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n".into(), b"last", false);
    }
    let status = if dice.percent(40) { "200 OK" } else { dice.of(&STATUSES) };
    let version = if dice.percent(92) { "1.1" } else { dice.of(&["1.0", "0.9", "2.0"]) };
    let mut head = format!("HTTP/{version} {status}\r\n");
    let mut closes = version != "1.1" || status.starts_with('1');
    for _ in 0..dice.roll(9) {
        let (name, values) = dice.among(&HEADERS);
        let value = dice.of(values);
        closes |= *name == "Connection";
        head += &format!("{name}: {value}\r\n");
        if dice.percent(10) {
            head += &format!("{name}: {}\r\n", dice.of(values));
        }
    }
    if dice.percent(6) {
        // To one of the others, which may lead elsewhere itself.
        let target = dice.roll(of);
        head += &format!("X-Accel-Redirect: {}\r\n", dice.among(&[format!("/{target}?x=y"), "/0".into(), String::new()]));
    }
    if dice.percent(3) {
        head += &format!("{}\r\n", dice.of(&BROKEN_LINES));
        closes = true;
    }
    let bodiless = ["1", "204", "304"].iter().any(|start| status.starts_with(start));
    let body = if bodiless { "" } else { &BODY[..dice.roll(BODY.len())] };
    framed(head, body, closes || bodiless && dice.percent(50), dice)
}

fn framed(mut head: String, body: &str, closes: bool, dice: &mut Dice) -> Script {
    let length = |by: usize| format!("Content-Length: {}\r\n", body.len() + by);
    match dice.roll(20) {
        0..9 => head += &length(0),
        9..15 => {
            head += &format!("Transfer-Encoding: {}\r\n", dice.of(&["chunked", "Chunked"]));
            let (first, second) = body.split_at(body.len() / 2);
            let mut chunks: String =
                [first, second].iter().filter(|part| !part.is_empty()).map(|part| format!("{:x};e=1\r\n{part}\r\n", part.len())).collect();
            chunks += dice.of(&["0\r\n\r\n", "0\r\nX-Sum: 1\r\n\r\n"]);
            return whole(head + "\r\n", chunks.as_bytes(), closes);
        }
        15..18 => return whole(head + "\r\n", body.as_bytes(), true),
        18 => {
            // Cut off.
            head += &length(7);
            return Script { is_cut: true, ..whole(head + "\r\n", body.as_bytes(), true) };
        }
        _ => {
            head += &length(0);
            head += dice.of(&[
                "Content-Length: 1\r\n",
                "Content-Length: x\r\n",
                "Transfer-Encoding: chunked\r\n",
                "Transfer-Encoding: gzip\r\n",
            ]);
            return Script { is_cut: true, ..whole(head + "\r\n", body.as_bytes(), true) };
        }
    }
    whole(head + "\r\n", body.as_bytes(), closes)
}

fn whole(head: String, body: &[u8], closes: bool) -> Script {
    let length = head.len();
    Script { bytes: [head.as_bytes(), body].concat(), head: length, closes, is_cut: false }
}

/// A request for an answer, and where the connection can take it one for the plain answer behind it.
pub fn request(number: usize, script: &Script, dice: &mut Dice) -> Vec<u8> {
    let version = if dice.percent(80) { "1.1" } else { "1.0" };
    let mut request = format!("{} /{number} HTTP/{version}\r\nHost: a.test\r\n", if dice.percent(80) { "GET" } else { "HEAD" });
    for (chance, lines) in [
        (15, &["Range: bytes=0-4", "Range: bytes=-3", "Range: bytes=2-4,6-7", "Range: bytes=90-"][..]),
        (10, &["If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT", "If-None-Match: \"abc\"", "If-Match: \"x\"", "If-Range: \"abc\""]),
        (10, &["Accept-Encoding: gzip"]),
        (8, &["Connection: Upgrade, close\r\nUpgrade: websocket", "Connection: close", "Connection: keep-alive"]),
        (5, &["Origin: http://b.test", "TE: trailers", "Expect: 100-continue"]),
    ] {
        if dice.percent(chance) {
            request += dice.of(lines);
            request += "\r\n";
        }
    }
    // One with a body takes another way through the router.
    let body = if dice.percent(20) { "body" } else { "" };
    if !body.is_empty() {
        request += &format!("Content-Length: {}\r\n", body.len());
    }
    let stays = request.contains("keep-alive") || version == "1.1" && !request.contains("close");
    if stays && script.is_cut {
        // NGINX may reset a connection on which more waits than it reads.
        request += "Connection: close\r\n";
    }
    request += "\r\n";
    request += body;
    if stays && !script.is_cut {
        request += "GET /0 HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n";
    }
    request.into_bytes()
}
