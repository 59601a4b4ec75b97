//! What a container of the image does.

use std::fs;

use testkit::manifests::redirect;

use crate::container::{Container, DEFAULTS, Settings};

/// Flags as the predecessor's chart has them, and a directory instead of a cluster.
const ARGUMENTS: &[&str] = &[
    "/nginx-ingress-controller",
    "--manifests=/usr/local/certificates",
    "--election-id=ingress-nginx-leader",
    "--controller-class=k8s.io/ingress-nginx",
    "--ingress-class=nginx",
    "--configmap=ingress-nginx/ingress-nginx-controller",
];
const SHELLS: &[&str] = &["/usr/bin/dash", "/usr/bin/bash"];

fn settings() -> Settings<'static> {
    Settings { arguments: ARGUMENTS, ..DEFAULTS }
}

fn manifest() -> String {
    redirect("a", "https://one.example.com")
}

/// A field of `/proc/PID/status`.
fn field(pid: i32, name: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_ascii_whitespace().next().unwrap().to_owned()
}

#[tokio::test]
async fn port_80_is_served_by_user_101_who_can_gain_nothing_with_a_read_only_root() {
    let mut container = Container::start(&Settings { env: &["LD_PRELOAD=/usr/local/lib/libmimalloc.so"], ..settings() }, &manifest());
    assert_eq!(container.answer("a.example.com").await.header("location"), Some("https://one.example.com"));
    let processes = container.processes();
    let masters: Vec<i32> = processes.iter().filter(|(_, title)| title.starts_with("nginx: master")).map(|(pid, _)| *pid).collect();
    let [master] = masters[..] else { panic!("{processes:?}") };
    let rights = ["Uid:", "Gid:", "NoNewPrivs:", "CapPrm:", "CapBnd:"].map(|name| field(master, name));
    assert_eq!(rights, ["101", "82", "1", "0000000000000400", "0000000000000400"]);
    // Everything is in the work directory.
    assert!(container.path("work/nginx.conf").exists() || container.path("work/run").exists(), "{}", container.log());
    assert_eq!(fs::read_dir(container.path("tmp")).unwrap().count(), 0);

    // The tools find it by themselves.
    let general = container.exec(&["/dbg", "general"]);
    assert!(String::from_utf8_lossy(&general.stdout).contains("\"revision\""), "{}", String::from_utf8_lossy(&general.stderr));
    // It is the first process: with its end the hook ends, too.
    container.exec(&["/wait-shutdown"]);
    assert_eq!(container.ended(), Some(0), "{}", container.log());
    let log = container.log();
    for fault in ["Read-only file system", "ermission denied", " ERROR "] {
        assert!(!log.contains(fault), "{fault}: {log}");
    }
}

#[tokio::test]
async fn without_a_shell_and_without_a_work_directory_everything_is_below_tmp() {
    let mut container = Container::start(&Settings { work_dir: false, without: SHELLS, ..settings() }, &manifest());
    assert_eq!(container.answer("a.example.com").await.header("location"), Some("https://one.example.com"));
    assert!(!container.exec(&["/bin/sh", "-c", "true"]).status.success());
    assert!(container.path("tmp/narthex-101/run").exists(), "{}", container.log());
    let conf = container.exec(&["/dbg", "conf"]);
    assert!(String::from_utf8_lossy(&conf.stdout).contains("http {"), "{}", String::from_utf8_lossy(&conf.stderr));
    // A change that needs a reload, and what is found out for it.
    let text = manifest().replace("spec:", "    nginx.ingress.kubernetes.io/proxy-buffer-size: 13k\nspec:").replace("one.", "two.");
    fs::write(container.path("manifests/manifest.yaml"), text).unwrap();
    container
        .until(|| async {
            let answer = container.answer("a.example.com").await;
            anyhow::ensure!(answer.header("location") == Some("https://two.example.com"), "{:?}", answer.headers);
            anyhow::ensure!(String::from_utf8_lossy(&container.exec(&["/dbg", "conf"]).stdout).contains("13k"), "no reload yet");
            Ok(())
        })
        .await;
    container.exec(&["/wait-shutdown"]);
    assert_eq!(container.ended(), Some(0), "{}", container.log());
}

#[tokio::test]
async fn any_user_may_run_it() {
    let container = Container::start(&Settings { user: (1_000_650_000, 0), ..settings() }, &manifest());
    assert_eq!(container.answer("a.example.com").await.header("location"), Some("https://one.example.com"));
}

#[tokio::test]
async fn every_module_that_settings_ask_for_is_there() {
    let config = "---
apiVersion: v1
kind: ConfigMap
metadata: {name: ingress-nginx-controller, namespace: ingress-nginx}
data: {enable-modsecurity: 'true', enable-owasp-modsecurity-crs: 'true'}
";
    let arguments: Vec<&str> = ARGUMENTS.iter().copied().chain(["--enable-ssl-passthrough"]).collect();
    let container = Container::start(&Settings { arguments: &arguments, ..settings() }, &format!("{}{config}", manifest()));
    assert_eq!(container.answer("a.example.com").await.header("location"), Some("https://one.example.com"));
    let conf = String::from_utf8_lossy(&container.exec(&["/dbg", "conf"]).stdout).into_owned();
    for module in ["ngx_http_modsecurity_module", "ngx_stream_js_module", "ngx_http_headers_more_filter_module"] {
        assert!(conf.contains(module), "{module}: {conf}\n{}", container.log());
    }
}

#[tokio::test]
async fn orphans_of_commands_in_the_container_are_waited_for() {
    let container = Container::start(&settings(), &manifest());
    container.answer("a.example.com").await;
    // The shell ends before its child, which the first process inherits.
    assert!(container.exec(&["/bin/sh", "-c", "sleep 0.1 & exit 0"]).status.success());
    container
        .until(|| async {
            let left = container.processes().into_iter().filter(|(pid, _)| ngx_proc::procfs::identity(*pid).is_none()).count();
            let sleeping = container.processes().iter().any(|(_, title)| title.starts_with("sleep"));
            anyhow::ensure!(left == 0 && !sleeping, "{left} dead processes");
            Ok(())
        })
        .await;
}
