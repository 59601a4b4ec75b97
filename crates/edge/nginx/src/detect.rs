//! Capabilities of the NGINX and the machine at hand: detected once, when the program starts.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv6Addr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::{Group, Pid, Uid, User};
use render::Capabilities;
use rustix::process::{Resource, getrlimit};
use tokio::process::Command;

/// Oldest version that the configuration is written for (Debian 12).
const OLDEST: (u32, u32, u32) = (1, 22, 0);
/// Users whom distributions make for NGINX.
const WORKER_USERS: [&str; 3] = ["www-data", "nginx", "nobody"];
/// Modules without which nothing works, with the Debian package that has them.
const REQUIRED: [(&str, &str); 2] = [("ndk_http_module", "libnginx-mod-http-ndk"), ("ngx_http_lua_module", "libnginx-mod-http-lua")];

/// There is no NGINX that can be used. Nothing changes by trying again.
#[derive(Debug, thiserror::Error)]
pub enum DetectError {
    /// No binary.
    #[error("no nginx in {looked}: install the Debian packages nginx and libnginx-mod-http-lua")]
    NotFound {
        /// The directory that was searched.
        looked: String,
    },
    /// The binary does not run.
    #[error("{binary:?} -V could not be run")]
    Spawn {
        /// The binary.
        binary: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The binary is something else.
    #[error("{binary:?} -V was expected to answer \"nginx version: nginx/...\", it answers {answer:?}")]
    NotNginx {
        /// The binary.
        binary: PathBuf,
        /// The first line of its answer.
        answer: String,
    },
    /// The binary is too old.
    #[error("{binary:?} is NGINX {}.{}.{}: {}.{} or newer was expected, as in Debian 12", version.0, version.1, version.2, OLDEST.0, OLDEST.1)]
    TooOld {
        /// The binary.
        binary: PathBuf,
        /// Its version.
        version: (u32, u32, u32),
    },
    /// A module is missing.
    #[error("NGINX has no module {module} in {directory:?}: install the Debian package {package}")]
    ModuleMissing {
        /// File stem of the module.
        module: &'static str,
        /// The directory that was searched.
        directory: PathBuf,
        /// The package that has it.
        package: &'static str,
    },
}

/// The binary to run: this one, else the first `nginx` in `PATH`, `/usr/sbin` and `/usr/local/sbin`.
pub fn find_binary(binary: Option<&Path>) -> Result<PathBuf, DetectError> {
    if let Some(binary) = binary {
        let found = is_executable(binary).then(|| binary.to_owned());
        return found.ok_or_else(|| DetectError::NotFound { looked: binary.display().to_string() });
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Ordinary users often have no sbin in their PATH.
    let directories = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    let found = directories.map(|directory| directory.join("nginx")).find(|file| is_executable(file));
    found.ok_or_else(|| DetectError::NotFound { looked: "PATH, /usr/sbin and /usr/local/sbin".to_owned() })
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Asks the binary for its version and modules, and the machine for what the configuration depends on.
pub async fn detect(binary: Option<&Path>) -> Result<Capabilities, DetectError> {
    let binary = find_binary(binary)?;
    let output = Command::new(&binary).arg("-V").stdin(Stdio::null()).kill_on_drop(true).output().await;
    let output = output.map_err(|source| DetectError::Spawn { binary: binary.clone(), source })?;
    let text = String::from_utf8_lossy(&output.stderr);
    let first_line = || text.lines().next().unwrap_or_default().to_owned();
    let version = version(&text).ok_or_else(|| DetectError::NotNginx { binary: binary.clone(), answer: first_line() })?;
    if version < OLDEST {
        return Err(DetectError::TooOld { binary, version });
    }
    let modules_dir = PathBuf::from(argument(&text, "--modules-path").unwrap_or("/usr/lib/nginx/modules"));
    let modules = modules(&modules_dir, &text);
    if let Some(&(module, package)) = REQUIRED.iter().find(|(module, _)| !modules.contains(*module)) {
        return Err(DetectError::ModuleMissing { module, directory: modules_dir, package });
    }
    Ok(Capabilities {
        version,
        modules_dir,
        modules,
        bpf: bpf(),
        ipv6: TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok(),
        worker_user: Uid::effective().is_root().then(worker_user).flatten(),
        cpus: cpus(),
        open_files_limit: getrlimit(Resource::Nofile).maximum,
        backlog: read_number("/proc/sys/net/core/somaxconn").unwrap_or(511),
        core_rules: core_rules(),
        name_servers: name_servers(&fs::read_to_string("/etc/resolv.conf").unwrap_or_default()),
    })
}

/// Paths of the OWASP core rule set in images and distributions: a file of includes, or its settings and its rules.
fn core_rules() -> Vec<String> {
    const LAYOUTS: [&[&str]; 2] = [
        &["/etc/nginx/owasp-modsecurity-crs/nginx-modsecurity.conf"],
        &["/etc/modsecurity/crs/crs-setup.conf", "/usr/share/modsecurity-crs/rules/*.conf"],
    ];
    let exists = |file: &&&str| Path::new(file.trim_end_matches("/*.conf")).exists();
    let found = LAYOUTS.into_iter().find(|layout| layout.iter().all(|file| exists(&file)));
    found.unwrap_or_default().iter().map(|file| (*file).to_owned()).collect()
}

/// Reads `nginx version: nginx/1.22.1 (Debian)`; for a derivative, the version of NGINX in it. The dynamic linker may write before it, about
/// a library of `LD_PRELOAD` that does not exist.
fn version(text: &str) -> Option<(u32, u32, u32)> {
    let rest = text.lines().find_map(|line| line.strip_prefix("nginx version: "))?.split_once('/')?.1;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let mut numbers = rest[..end].split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?))
}

fn arguments(text: &str) -> impl Iterator<Item = &str> {
    let line = text.lines().find_map(|line| line.strip_prefix("configure arguments: "));
    line.into_iter().flat_map(str::split_ascii_whitespace)
}

/// The value of `--name=value` among the configure arguments.
fn argument<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    arguments(text).filter_map(|word| word.split_once('=')).find(|(key, _)| *key == name).map(|(_, value)| value.trim_matches('\''))
}

