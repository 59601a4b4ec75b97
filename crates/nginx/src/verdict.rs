//! What the end of an `nginx -t` proves.
//!
//! A status other than 0 proves little by itself: a test that was killed, or that found no memory, no descriptor, no module or no directory, says
//! nothing about the configuration. There are three kinds:
//!
//! - *refused*: a message of NGINX's grammar with a file and a line. It comes again whenever the same text is tested.
//! - *doubtful*: NGINX complains, but about something outside of the text (a file, the system), or names no place. Whether the text is at fault
//!   shows only beside another text that is tested at the same moment, which is the caller's part.
//! - *failed*: there is no complaint. It was killed, or could not begin.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use nix::sys::signal::Signal;
use render::Paths;

use crate::confirm::bind_error;
use crate::error::{ApplyError, Complaint};
use crate::log::{self, Message};
use crate::process::Tested;

/// The warnings of a test that accepts, or what its end proves. `staged`: the path under which the configuration was tested.
pub(crate) fn judge(tested: &Tested, staged: &Path, paths: &Paths, flags: &BTreeMap<u16, &'static str>) -> Result<Vec<String>, ApplyError> {
    let stderr = tested.stderr.replace(&staged.display().to_string(), &paths.conf().display().to_string());
    let messages: Vec<Message> = stderr.lines().filter_map(log::parse).collect();
    if tested.status.success() {
        return Ok(messages.into_iter().filter(|message| message.level == "warn").map(|message| message.text).collect());
    }
    if let Some(signal) = tested.status.signal() {
        let signal = Signal::try_from(signal).map_or_else(|_| format!("signal {signal}"), |signal| signal.as_str().to_owned());
        return Err(ApplyError::TestFailed(format!("was ended by {signal}")));
    }
    let of_level = |level| messages.iter().find(|message| message.level == level);
    let Some(message) = ["emerg", "alert", "crit", "error"].into_iter().find_map(of_level) else {
        let line = stderr.lines().find(|line| !line.trim().is_empty()).map(|line| format!(": {}", line.trim())).unwrap_or_default();
        return Err(ApplyError::TestFailed(format!("ended with {} and without a message of NGINX{line}", tested.status)));
    };
    if let Some(error) = log::bind_failure(&message.text).and_then(|failure| bind_error(&failure, flags)) {
        return Err(error);
    }
    let (text, place) = log::place(&message.text);
    let relative = |file| Path::new(file).strip_prefix(&paths.work_dir).unwrap_or(Path::new(file)).display().to_string();
    let (file, line) = place.map_or(("nginx.conf".to_owned(), None), |(file, line)| (relative(file), Some(line)));
    let complaint = Complaint { message: text.to_owned(), file, line, stderr: stderr.clone() };
    Err(if line.is_some() && of_grammar(text) { ApplyError::Refused(complaint) } else { ApplyError::Doubtful(complaint) })
}

/// Whether a message is about the text, and not about what the text refers to or what the system lacks.
fn of_grammar(message: &str) -> bool {
    // As in `open() "/x" failed (2: No such file or directory)` and `cannot load certificate "/x": BIO_new_file() failed (SSL: ...)`.
    let system = message.contains("() failed") || message.contains(" failed (");
    let resource = ["dlopen() ", "malloc", "no memory", "cannot load ", "host not found", "could not"];
    !system && !resource.iter().any(|begin| message.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use std::process::ExitStatus;

    use super::*;

    fn judged(status: i32, stderr: &str) -> Result<Vec<String>, ApplyError> {
        let paths = Paths { work_dir: "/w".into() };
        let tested = Tested { status: ExitStatus::from_raw(status), stderr: stderr.to_owned() };
        judge(&tested, Path::new("/w/nginx.conf.new"), &paths, &BTreeMap::new())
    }

    #[test]
    fn a_message_of_the_grammar_with_its_place_is_a_refusal() {
        let stderr =
            "nginx: [emerg] unknown directive \"x\" in /w/nginx.conf.new:7\nnginx: configuration file /w/nginx.conf.new test failed\n";
        let Err(ApplyError::Refused(complaint)) = judged(1 << 8, stderr) else { panic!() };
        assert_eq!(
            (complaint.message.as_str(), complaint.file.as_str(), complaint.line),
            ("unknown directive \"x\"", "nginx.conf", Some(7))
        );
        assert!(!complaint.stderr.contains(".new"));
    }

    #[test]
    fn what_lies_outside_of_the_text_is_doubtful() {
        for message in [
            "open() \"/nope\" failed (2: No such file or directory) in /w/nginx.conf.new:12",
            "mkdir() \"/w/temp/body\" failed (28: No space left on device)",
            "dlopen() \"/m.so\" failed (/m.so: cannot open shared object file: Permission denied) in /w/nginx.conf.new:2",
            "cannot load certificate \"/c\": BIO_new_file() failed (SSL: error:80000002)",
            "host not found in upstream \"a\" in /w/nginx.conf.new:3",
            "init_by_lua error: out of memory",
        ] {
            let judged = judged(1 << 8, &format!("nginx: [emerg] {message}\n"));
            assert!(matches!(judged, Err(ApplyError::Doubtful(_))), "{message}");
        }
    }

    #[test]
    fn a_test_that_was_killed_or_could_not_begin_proves_nothing() {
        let killed = judged(9, "nginx: [emerg] unknown directive \"x\" in /w/nginx.conf.new:7\n").unwrap_err();
        assert_eq!(killed.to_string(), "the test of the configuration was ended by SIGKILL");
        let loader = judged(127 << 8, "nginx: error while loading shared libraries: libpcre2-8.so.0: cannot open\n").unwrap_err();
        assert!(matches!(loader, ApplyError::TestFailed(_)), "{loader}");
    }

    #[test]
    fn warnings_of_an_accepted_test_are_kept() {
        assert_eq!(judged(0, "nginx: [warn] odd\nnginx: the configuration file /w/nginx.conf syntax is ok\n").unwrap(), ["odd"]);
    }
}
