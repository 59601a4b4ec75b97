//! Files that other users write: checked, tested, swapped in, and put back.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};

use crate::bed::{Bed, holds, is_root, until};

/// Another program writes into `from`; NGINX reads `conf.d`.
async fn staged(more: &[&str]) -> Bed {
    let mut bed = Bed::new();
    fs::create_dir(bed.path("from")).unwrap();
    fs::write(bed.path("from/site.conf"), bed.site("v0")).unwrap();
    bed.start_nginx().await;
    let text = |name: &str| bed.path(name).display().to_string();
    let (from, to, pid) = (text("from"), text("conf.d"), text("nginx.pid"));
    let mut arguments = vec!["watch", "--from", &from, "--to", &to, "--pid-file", &pid];
    arguments.extend(more);
    bed.spawn_watch(&arguments).await;
    bed
}

fn installed(bed: &Bed) -> String {
    fs::read_to_string(bed.path("conf.d/site.conf")).unwrap()
}

#[tokio::test]
async fn good_files_are_swapped_in_and_bad_ones_never_get_there() {
    let bed = staged(&[]).await;
    let error = bed.path("from/nginx_error_output");
    fs::write(bed.path("from/site.conf"), bed.site("v1")).unwrap();
    bed.serves("v1").await;
    let status = bed.result("applied").await;
    if is_root() {
        assert_eq!(status["tested"], "exact", "{}", bed.logs());
    }
    let good = installed(&bed);
    assert_eq!(good, bed.site("v1"));

    fs::write(bed.path("from/site.conf"), "nonsense on;\n").unwrap();
    until("the error file", || holds(&error, "unknown directive \"nonsense\"")).await;
    assert!(holds(&error, "site.conf:1"), "{}", fs::read_to_string(&error).unwrap());
    assert_eq!(installed(&bed), good);
    assert_eq!(bed.body("/").await.unwrap(), "v1");
    assert!(!holds(&bed.path("error.log"), "nonsense"), "{}", bed.logs());

    // A second file, and the first one gone.
    fs::remove_file(bed.path("from/site.conf")).unwrap();
    fs::write(bed.path("from/other.conf"), bed.site("v2")).unwrap();
    bed.serves("v2").await;
    until("the error file is gone", || !error.exists()).await;
    assert!(!bed.path("conf.d/site.conf").exists() && bed.path("conf.d/other.conf").exists());
}

#[tokio::test]
async fn directives_that_reach_beyond_serving_are_refused_before_nginx_sees_them() {
    let bed = staged(&["--deny-directive", "autoindex"]).await;
    let error = bed.path("from/nginx_error_output");
    let server = |text: &str| bed.site("v1").replace("location / {", &format!("{text} location / {{"));
    for (text, refused) in [
        ("autoindex on;", "\"autoindex\" is not allowed here: by --deny-directive autoindex; --allow-directive autoindex allows it"),
        ("include /etc/shadow;", "include \"/etc/shadow\" is neither below"),
        ("access_log /etc/cron.d/x;", "access_log \"/etc/cron.d/x\""),
        ("client_body_temp_path /tmp/x;", "client_body_temp_path \"/tmp/x\" is not below /var/cache/nginx/"),
        (
            "access_by_lua_block { os.exit() }",
            "\"access_by_lua_block\" is not allowed here: --allow-directive access_by_lua_block allows it",
        ),
    ] {
        fs::write(bed.path("from/site.conf"), server(text)).unwrap();
        until(refused, || holds(&error, refused)).await;
        // With the line, and without a trace of the contents of other files.
        assert!(fs::read_to_string(&error).unwrap().starts_with("site.conf:1: "), "{}", fs::read_to_string(&error).unwrap());
        assert!(!installed(&bed).contains(text));
    }
    fs::write(bed.path("from/site.conf"), server("# user root;")).unwrap();
    bed.status("a comment is no directive", |status| status["result"] == "rejected" || status["result"] == "applied").await;
    fs::write(bed.path("from/site.conf"), bed.site("v2")).unwrap();
    bed.serves("v2").await;
}

