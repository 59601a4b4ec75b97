use super::*;

#[track_caller]
fn verdict(annotation: &str, text: &str, allowed: &[&str]) -> Result<(), String> {
    let allowed: Vec<String> = allowed.iter().map(|name| (*name).to_owned()).collect();
    check(annotation, &text.parse().unwrap(), &allowed).map_err(|invalid| invalid.to_string())
}

#[test]
fn what_people_write_in_snippets_is_taken() {
    for text in [
        "more_set_headers \"Foo: Bar\";",
        "add_header X-Test 1 always;",
        "if ($http_x_beta = yes) { return 418; }",
        "rewrite ^/old/(.*)$ /new/$1 permanent;",
        "proxy_set_header X-User $remote_user; proxy_hide_header Server; proxy_buffers 8 16k;",
        "proxy_pass http://127.0.0.1:8080;",
        "set $service_id 1; sub_filter 'a' 'b'; sub_filter_once off;",
        "access_by_lua_block { if ngx.var.arg_x then ngx.exit(403) end }",
        "location = /own { content_by_lua_block { ngx.say('unix:') } header_filter_by_lua_block { } log_by_lua_block { } }",
        "location /download/ { internal; proxy_pass http://files.example.com; }",
        "auth_request /check; auth_request_set $user $upstream_http_x_user;",
        "access_log off;",
        "access_log /dev/stdout upstreaminfo; error_log /dev/stderr debug;",
        "access_log syslog:server=10.0.0.1:514 upstreaminfo;",
        "grpc_ssl_name echo; grpc_ssl_server_name on;",
        "proxy_ssl_trusted_certificate /etc/ssl/certs/ca-certificates.crt; proxy_ssl_verify on;",
        "client_body_in_file_only off; proxy_max_temp_file_size 0; sendfile on;",
        "ssl_verify_client optional; ssl_session_timeout 1d;",
        "# include /etc/passwd;",
    ] {
        for annotation in ["configuration-snippet", "server-snippet", "auth-snippet"] {
            assert_eq!(verdict(annotation, text, &[]), Ok(()), "{text}");
        }
    }
    assert_eq!(verdict("stream-snippet", "server { listen 8000; proxy_pass 127.0.0.1:80; }", &[]), Ok(()));
}

#[test]
fn what_reaches_beyond_its_block_is_refused() {
    for (text, name) in [
        ("load_module /tmp/evil.so;", "load_module"),
        ("\"load_module\" /tmp/evil.so;", "load_module"),
        ("ssl_engine dynamic;", "ssl_engine"),
        ("worker_processes 1;", "worker_processes"),
        ("env SECRET;", "env"),
        ("include /etc/passwd;", "include"),
        ("if ($a) { include /etc/passwd; }", "include"),
        ("location /x { location /y { alias /etc/; } }", "alias"),
        ("root /;", "root"),
        ("access_log /etc/cron.d/evil;", "access_log"),
        ("error_log /tmp/evil debug;", "error_log"),
        ("access_log syslog:server=unix:/run/x;", "access_log"),
        ("access_log offline.log;", "access_log"),
        ("access_log /dev/stdout/../evil;", "access_log"),
        ("access_log $http_x;", "access_log"),
        ("error_log stderr.log;", "error_log"),
        ("proxy_pass $scheme://Unix:/run/control.sock;", "proxy_pass"),
        ("proxy_store /tmp/$uri;", "proxy_store"),
        ("client_body_temp_path /etc/nginx;", "client_body_temp_path"),
        ("dav_methods PUT;", "dav_methods"),
        ("content_by_lua_file /tmp/evil.lua;", "content_by_lua_file"),
        ("auth_basic_user_file /etc/shadow;", "auth_basic_user_file"),
        ("modsecurity_rules_file /etc/passwd;", "modsecurity_rules_file"),
        ("proxy_ssl_certificate_key /certs/other.pem;", "proxy_ssl_certificate_key"),
        ("ssl_certificate_key /certs/other.pem;", "ssl_certificate_key"),
        ("js_content evil.run;", "js_content"),
        ("perl 'sub { }';", "perl"),
        ("log_by_lua_block { }", "log_by_lua_block"),
        ("header_filter_by_lua 'evil()';", "header_filter_by_lua"),
        ("lua_code_cache off;", "lua_code_cache"),
        ("proxy_pass http://unix:/run/control.sock:/live;", "proxy_pass"),
        ("grpc_pass UNIX:/run/control.sock;", "grpc_pass"),
        ("fastcgi_pass \"unix:/run/control.sock\";", "fastcgi_pass"),
        ("set $target unix:/run/control.sock;", "set"),
    ] {
        for annotation in ["configuration-snippet", "server-snippet", "auth-snippet", "stream-snippet"] {
            let message = verdict(annotation, text, &[]).expect_err(text);
            assert!(message.contains(&format!("line 1: {name}: ")), "{message}");
            assert_eq!(verdict(annotation, text, &[name]), Ok(()), "the administrator may allow it");
        }
    }
}

#[test]
fn names_and_ports_are_refused_in_a_server_only() {
    for text in ["server_name other.example.com;", "listen 8443 ssl;"] {
        assert!(verdict("server-snippet", text, &[]).is_err(), "{text}");
        assert_eq!(verdict("stream-snippet", &format!("server {{ {text} }}"), &[]), Ok(()));
    }
}

#[test]
fn the_line_is_that_of_the_directive() {
    let message = verdict("configuration-snippet", "set $a 1;\nif ($a) {\n  root /;\n}\n", &[]).unwrap_err();
    let begin = "expected directives that an Ingress may use, but line 3: root: it serves files of the controller's";
    assert!(message.starts_with(begin), "{message}");
}
