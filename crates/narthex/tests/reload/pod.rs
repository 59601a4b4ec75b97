//! As in a Pod with two containers: one PID namespace, and for NGINX mounts, a root and a program of its own.

use std::fs::{self, File};
use std::process::{Command, Stdio};

use testkit::poll;

use crate::bed::{Bed, LIMIT, Running, is_root};

/// The first process of the Pod. What NGINX's container has: the volume at another path, and its program where no other container has one.
const POD: &str = r#"
set -e
dir=$1 narthex=$2; shift 2
unshare --mount sh -ec '
  dir=$1; shift
  mount --bind "$dir/conf.d" "$dir/mounted"
  mount --rbind / "$dir/root"
  mount -t tmpfs own "$dir/root$dir/bin"
  cp "$(command -v nginx)" "$dir/root$dir/bin/nginx"
  exec $CONTAINER chroot "$dir/root" "$dir/bin/nginx" "$@"' sh "$dir" "$@" &
$SIDECAR "$narthex" watch --config-dir "$dir/conf.d" --status-file "$dir/status.json" 2>>"$dir/narthex.log" &
wait
"#;

/// The capabilities that a container runtime leaves to root.
const USUAL: &str =
    "setpriv --bounding-set=-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+net_bind_service,+sys_chroot";

/// A Pod whose sidecar has these capabilities beside the usual ones. `None`: that is not permitted here.
async fn pod(bed: &Bed, more: &str) -> Option<Running> {
    let try_it = format!("unshare --mount {USUAL} true");
    let may = Command::new("unshare").args(["--pid", "--fork", "--mount-proc", "sh", "-c", &try_it]).stderr(Stdio::null()).status();
    if !is_root() || !may.is_ok_and(|status| status.success()) {
        return None;
    }
    for directory in ["root", "mounted", "bin"] {
        fs::create_dir(bed.path(directory)).unwrap();
    }
    let main = fs::read_to_string(bed.path("nginx.conf")).unwrap().replace("/conf.d/*", "/mounted/*");
    fs::write(bed.path("nginx.conf"), main).unwrap();
    let log = File::create(bed.path("nginx.out")).unwrap();
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", POD, "sh"]);
    command.arg(bed.path("")).arg(env!("CARGO_BIN_EXE_narthex")).args(&bed.nginx_command()[1..]);
    command
        .env("CONTAINER", USUAL)
        .env("SIDECAR", format!("{USUAL}{more}"))
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log);
    let pod = Running(command.spawn().unwrap());
    if let Err(error) = poll(LIMIT, || bed.body("/")).await {
        panic!("{error:#}\n{}", bed.logs());
    }
    bed.status("the sidecar has found NGINX", |status| !status["serving"].is_null()).await;
    assert_eq!(fs::read_dir(bed.path("bin")).unwrap().count(), 0, "the program of NGINX is in its own container only");
    Some(pod)
}

/// A change is followed, and a broken one refused in the words of NGINX, with its own paths.
async fn follows(bed: &Bed, tested: &str) {
    assert_eq!(bed.change("v1").await["tested"], tested, "{}", bed.logs());
    fs::write(bed.path("conf.d/broken.conf"), "nonsense on;\n").unwrap();
    let status = bed.result("rejected").await;
    let message = status["message"].as_str().unwrap();
    assert!(message.contains("unknown directive \"nonsense\"") && message.contains("/mounted/broken.conf:1"), "{message}");
    assert_eq!((status["tested"].as_str(), bed.body("/").await.unwrap().as_str()), (Some(tested), "v1"));
    fs::write(bed.path("conf.d/broken.conf"), "# repaired\n").unwrap();
    bed.change("v2").await;
}

#[tokio::test]
async fn a_sidecar_tests_with_the_program_of_the_other_container() {
    let bed = Bed::new();
    let Some(_pod) = pod(&bed, ",+sys_admin").await else { return };
    follows(&bed, "exact").await;
}

#[tokio::test]
async fn a_sidecar_with_the_usual_capabilities_tests_in_place() {
    let bed = Bed::new();
    let Some(_pod) = pod(&bed, "").await else { return };
    follows(&bed, "in-place").await;
}