#[tokio::test]
async fn what_nginx_does_not_take_is_put_back() {
    let bed = staged(&[]).await;
    fs::write(bed.path("from/site.conf"), bed.site("v1")).unwrap();
    bed.serves("v1").await;
    let good = installed(&bed);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    fs::write(bed.path("from/more.conf"), format!("server {{ listen 127.0.0.1:{port}; }}\n")).unwrap();
    let status = bed.result("failed").await;
    assert!(status["message"].as_str().unwrap().ends_with("the old files were put back"), "{status:#}");
    assert_eq!(installed(&bed), good);
    assert!(!bed.path("conf.d/more.conf").exists());
    assert!(holds(&bed.path("from/nginx_error_output"), &format!("bind() to 127.0.0.1:{port} failed")));
    // A restart finds what serves.
    assert_eq!(bed.body("/").await.unwrap(), "v1");
}

#[tokio::test]
async fn a_link_out_of_the_directory_gets_nothing_read_and_nothing_of_it_is_quoted() {
    let bed = staged(&[]).await;
    let error = bed.path("from/nginx_error_output");
    fs::create_dir(bed.path("private")).unwrap();
    fs::write(bed.path("private/key"), "top-secret nonsense;\n").unwrap();
    for (name, target) in [("evil.conf", "../private/key"), ("evil", "../private"), ("evil.conf", "/proc/self/environ")] {
        symlink(target, bed.path("from").join(name)).unwrap();
        until("the link is named", || holds(&error, &format!("from/{name} can't be read"))).await;
        let text =
            fs::read_to_string(&error).unwrap() + &bed.status("the link", |status| status["result"] == "unreadable").await.to_string();
        assert!(text.contains("links may only lead to files in the directory"), "{text}");
        assert!(!text.contains("secret") && !text.contains("private/key"), "{text}");
        fs::remove_file(bed.path("from").join(name)).unwrap();
        until("it is over", || !error.exists()).await;
    }
    assert_eq!(fs::read_dir(bed.path("conf.d")).unwrap().count(), 1);
    // The swap of a volume goes on.
    fs::create_dir(bed.path("from/..2026_1")).unwrap();
    fs::rename(bed.path("from/site.conf"), bed.path("from/..2026_1/site.conf")).unwrap();
    fs::write(bed.path("from/..2026_1/site.conf"), bed.site("v1")).unwrap();
    symlink("..2026_1", bed.path("from/..data")).unwrap();
    symlink("..data/site.conf", bed.path("from/site.conf")).unwrap();
    bed.serves("v1").await;
}

#[tokio::test]
async fn who_writes_the_files_can_t_have_others_written_or_change_what_was_tested() {
    let bed = staged(&[]).await;
    let (precious, error) = (bed.path("precious"), bed.path("from/nginx_error_output"));
    fs::write(&precious, "precious\n").unwrap();
    for name in ["nginx_error_output", "..nginx_error_output"] {
        symlink(&precious, bed.path("from").join(name)).unwrap();
    }
    fs::write(bed.path("from/site.conf"), "nonsense on;\n").unwrap();
    until("the error file", || !error.is_symlink() && holds(&error, "unknown directive")).await;
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious\n");

    fs::write(bed.path("from/site.conf"), bed.site("v1")).unwrap();
    fs::set_permissions(bed.path("from/site.conf"), Permissions::from_mode(0o666)).unwrap();
    if is_root() {
        chown(bed.path("from/site.conf"), Some(65534), Some(65534)).unwrap();
    }
    bed.serves("v1").await;
    let metadata = fs::metadata(bed.path("conf.d/site.conf")).unwrap();
    assert_eq!((metadata.uid(), metadata.mode() & 0o777), (fs::metadata(&precious).unwrap().uid(), 0o644));
}
