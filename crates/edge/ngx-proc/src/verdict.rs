//! The judgement of NGINX about a configuration: at the end of an `nginx -t`, and in its log when it was signalled to read one.
//!
//! A status other than 0 proves little by itself: a test that was killed, or that found no memory, no descriptor, no module or no directory, says
//! nothing about the configuration. There are three kinds:
//!
//! - *refused*: a message of NGINX's grammar with a file and a line. It comes again whenever the same text is tested.
//! - *doubtful*: NGINX complains, but about something outside of the text (a file, the system), or names no place. Whether the text is at fault
//!   shows only beside another text that is tested at the same moment, which is the caller's part.
//! - *failed*: there is no complaint. It was killed, or could not begin.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use nix::sys::signal::Signal;

use crate::log::{self, BindFailure, Message};

/// The levels of messages that end a test, the most severe first.
const SEVERE: [&str; 4] = ["emerg", "alert", "crit", "error"];

/// The end of an `nginx -t`. Messages are without time, level and pid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TestVerdict {
    /// The configuration is good.
    Accepted {
        /// The warnings, in their order.
        warnings: Vec<String>,
    },
    /// The text is at fault: the message, with its place.
    Refused(String),
    /// Something outside of the text may be at fault: the message.
    Doubtful(String),
    /// The test came to no result: how it ended, as in `was ended by SIGKILL`.
    Failed(String),
}

/// Reads the end of an `nginx -t` and what it printed on standard error.
pub fn judge(status: ExitStatus, stderr: &str) -> TestVerdict {
    let messages: Vec<Message> = stderr.lines().filter_map(log::parse).collect();
    if status.success() {
        let warnings = messages.into_iter().filter(|message| message.level == "warn");
        return TestVerdict::Accepted { warnings: warnings.map(|message| message.text).collect() };
    }
    if let Some(signal) = status.signal() {
        let signal = Signal::try_from(signal).map_or_else(|_| format!("signal {signal}"), |signal| signal.as_str().to_owned());
        return TestVerdict::Failed(format!("was ended by {signal}"));
    }
    let of_level = |level| messages.iter().find(|message| message.level == level);
    let Some(message) = SEVERE.into_iter().find_map(of_level) else {
        let line = stderr.lines().find(|line| !line.trim().is_empty()).map(|line| format!(": {}", line.trim())).unwrap_or_default();
        return TestVerdict::Failed(format!("ended with {status} and without a message of NGINX{line}"));
    };
    let (text, place) = log::place(&message.text);
    let kind = if place.is_some() && of_grammar(text) { TestVerdict::Refused } else { TestVerdict::Doubtful };
    kind(message.text.clone())
}

/// Whether a message is about the text, and not about what the text refers to or what the system lacks.
fn of_grammar(message: &str) -> bool {
    // As in `open() "/x" failed (2: No such file or directory)` and `cannot load certificate "/x": BIO_new_file() failed (SSL: ...)`.
    let system = message.contains("() failed") || message.contains(" failed (");
    let resource = ["dlopen() ", "malloc", "no memory", "cannot load ", "host not found", "could not"];
    !system && !resource.iter().any(|begin| message.starts_with(begin))
}

/// The objection of a master to the configuration that it was signalled to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Objection {
    /// Other sockets are in the way, in the order in which it found them. It tries five times, half a second apart, and may yet succeed.
    Waiting(Vec<BindFailure>),
    /// The master has given up.
    Final {
        /// Its message, without time, level and pid.
        message: String,
        /// The socket that it could not open, where that is the reason.
        bind: Option<BindFailure>,
    },
}