/// Whether `--name` is among them.
fn has_argument(text: &str, name: &str) -> bool {
    arguments(text).any(|word| word == name)
}

/// The dynamic ones, and of those in the binary the one that may be missing there.
fn modules(directory: &Path, text: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let files = entries.filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".so").map(str::to_owned));
    files.chain(has_argument(text, "--with-http_v3_module").then(|| "ngx_http_v3_module".to_owned())).collect()
}

/// Whether this process, and the master that it starts, may have the kernel choose sockets by a program (`quic_bpf`).
fn bpf() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    // What a program that is started keeps: of root all, of others what is ambient.
    let set = if Uid::effective().is_root() { "CapEff:" } else { "CapAmb:" };
    let set = status.lines().find_map(|line| line.strip_prefix(set)).and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
    set.is_some_and(chooses_sockets)
}

/// Reads a set of capabilities (`capabilities(7)`): `CAP_SYS_ADMIN`, or `CAP_BPF` with `CAP_NET_ADMIN`.
fn chooses_sockets(set: u64) -> bool {
    let has = |capability: u32| set & (1 << capability) != 0;
    has(21) || (has(39) && has(12))
}

/// A user for the workers, with the group where it has another name: `nobody:nogroup`.
fn worker_user() -> Option<String> {
    let user = WORKER_USERS.into_iter().find_map(|name| User::from_name(name).ok().flatten())?;
    if !exists("/proc/self/uid_map", user.uid.as_raw()) || !exists("/proc/self/gid_map", user.gid.as_raw()) {
        // An ordinary user's own namespace has one user only, who is root inside and unprivileged outside.
        return Some("root".to_owned());
    }
    let group = Group::from_gid(user.gid).ok().flatten().map(|group| group.name).filter(|group| *group != user.name);
    Some(group.map_or_else(|| user.name.clone(), |group| format!("{}:{group}", user.name)))
}

/// Whether our user namespace has this id. Without the file there are no such namespaces.
fn exists(map: &str, id: u32) -> bool {
    fs::read_to_string(map).map_or(true, |map| maps(&map, id))
}

/// Reads lines `<first id inside> <first id outside> <how many>`.
fn maps(map: &str, id: u32) -> bool {
    let holds = |line: &str| {
        let mut numbers = line.split_ascii_whitespace().map(str::parse::<u32>);
        let (first, _, count) = (numbers.next()?.ok()?, numbers.next()?, numbers.next()?.ok()?);
        Some(id.checked_sub(first)? < count)
    };
    map.lines().any(|line| holds(line).unwrap_or(false))
}

/// Processors that we may run on; fewer where a control group limits their time.
fn cpus() -> u32 {
    let allowed = sched_getaffinity(Pid::from_raw(0)).ok();
    let allowed = allowed.map(|set| (0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap_or(false)).count() as u32);
    let group = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let quota = quota_v2(&group).into_iter().chain(quota_v1()).min();
    allowed.unwrap_or(1).min(quota.unwrap_or(u32::MAX)).max(1)
}

/// The tightest quota of our control group and its ancestors (cgroup v2).
fn quota_v2(groups: &str) -> Option<u32> {
    let path = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let root = Path::new("/sys/fs/cgroup");
    let files = root
        .join(path)
        .ancestors()
        .take_while(|directory| directory.starts_with(root))
        .map(|directory| directory.join("cpu.max"))
        .collect::<Vec<_>>();
    files.into_iter().filter_map(|file| cpu_max(&fs::read_to_string(file).ok()?)).min()
}

