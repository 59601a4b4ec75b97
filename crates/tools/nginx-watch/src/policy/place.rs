//! Paths in directives that the master follows with its own rights: it opens logs, reads includes, makes directories and gives them to the workers.

use std::path::{Component, Path};

use ngx_value::directives::Paths;
use ngx_value::lexer::Directive;

/// Shared files of parameters, which all may include from where NGINX has them.
const SHARED: [&str; 7] = ["mime.types", "fastcgi_params", "fastcgi.conf", "uwsgi_params", "scgi_params", "proxy_params", "koi-utf"];
/// The directories in which NGINX has them.
const OWN: [&str; 3] = ["/etc/nginx", "/usr/local/nginx/conf", "/usr/local/openresty/nginx/conf"];
/// The directories in which logs may be.
const LOGS: [&str; 2] = ["/var/log/nginx/", "logs/"];
/// The directories in which caches and temporary files may be: those that only NGINX and its administrators write. Elsewhere a link could stand in their place,
/// and what it leads to be given to the workers.
const CACHES: [&str; 2] = ["/var/cache/nginx/", "/var/lib/nginx/"];

/// The reason why a directive with this path is refused. `to` is the directory of the files.
pub(super) fn refuses(paths: Paths, directive: &Directive, to: &Path) -> Option<String> {
    let path = directive.arguments().next()?;
    match paths {
        Paths::Includes if !may_include(path, to) => {
            Some(format!("{path:?} is neither below {} nor a *.conf file or one of the shared parameters", to.display()))
        }
        Paths::Logs if !may_log(path) => Some(format!("{path:?} is neither below {} nor a stream", LOGS.join(" or "))),
        Paths::Caches if !(is_plain(path) && below(path, &CACHES)) => Some(format!("{path:?} is not below {}", CACHES.join(", "))),
        _ => None,
    }
}

fn may_include(path: &str, to: &Path) -> bool {
    let own = Path::new(path).starts_with(to);
    let is_shared = |name: &str| SHARED.contains(&name);
    let shared =
        is_shared(path) || OWN.iter().any(|own| path.strip_prefix(own).and_then(|rest| rest.strip_prefix('/')).is_some_and(is_shared));
    is_plain(path) && (own || shared || is_relative(path) && path.ends_with(".conf"))
}

fn may_log(path: &str) -> bool {
    let stream = ["off", "stderr", "/dev/stdout", "/dev/stderr", "/dev/null"].contains(&path)
        || path.starts_with("syslog:")
        || path.starts_with("memory:");
    stream || is_plain(path) && below(path, &LOGS)
}

/// Without `..`.
fn is_plain(path: &str) -> bool {
    !Path::new(path).components().any(|part| part == Component::ParentDir)
}

fn is_relative(path: &str) -> bool {
    !path.starts_with('/')
}

fn below(path: &str, directories: &[&str]) -> bool {
    directories.iter().any(|directory| path.strip_prefix(directory).is_some_and(|rest| !rest.trim_matches('/').is_empty()))
}
