//! The end of an `nginx -t` in terms of the work directory and of the flags that set ports.

use std::collections::BTreeMap;
use std::path::Path;

use ngx_proc::log;
use ngx_proc::verdict::TestVerdict;
use render::Paths;

use crate::confirm::bind_error;
use crate::error::{ApplyError, Complaint};
use crate::process::Tested;

/// The warnings of a test that accepts, or what its end proves. `staged`: the path under which the configuration was tested.
pub(crate) fn judge(tested: &Tested, staged: &Path, paths: &Paths, flags: &BTreeMap<u16, &'static str>) -> Result<Vec<String>, ApplyError> {
    let stderr = tested.stderr.replace(&staged.display().to_string(), &paths.conf().display().to_string());
    let complaint = |message: &str| {
        let (text, place) = log::place(message);
        let relative = |file| Path::new(file).strip_prefix(&paths.work_dir).unwrap_or(Path::new(file)).display().to_string();
        let (file, line) = place.map_or(("nginx.conf".to_owned(), None), |(file, line)| (relative(file), Some(line)));
        Complaint { message: text.to_owned(), file, line, stderr: stderr.clone() }
    };
    match ngx_proc::verdict::judge(tested.status, &stderr) {
        TestVerdict::Accepted { warnings } => Ok(warnings),
        TestVerdict::Refused(message) => Err(ApplyError::Refused(complaint(&message))),
        TestVerdict::Doubtful(message) => {
            let bind = log::bind_failure(&message).and_then(|failure| bind_error(&failure, flags));
            Err(bind.unwrap_or_else(|| ApplyError::Doubtful(complaint(&message))))
        }
        TestVerdict::Failed(why) => Err(ApplyError::TestFailed(why)),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    fn judged(stderr: &str) -> ApplyError {
        let paths = Paths { work_dir: "/w".into() };
        let tested = Tested { status: ExitStatus::from_raw(1 << 8), stderr: stderr.to_owned() };
        judge(&tested, Path::new("/w/nginx.conf.new"), &paths, &BTreeMap::from([(80, "--http-port")])).unwrap_err()
    }

    #[test]
    fn a_place_is_that_of_the_file_that_will_serve() {
        let stderr =
            "nginx: [emerg] unknown directive \"x\" in /w/nginx.conf.new:7\nnginx: configuration file /w/nginx.conf.new test failed\n";
        let ApplyError::Refused(complaint) = judged(stderr) else { panic!() };
        assert_eq!(
            (complaint.message.as_str(), complaint.file.as_str(), complaint.line),
            ("unknown directive \"x\"", "nginx.conf", Some(7))
        );
        assert!(!complaint.stderr.contains(".new"));
    }

    #[test]
    fn a_port_that_can_t_be_opened_names_its_flag() {
        let error = judged("nginx: [emerg] bind() to 0.0.0.0:80 failed (13: Permission denied)\n");
        assert!(matches!(error, ApplyError::PortDenied { port: 80, flag: Some("--http-port"), .. }), "{error}");
    }
}