/// Reads what the log has from a master since the signal; `None`: no objection. What workers say (`emerg` too) doesn't decide: the master may
/// start others.
pub fn objection(messages: &[Message], master: i32) -> Option<Objection> {
    let by_master = |message: &&Message| message.level == "emerg" && message.pid == Some(master);
    let mut waiting: Vec<(&str, BindFailure)> = Vec::new();
    for text in messages.iter().filter(by_master).map(|message| message.text.as_str()) {
        match log::bind_failure(text) {
            Some(failure) if failure.is_taken() => waiting.push((text, failure)),
            None if log::gave_up_binding(text) && !waiting.is_empty() => {
                let (text, failure) = waiting.swap_remove(0);
                return Some(Objection::Final { message: text.to_owned(), bind: Some(failure) });
            }
            bind => return Some(Objection::Final { message: text.to_owned(), bind }),
        }
    }
    (!waiting.is_empty()).then(|| Objection::Waiting(waiting.into_iter().map(|(_, failure)| failure).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(status: i32, stderr: &str) -> TestVerdict {
        judge(ExitStatus::from_raw(status), stderr)
    }

    #[test]
    fn a_message_of_the_grammar_with_its_place_is_a_refusal() {
        let stderr = "nginx: [warn] w in /a:1\nnginx: [emerg] unknown directive \"x\" in /a:7\nnginx: configuration file /a test failed\n";
        assert_eq!(judged(1 << 8, stderr), TestVerdict::Refused("unknown directive \"x\" in /a:7".into()));
    }

    #[test]
    fn what_lies_outside_of_the_text_is_doubtful() {
        for message in [
            "open() \"/nope\" failed (2: No such file or directory) in /w/nginx.conf:12",
            "mkdir() \"/w/temp/body\" failed (28: No space left on device)",
            "dlopen() \"/m.so\" failed (/m.so: cannot open shared object file: Permission denied) in /w/nginx.conf:2",
            "cannot load certificate \"/c\": BIO_new_file() failed (SSL: error:80000002)",
            "host not found in upstream \"a\" in /w/nginx.conf:3",
            "init_by_lua error: out of memory",
        ] {
            assert_eq!(judged(1 << 8, &format!("nginx: [emerg] {message}\n")), TestVerdict::Doubtful(message.into()));
        }
    }

    #[test]
    fn a_test_that_was_killed_or_could_not_begin_proves_nothing() {
        let killed = judged(9, "nginx: [emerg] unknown directive \"x\" in /w/nginx.conf:7\n");
        assert_eq!(killed, TestVerdict::Failed("was ended by SIGKILL".into()));
        let loader = judged(127 << 8, "nginx: error while loading shared libraries: libpcre2-8.so.0: cannot open\n");
        assert!(matches!(&loader, TestVerdict::Failed(why) if why.contains("exit status: 127") && why.contains("libpcre2")), "{loader:?}");
    }

    #[test]
    fn warnings_of_an_accepted_test_are_kept() {
        let accepted = judged(0, "nginx: [warn] odd\nnginx: the configuration file /w/nginx.conf syntax is ok\n");
        assert_eq!(accepted, TestVerdict::Accepted { warnings: vec!["odd".into()] });
    }

    #[test]
    fn the_reason_of_the_master_is_found_and_a_taken_port_is_waited_for() {
        let message = |pid, text: &str| Message { level: "emerg".into(), pid: Some(pid), text: text.into() };
        let last = |message: &str, bind: Option<BindFailure>| Some(Objection::Final { message: message.into(), bind });
        let bind = "bind() to 0.0.0.0:80 failed (98: Address already in use)";
        let taken = || log::bind_failure(bind).unwrap();
        assert_eq!(objection(&[message(8, "of a worker")], 7), None);
        assert_eq!(objection(&[message(7, "open() failed")], 7), last("open() failed", None));
        assert_eq!(objection(&[message(7, bind), message(7, bind)], 7), Some(Objection::Waiting(vec![taken(), taken()])));
        assert_eq!(objection(&[message(7, bind), message(7, "still could not bind()")], 7), last(bind, Some(taken())));
        assert_eq!(objection(&[message(7, "still could not bind()")], 7), last("still could not bind()", None));
        let denied = "bind() to 0.0.0.0:80 failed (13: Permission denied)";
        assert_eq!(objection(&[message(7, denied)], 7), last(denied, log::bind_failure(denied)));
    }
}
