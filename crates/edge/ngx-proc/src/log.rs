//! NGINX's messages: from `nginx -t`, and from the error log after a signal.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use nix::errno::Errno;

/// No more of it is read, and NGINX appends, so it may be cut at any time.
const LONGEST_LOG: u64 = 4 << 20;
/// Bytes of the news that are read at most.
const LONGEST_NEWS: u64 = 256 << 10;

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// `emerg`, `warn`, ...
    pub level: String,
    /// The process that says it; `None` in the short form before NGINX knows.
    pub pid: Option<i32>,
    /// The text without time, level and pid.
    pub text: String,
}

/// Reads `2024/05/06 07:08:09 [emerg] 12#12: text` and `nginx: [emerg] text`.
pub fn parse(line: &str) -> Option<Message> {
    let (before, rest) = line.split_once('[')?;
    let stamped = before.starts_with(|c: char| c.is_ascii_digit()) && before.len() == "2024/05/06 07:08:09 ".len();
    let (level, rest) = rest.split_once("] ")?;
    if !(stamped || before == "nginx: ") || !level.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return None;
    }
    let who = || {
        let (who, text) = rest.split_once(": ")?;
        Some((who.split_once('#')?.0.parse().ok()?, text))
    };
    let (pid, text) = stamped.then(who).flatten().map_or((None, rest), |(pid, text)| (Some(pid), text));
    // `*17` is the number of a connection.
    let text = match text.strip_prefix('*').and_then(|text| text.split_once(' ')) {
        Some((number, text)) if number.bytes().all(|byte| byte.is_ascii_digit()) => text,
        _ => text,
    };
    Some(Message { level: level.to_owned(), pid, text: text.to_owned() })
}

/// The reason why a listening socket is unavailable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BindFailure {
    /// `0.0.0.0`, `[::]`; a path for a unix socket.
    pub address: String,
    /// `None` for a unix socket.
    pub port: Option<u16>,
    /// `EADDRINUSE`, `EACCES`, ...
    pub errno: i32,
}

impl BindFailure {
    /// Whether another socket has the address, which may change.
    pub fn is_taken(&self) -> bool {
        Errno::from_raw(self.errno) == Errno::EADDRINUSE
    }
}

/// Reads `bind() to 0.0.0.0:80 failed (98: Address already in use)`.
pub fn bind_failure(text: &str) -> Option<BindFailure> {
    let (target, rest) = text.strip_prefix("bind() to ")?.split_once(" failed (")?;
    let errno = rest.split_once(':')?.0.parse().ok()?;
    if let Some(path) = target.strip_prefix("unix:") {
        return Some(BindFailure { address: path.to_owned(), port: None, errno });
    }
    let (address, port) = target.rsplit_once(':')?;
    Some(BindFailure { address: address.to_owned(), port: Some(port.parse().ok()?), errno })
}

/// The last of five attempts has failed: a reload is given up.
pub fn gave_up_binding(text: &str) -> bool {
    text.starts_with("still could not bind()")
}

/// Splits `text in /etc/nginx.conf:12` into text, file and line.
pub fn place(text: &str) -> (&str, Option<(&str, u32)>) {
    let split = || {
        let end = text.rfind(" in /")?;
        let (file, line) = text[end + " in ".len()..].rsplit_once(':')?;
        Some((&text[..end], (file, line.parse().ok()?)))
    };
    split().map_or((text, None), |(message, place)| (message, Some(place)))
}

/// The error log from a moment on.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    offset: u64,
    unfinished: Vec<u8>,
    messages: Vec<Message>,
}

impl Tail {
    /// A tail from now on. A log that has grown long is emptied.
    pub fn new(path: &Path) -> Self {
        let length = path.metadata().map_or(0, |metadata| metadata.len());
        let emptied = length > LONGEST_LOG && OpenOptions::new().write(true).open(path).and_then(|file| file.set_len(0)).is_ok();
        Self { path: path.to_owned(), offset: if emptied { 0 } else { length }, unfinished: Vec::new(), messages: Vec::new() }
    }

