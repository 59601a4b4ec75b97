//! TUNE: keys that are directives of NGINX and nothing else. That NGINX runs with them is what the start of the controller shows.

use e2e::{Case, Controller};

const HOST: &str = "tune.example.com";

/// A controller that serves [`HOST`] with these settings, and its configuration.
async fn serving(case: &Case, settings: &[(&str, &str)]) -> anyhow::Result<(Controller, String)> {
    case.settings(settings).await?;
    case.serve(HOST).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    let conf = controller.nginx_conf()?;
    Ok((controller, conf))
}

/// The configuration with these settings has this text.
async fn check(id: &str, settings: &[(&str, &str)], expected: &str) -> anyhow::Result<()> {
    let case = Case::new(id).await?;
    let _servers = case.echo(1).await?;
    let (_controller, conf) = serving(&case, settings).await?;
    assert!(conf.contains(expected), "{settings:?} without {expected:?}: {conf}");
    Ok(())
}

macro_rules! texts {
    ($($name:ident $id:literal [$(($key:literal, $value:literal)),*] $expected:literal;)*) => {
        $(#[tokio::test]
        async fn $name() -> anyhow::Result<()> {
            check($id, &[$(($key, $value)),*], $expected).await
        })*
    };
}

texts! {
    tune_02_files_are_written_by_threads "tune-02" [] " aio_write on;";
    tune_03_or_not "tune-03" [("enable-aio-write", "false")] " aio_write off;";
    tune_05_bucket_of_server_names "tune-05" [("server-name-hash-bucket-size", "512")] " server_names_hash_bucket_size 512;";
    tune_06_bucket_of_headers "tune-06" [("proxy-headers-hash-bucket-size", "512")] " proxy_headers_hash_bucket_size 512;";
    tune_07_bucket_of_variables "tune-07" [("variables-hash-bucket-size", "512")] " variables_hash_bucket_size 512;";
    tune_08_size_of_variables "tune-08" [("variables-hash-max-size", "512")] " variables_hash_max_size 512;";
    tune_09_keep_alive "tune-09" [("keep-alive", "140")] " keepalive_timeout 140s;";
    tune_10_connections_to_endpoints "tune-10" [("upstream-keepalive-connections", "128")] " keepalive 128;";
    tune_11_their_age "tune-11" [("upstream-keepalive-time", "75s")] " keepalive_time 75s;";
    tune_12_their_requests "tune-12" [("upstream-keepalive-requests", "200")] " keepalive_requests 200;";
    tune_13_accepts_many_at_once "tune-13" [] " multi_accept on;";
    tune_14_or_not "tune-14" [("enable-multi-accept", "false")] " multi_accept off;";
    tune_15_a_socket_for_each_worker "tune-15" [] " reuseport";
    tune_16_also_when_it_is_asked_for "tune-16" [("reuse-port", "true")] " reuseport";
    tune_processors_of_workers "tune-cpus" [("worker-cpu-affinity", "auto")] " worker_cpu_affinity auto;";
    tune_connections_in_the_error_log "tune-debug" [("debug-connections", "198.51.100.7,2001:db8::/32")] " debug_connection 198.51.100.7; debug_connection 2001:db8::/32;";
    tune_buckets_of_maps "tune-maps" [("map-hash-bucket-size", "256")] " map_hash_bucket_size 256;";
    tune_connections_of_a_worker "tune-connections" [("max-worker-connections", "1234")] " worker_connections 1234;";
    tune_streams_of_http2 "tune-http2" [("http2-max-concurrent-streams", "77")] " http2_max_concurrent_streams 77;";
    tune_size_of_headers "tune-headers" [("proxy-headers-hash-max-size", "1024")] " proxy_headers_hash_max_size 1024;";
    tune_size_of_server_names "tune-names" [("server-name-hash-max-size", "8192")] " server_names_hash_max_size 8192;";
    tune_idle_connections_to_endpoints "tune-idle" [("upstream-keepalive-timeout", "17")] " keepalive_timeout 17s;";
    tune_records_of_tls "tune-records" [("ssl-buffer-size", "16k")] " ssl_buffer_size 16k;";
    tune_groups_of_tls "tune-groups" [("ssl-ecdh-curve", "X25519")] " ssl_ecdh_curve X25519;";
    tune_tickets_of_tls "tune-tickets" [("ssl-session-tickets", "true")] " ssl_session_tickets on;";
    tune_waits_for_clients "tune-waits" [("client-header-timeout", "11"), ("client-body-timeout", "12")] " client_header_timeout 11s; client_body_timeout 12s;";
}

#[tokio::test]
async fn tune_04_open_files_are_the_limit_less_a_thousand() -> anyhow::Result<()> {
    let case = Case::new("tune-04").await?;
    let _servers = case.echo(1).await?;
    let (controller, conf) = serving(&case, &[]).await?;
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", controller.nginx_pid()?))?;
    let files = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap_or_default();
    let hard: u64 = files.split_whitespace().nth(1).unwrap_or_default().parse()?;
    assert!(conf.contains(&format!(" worker_rlimit_nofile {};", hard - 1024)), "{hard}: {conf}");
    Ok(())
}

#[tokio::test]
async fn default_type_is_that_of_answers_of_nginx_itself() -> anyhow::Result<()> {
    let case = Case::new("tune-default-type").await?;
    let _servers = case.echo(1).await?;
    let snippet = "location = /own { return 200 own; }";
    let settings = [("default-type", "text/x-own"), ("server-snippet", snippet)];
    let (controller, _) = serving(&case, &settings).await?;
    let response = controller.get(HOST, "/own").await?;
    assert_eq!((response.status, response.header("content-type")), (200, Some("text/x-own")));
    Ok(())
}

#[tokio::test]
async fn max_worker_open_files_is_the_limit_of_each_worker() -> anyhow::Result<()> {
    let case = Case::new("tune-files").await?;
    let _servers = case.echo(1).await?;
    let (controller, _) = serving(&case, &[("max-worker-open-files", "1717")]).await?;
    let workers = testkit::processes::workers(&controller.work_dir().join("nginx.conf"));
    assert!(!workers.is_empty());
    for worker in workers {
        let limits = std::fs::read_to_string(format!("/proc/{worker}/limits"))?;
        let files = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap_or_default();
        assert_eq!(files.split_whitespace().next(), Some("1717"), "{files}");
    }
    Ok(())
}

#[tokio::test]
async fn keys_without_effect_are_accepted() -> anyhow::Result<()> {
    let case = Case::new("tune-idle-keys").await?;
    let _servers = case.echo(1).await?;
    let settings = [("http2-max-field-size", "8k"), ("http2-max-header-size", "32k"), ("http2-max-requests", "1000")];
    let (controller, conf) = serving(&case, &settings).await?;
    assert!(!conf.contains("http2_max_field_size") && !controller.log().contains("http2-max-"), "{}", controller.log());
    Ok(())
}
