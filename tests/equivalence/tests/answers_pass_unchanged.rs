//! What a backend answers comes to the client as through a plain proxy with the predecessor's directives, unless a setting asks for more.
//!
//! Random answers, with the headers that NGINX treats specially, go through the default profile and through a plain server block, over
//! HTTP and HTTPS, to random requests. What comes must be equal byte for byte.
//!
//! Left out, and why:
//! - The value of `Date`, which is the time.
//!
//! The seed is fixed, so that a failure comes again. `NARTHEX_EQUIVALENCE_SEED` sets another; what fails says which.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::fmt::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use equivalence::plain::Plain;
use equivalence::script::{self, Script};
use equivalence::world::World;
use equivalence::{Dice, answers};
use render::Capabilities;
use testkit::http::{raw, raw_tls};
use testkit::kube::{PathType, mk_ingress};
use testkit::ports::Ports;

const HOST: &str = "a.test";
const SCRIPTS: usize = 3000;
/// How many differences are printed in full.
const SHOWN: usize = 6;

/// The predecessor's settings for a location, as they are without any annotation.
fn plain(dir: &Path, ports: &[u16], backend: SocketAddr, caps: &Capabilities) -> String {
    let user = caps.worker_user.as_ref().map(|user| format!("user {user};")).unwrap_or_default();
    let modules = ["ndk_http_module", "ngx_http_lua_module"].map(|name| format!("load_module {}/{name}.so;", caps.modules_dir.display()));
    let [http, https] = [ports[0], ports[1]];
    let dir = dir.display();
    format!(
        "{user} {}\ndaemon off; pid {dir}/nginx.pid; error_log /dev/null; worker_processes 1; events {{ worker_connections 1024; }}
        http {{
            default_type text/html; access_log off; server_tokens off; server_name_in_redirect off; port_in_redirect off;
            client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy;
            fastcgi_temp_path {dir}/fastcgi; uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi;
            aio threads; aio_write on; tcp_nopush on; tcp_nodelay on; reset_timedout_connection on; keepalive_timeout 75s;
            upstream upstream_balancer {{ server {backend}; keepalive 320; keepalive_timeout 60s; keepalive_requests 10000; }}
            server {{
                listen 127.0.0.1:{http}; listen 127.0.0.1:{https} ssl;
                ssl_certificate {dir}/pair.pem; ssl_certificate_key {dir}/pair.pem;
                # What its script does in every location.
                header_filter_by_lua_block {{
                    ngx.header['Server'] = nil
                    if ngx.var.https == 'on' then
                        ngx.header['Strict-Transport-Security'] = 'max-age=31536000; includeSubDomains'
                    end
                }}
                location / {{
                    client_max_body_size 1m;
                    proxy_set_header Host $http_host; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection '';
                    proxy_connect_timeout 5s; proxy_send_timeout 60s; proxy_read_timeout 60s;
                    proxy_buffering off; proxy_buffer_size 4k; proxy_buffers 4 4k; proxy_max_temp_file_size 1024m;
                    proxy_request_buffering on; proxy_http_version 1.1; proxy_cookie_domain off; proxy_cookie_path off;
                    proxy_next_upstream error timeout; proxy_next_upstream_timeout 0; proxy_next_upstream_tries 3;
                    proxy_pass http://upstream_balancer;
                    proxy_redirect off;
                }}
            }}
        }}",
        modules.join(" ")
    )
}

/// What comes back, without the time.
async fn ask(address: SocketAddr, tls: bool, request: &[u8]) -> String {
    let answer = if tls { raw_tls(address, HOST, request).await } else { raw(address, request).await };
    let text = answer.unwrap_or_else(|error| panic!("{}: {error:#}", request.escape_ascii())).escape_ascii().to_string();
    let lines = text.split_inclusive("\\r\\n").map(|line| if line.starts_with("Date: ") { "Date: now\\r\\n" } else { line });
    lines.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_of_backends_pass_as_through_a_plain_proxy() {
    let seed = std::env::var("NARTHEX_EQUIVALENCE_SEED").map_or(1, |text| text.parse().expect("the seed is a number"));
    let mut dice = Dice::new(seed);
    let ports = Ports::take(2).unwrap();
    let scripts: Arc<Vec<Script>> = Arc::new((0..SCRIPTS).map(|number| answers::script(number, SCRIPTS, &mut dice)).collect());
    let backend = script::start(Arc::clone(&scripts)).unwrap();

    let web = mk_ingress("web").host(HOST).path("/", PathType::Prefix, "web", 80);
    let world = World::new().await.unwrap().service("web", &[backend]).ingress("web", web).serve().await.unwrap();

    let caps = nginx::detect(None).await.unwrap();
    let pair = rcgen::generate_simple_self_signed([HOST.to_owned()]).unwrap();
    let pair = format!("{}{}", pair.cert.pem(), pair.signing_key.serialize_pem());
    let listens = SocketAddr::from((Ipv4Addr::LOCALHOST, ports[0]));
    let conf = |dir: &Path| {
        std::fs::write(dir.join("pair.pem"), pair).unwrap();
        plain(dir, &ports, backend, &caps)
    };
    let _plain = Plain::start(&nginx::find_binary(None).unwrap(), listens, conf).await.unwrap();

    let (mut report, mut differ) = (String::new(), 0);
    for (number, script) in scripts.iter().enumerate() {
        let (request, tls) = (answers::request(number, script, &mut dice), dice.percent(25));
        let here = if tls { world.https() } else { world.http() };
        let there = SocketAddr::from((Ipv4Addr::LOCALHOST, ports[usize::from(tls)]));
        let (ours, theirs) = tokio::join!(ask(here, tls, &request), ask(there, tls, &request));
        if ours != theirs {
            differ += 1;
            if differ <= SHOWN {
                let (request, script) = (request.escape_ascii(), script.bytes.escape_ascii());
                write!(report, "\n{request}\n  tls: {tls}\n  backend: {script}\n  here:  {ours}\n  plain: {theirs}\n").unwrap();
            }
        }
    }
    assert_eq!(differ, 0, "seed {seed}: {differ} of {SCRIPTS} answers differ:\n{report}");
}