    /// A tail from now on, of a log that belongs to another program: it is never cut.
    pub fn follow(path: &Path) -> Self {
        let offset = path.metadata().map_or(0, |metadata| metadata.len());
        Self { path: path.to_owned(), offset, unfinished: Vec::new(), messages: Vec::new() }
    }

    /// Every message since then. A log that can't be read has none.
    pub fn messages(&mut self) -> &[Message] {
        let mut news = Vec::new();
        let read = File::open(&self.path).and_then(|mut file| {
            if file.metadata()?.len() < self.offset {
                self.offset = 0;
            }
            file.seek(SeekFrom::Start(self.offset))?;
            file.take(LONGEST_NEWS).read_to_end(&mut news)
        });
        self.offset += read.unwrap_or(0) as u64;
        self.unfinished.append(&mut news);
        if let Some(end) = self.unfinished.iter().rposition(|&byte| byte == b'\n') {
            let lines: Vec<u8> = self.unfinished.drain(..=end).collect();
            self.messages.extend(String::from_utf8_lossy(&lines).lines().filter_map(parse));
        }
        &self.messages
    }

    /// The texts of all messages so far.
    pub fn texts(&self) -> Vec<String> {
        self.messages.iter().map(|message| message.text.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn both_forms_of_a_message_are_read() {
        let long = parse("2026/01/02 03:04:05 [emerg] 31#32: *7 bind() to 0.0.0.0:80 failed (98: Address already in use)").unwrap();
        assert_eq!((long.level.as_str(), long.pid), ("emerg", Some(31)));
        assert_eq!(long.text, "bind() to 0.0.0.0:80 failed (98: Address already in use)");
        let short = parse("nginx: [warn] something [odd] in /w/nginx.conf:3").unwrap();
        assert_eq!((short.level.as_str(), short.pid, short.text.as_str()), ("warn", None, "something [odd] in /w/nginx.conf:3"));
        assert_eq!(parse("nginx: configuration file /w/nginx.conf test failed"), None);
        assert_eq!(parse("stack traceback: [C]: in function 'require'"), None);
    }

    #[test]
    fn a_failed_bind_names_address_port_and_reason() {
        #[track_caller]
        fn check(text: &str, address: &str, port: Option<u16>, errno: i32) {
            assert_eq!(bind_failure(text), Some(BindFailure { address: address.into(), port, errno }));
        }
        check("bind() to 0.0.0.0:80 failed (98: Address already in use)", "0.0.0.0", Some(80), 98);
        check("bind() to [::]:443 failed (13: Permission denied)", "[::]", Some(443), 13);
        check("bind() to unix:/w/run/control.sock failed (98: Address already in use)", "/w/run/control.sock", None, 98);
        assert_eq!(bind_failure("listen() to 0.0.0.0:80 failed"), None);
        assert!(gave_up_binding("still could not bind()"));
    }

    #[test]
    fn the_place_is_taken_off_the_message() {
        assert_eq!(
            place("unknown directive \"x\" in /a in b/nginx.conf:12"),
            ("unknown directive \"x\"", Some(("/a in b/nginx.conf", 12)))
        );
        assert_eq!(place("host not found in upstream \"a\""), ("host not found in upstream \"a\"", None));
    }

    #[test]
    fn a_tail_sees_whole_lines_after_its_start_even_if_the_log_is_cut() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("error.log");
        assert!(Tail::new(&path).messages().is_empty());
        let mut file = OpenOptions::new().create(true).append(true).open(&path).unwrap();
        file.write_all(b"2026/01/02 03:04:05 [emerg] 1#1: old\n").unwrap();
        let mut tail = Tail::new(&path);
        file.write_all(b"2026/01/02 03:04:05 [emerg] 1#1: ne").unwrap();
        assert!(tail.messages().is_empty());
        file.write_all(b"w\n").unwrap();
        assert_eq!(tail.messages().len(), 1);
        file.set_len(0).unwrap();
        file.write_all(b"2026/01/02 03:04:05 [alert] 1#1: cut\n").unwrap();
        tail.messages();
        assert_eq!(tail.texts(), ["new", "cut"]);
    }
}