/// Reads `150000 100000` (microseconds of time per period) as 2 processors; `max 100000` is no limit.
fn cpu_max(text: &str) -> Option<u32> {
    let (quota, period) = text.trim().split_once(' ')?;
    ratio(quota.parse().ok()?, period.parse().ok()?)
}

fn quota_v1() -> Option<u32> {
    let directory = Path::new("/sys/fs/cgroup/cpu");
    ratio(read_number(directory.join("cpu.cfs_quota_us"))?, read_number(directory.join("cpu.cfs_period_us"))?)
}

fn ratio(quota: i64, period: i64) -> Option<u32> {
    (quota > 0 && period > 0).then(|| u32::try_from((quota as u64).div_ceil(period as u64)).unwrap_or(u32::MAX))
}

fn read_number<T: std::str::FromStr>(path: impl AsRef<Path>) -> Option<T> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// The `nameserver` lines of a `resolv.conf`, without link-local scopes, which NGINX doesn't know.
fn name_servers(text: &str) -> Vec<IpAddr> {
    let value = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        (words.next()? == "nameserver").then_some(())?;
        words.next()?.parse().ok()
    };
    text.lines().filter_map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_of_the_binary_is_read() {
        let text = "nginx version: nginx/1.26.3 (Debian)\nbuilt by gcc\nconfigure arguments: --with-cc-opt='-g -O2' --prefix=/usr/share/nginx --modules-path=/usr/lib/nginx/modules --with-compat\n";
        assert_eq!(version(text), Some((1, 26, 3)));
        assert_eq!(argument(text, "--modules-path"), Some("/usr/lib/nginx/modules"));
        assert_eq!(argument(text, "--with-compat"), None);
        assert_eq!(version("nginx version: openresty/1.25.3.1"), Some((1, 25, 3)));
        let preload = "ERROR: ld.so: object '/x.so' from LD_PRELOAD cannot be preloaded (cannot open shared object file): ignored.\n";
        assert_eq!(version(&format!("{preload}{text}")), Some((1, 26, 3)));
        assert_eq!(version("Apache/2.4"), None);
    }

    #[test]
    fn users_outside_a_user_namespace_are_no_users_of_workers() {
        let whole = "         0          0 4294967295\n";
        let own = "         0       1000          1\n";
        let container = "0 100000 1000\n1000 1000 1\n";
        assert_eq!([maps(whole, 33), maps(own, 33), maps(own, 0)], [true, false, true]);
        assert_eq!([maps(container, 33), maps(container, 1000), maps(container, 65_534)], [true, true, false]);
    }

    #[test]
    fn a_quota_is_rounded_up() {
        assert_eq!(cpu_max("150000 100000\n"), Some(2));
        assert_eq!(cpu_max("50000 100000\n"), Some(1));
        assert_eq!(cpu_max("max 100000\n"), None);
        assert_eq!(ratio(-1, 100_000), None);
        assert!(cpus() >= 1);
    }

    #[test]
    fn name_servers_are_read() {
        let text = "# comment\nsearch a b\nnameserver 10.0.0.2\nnameserver ::1\nnameserver fe80::1%eth0\noptions ndots:5\n";
        assert_eq!(name_servers(text), ["10.0.0.2".parse::<IpAddr>().unwrap(), "::1".parse().unwrap()]);
    }

    #[tokio::test]
    async fn what_is_missing_is_named_with_its_package() {
        let error = detect(Some(Path::new("/nonexistent/nginx"))).await.unwrap_err();
        assert_eq!(error.to_string(), "no nginx in /nonexistent/nginx: install the Debian packages nginx and libnginx-mod-http-lua");
        let error = detect(Some(Path::new("/bin/true"))).await.unwrap_err();
        assert!(error.to_string().contains("\"nginx version: nginx/...\""), "{error}");
        let dir = tempfile::tempdir().unwrap();
        let fake = |text: &str| {
            let path = dir.path().join(format!("nginx-{}", text.len()));
            fs::write(&path, format!("#!/bin/sh\nprintf '{text}' >&2\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let old = detect(Some(&fake("nginx version: nginx/1.18.0\\n"))).await.unwrap_err();
        assert!(old.to_string().contains("is NGINX 1.18.0: 1.22 or newer was expected"), "{old}");
        let bare = fake("nginx version: nginx/1.26.3\\nconfigure arguments: --modules-path=/nonexistent\\n");
        let bare = detect(Some(&bare)).await.unwrap_err();
        assert!(bare.to_string().contains("install the Debian package libnginx-mod-http"), "{bare}");
    }
}
