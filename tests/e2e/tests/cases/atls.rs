//! Client certificates.

use anyhow::ensure;
use e2e::{Case, Controller, PATIENCE, Servers, rule};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::networking::v1::Ingress;
use serde_json::{Value, json};
use testkit::echo::Seen;
use testkit::http::{Request, Response};
use testkit::kube::{Authority, Certificate, PathType, mk_authority, mk_ingress, mk_tls_secret};
use testkit::poll;

const HOST: &str = "authtls.foo.com";

/// The set-up: a CA, a Secret of the host's name, and a client.
struct Setting {
    case: Case,
    controller: Controller,
    client: Certificate,
    _authority: Authority,
    _servers: Servers,
}

/// Annotations as a patch of the Ingress; `null` removes one.
fn annotations(values: &[(&str, Option<&str>)]) -> Value {
    let pairs = values.iter().map(|(name, value)| (format!("nginx.ingress.kubernetes.io/{name}"), json!(value)));
    json!({"metadata": {"annotations": serde_json::Map::from_iter(pairs)}})
}

impl Setting {
    async fn new(id: &str, more: &[(&str, &str)]) -> anyhow::Result<Self> {
        let case = Case::new(id).await?;
        let servers = case.echo(1).await?;
        let authority = mk_authority("authtls.foo.com-ca")?;
        let mut secret = mk_tls_secret(HOST, &authority.sign(&[HOST])?);
        let ca = ByteString(authority.certificate_pem.clone().into_bytes());
        secret.data.get_or_insert_default().insert("ca.crt".into(), ca);
        case.create::<Secret>(&secret).await?;
        let ingress =
            more.iter().fold(rule(HOST, HOST), |ingress, (name, value)| ingress.annotation(name, &value.replace("{NS}", case.ns())));
        case.create(&ingress.tls(HOST, HOST).build()).await?;
        let controller = case.controller().start().await?;
        let client = authority.sign(&["authtls.foo.com-client"])?;
        Ok(Self { case, controller, client, _authority: authority, _servers: servers })
    }

    async fn get(&self, with_certificate: bool) -> anyhow::Result<Response> {
        let mut request = Request::get(self.controller.https(), "/").tls(HOST).host(HOST);
        if with_certificate {
            request = request.identity(&self.client.certificate_pem, &self.client.key_pem);
        }
        request.send().await
    }

    /// Waits for the statuses without and with a certificate.
    async fn until(&self, without: u16, with: u16) -> anyhow::Result<[Response; 2]> {
        poll(PATIENCE, || async {
            let answers = [self.get(false).await?, self.get(true).await?];
            let statuses = answers.each_ref().map(|answer| answer.status);
            ensure!(statuses == [without, with], "waiting for {without} and {with}: {statuses:?}");
            Ok(answers)
        })
        .await
    }

    async fn annotate(&self, values: &[(&str, Option<&str>)]) -> anyhow::Result<()> {
        self.case.patch::<Ingress>(HOST, annotations(values)).await?;
        Ok(())
    }

    /// Waits until the server block of the host has this text. New workers answer before the controller has confirmed it.
    async fn until_text(&self, text: &str) -> anyhow::Result<()> {
        poll(PATIENCE, || async {
            let conf = self.controller.conf(&[HOST])?;
            ensure!(conf.contains(text), "{text}: {conf}");
            Ok(())
        })
        .await
    }
}

const CA: (&str, &str) = ("auth-tls-secret", "{NS}/authtls.foo.com");

#[tokio::test]
async fn atls_01_auth_tls_secret_asks_clients_for_a_certificate_of_its_ca() -> anyhow::Result<()> {
    let setting = Setting::new("atls-01", &[]).await?;
    setting.until(200, 200).await?;
    assert!(!setting.controller.nginx_conf()?.contains("ssl_verify_client"));
    let name = CA.1.replace("{NS}", setting.case.ns());
    setting.annotate(&[("auth-tls-secret", Some(name.as_str()))]).await?;
    let [_, with] = setting.until(400, 200).await?;
    let seen = Seen::read(&with.body)?;
    assert_eq!(seen.header("ssl-client-verify"), Some("SUCCESS"));
    assert_eq!(seen.header("ssl-client-subject-dn"), Some("CN=authtls.foo.com-client"));
    assert_eq!((seen.header("ssl-client-issuer-dn"), seen.header("ssl-client-cert")), (Some("CN=authtls.foo.com-ca"), None));
    setting.until_text("ssl_verify_client on; ssl_verify_depth 1;").await
}

#[tokio::test]
async fn atls_02_auth_tls_error_page_gets_clients_without_a_certificate() -> anyhow::Result<()> {
    let setting = Setting::new("atls-02", &[CA, ("auth-tls-error-page", "http://www.example.com/error")]).await?;
    let [without, _] = setting.until(302, 200).await?;
    assert_eq!(without.header("location"), Some("http://www.example.com/error"));
    let reloads = setting.controller.reloads().await?;
    // A path is served as if it had been asked for, without a certificate; it is why the page is there.
    setting.annotate(&[("auth-tls-error-page", Some("/sorry"))]).await?;
    let [without, _] = setting.until(200, 200).await?;
    let seen = Seen::read(&without.body)?;
    assert_eq!((seen.request_uri.as_str(), seen.header("ssl-client-verify")), ("/sorry", Some("NONE")));
    setting.annotate(&[("auth-tls-error-page", None)]).await?;
    setting.until(400, 200).await?;
    assert_eq!(setting.controller.reloads().await?, reloads, "the page is live");
    Ok(())
}

#[tokio::test]
async fn atls_03_auth_tls_verify_client_and_auth_tls_verify_depth_say_what_is_asked() -> anyhow::Result<()> {
    let setting = Setting::new("atls-03", &[CA, ("auth-tls-verify-client", "on"), ("auth-tls-verify-depth", "2")]).await?;
    setting.until(400, 200).await?;
    setting.until_text("ssl_verify_client on; ssl_verify_depth 2;").await?;
    setting.annotate(&[("auth-tls-verify-client", Some("off"))]).await?;
    setting.until(200, 200).await?;
    setting.until_text("ssl_verify_client off;").await?;
    setting.annotate(&[("auth-tls-verify-client", Some("optional"))]).await?;
    poll(PATIENCE, || async {
        let [without, with] = [setting.get(false).await?, setting.get(true).await?];
        let verify = |response: &Response| Some(Seen::read(&response.body).ok()?.header("ssl-client-verify")?.to_owned());
        ensure!((verify(&without).as_deref(), verify(&with).as_deref()) == (Some("NONE"), Some("SUCCESS")));
        Ok(())
    })
    .await
}

#[tokio::test]
async fn atls_04_auth_tls_match_cn_refuses_other_subjects() -> anyhow::Result<()> {
    let setting = Setting::new("atls-04", &[CA, ("auth-tls-verify-client", "on"), ("auth-tls-match-cn", "CN=notgonnamatch")]).await?;
    let [_, with] = setting.until(400, 403).await?;
    assert_eq!(with.text(), "client certificate unauthorized");
    // Plain HTTP shows no certificate.
    setting.annotate(&[("ssl-redirect", Some("false"))]).await?;
    setting.controller.until(HOST, "/", 403).await?;
    Ok(())
}

#[tokio::test]
async fn atls_05_a_changed_auth_tls_match_cn_holds() -> anyhow::Result<()> {
    let setting = Setting::new("atls-05", &[CA, ("auth-tls-verify-client", "on"), ("auth-tls-match-cn", "CN=notvalid")]).await?;
    setting.until(400, 403).await?;
    setting.annotate(&[("auth-tls-match-cn", Some("CN=authtls"))]).await?;
    setting.until(400, 200).await?;
    Ok(())
}

#[tokio::test]
async fn with_auth_tls_pass_certificate_to_upstream_backends_see_the_certificate() -> anyhow::Result<()> {
    let setting = Setting::new("atls-pass", &[CA, ("auth-tls-pass-certificate-to-upstream", "true")]).await?;
    let [_, with] = setting.until(400, 200).await?;
    let seen = Seen::read(&with.body)?;
    let certificate = seen.header("ssl-client-cert").unwrap_or_default();
    assert!(certificate.starts_with("-----BEGIN%20CERTIFICATE-----%0A"), "{certificate}");
    let reloads = setting.controller.reloads().await?;
    setting.annotate(&[("auth-tls-pass-certificate-to-upstream", None)]).await?;
    poll(PATIENCE, || async {
        let seen = Seen::read(&setting.get(true).await?.body)?;
        ensure!(seen.header("ssl-client-cert").is_none(), "the certificate is still passed");
        Ok(())
    })
    .await?;
    assert_eq!(setting.controller.reloads().await?, reloads, "it is live");
    Ok(())
}

#[tokio::test]
async fn a_ca_that_is_missing_closes_the_whole_host() -> anyhow::Result<()> {
    let setting = Setting::new("atls-missing", &[("auth-tls-secret", "{NS}/missing")]).await?;
    setting.until(403, 403).await?;
    setting.controller.until(HOST, "/", 403).await?;
    Ok(())
}

#[tokio::test]
async fn a_certificate_of_another_host_does_not_open_this_one() -> anyhow::Result<()> {
    let setting = Setting::new("atls-other", &[CA]).await?;
    setting.until(400, 200).await?;
    setting.case.serve("open.foo.com").await?;
    setting.controller.until("open.foo.com", "/", 200).await?;
    // The handshake is that of an open host, the request is for this one.
    let request = Request::get(setting.controller.https(), "/").tls("open.foo.com").host(HOST);
    let request = request.identity(&setting.client.certificate_pem, &setting.client.key_pem);
    let status = request.send().await?.status;
    assert!([400, 421].contains(&status), "{status}");
    let nameless = Request::get(setting.controller.https(), "/").tls("").host(HOST);
    assert_eq!(nameless.send().await?.status, 400);
    Ok(())
}

/// Server blocks of wildcards are chosen by NGINX, records by Lua, and the two need not prefer the same name.
#[tokio::test]
async fn what_another_host_verifies_opens_no_backend_that_asks_for_certificates() -> anyhow::Result<()> {
    const CORP: &str = "*.corp.example.com";
    const NAME: &str = "shop.corp.example.com";
    let case = Case::new("atls-bound").await?;
    let _servers = case.echo(1).await?;
    let controller = case.controller().start().await?;
    let ask = || Request::get(controller.https(), "/").tls(NAME).host(NAME).send();
    // Its server block comes first, and asks for nothing.
    let foreign = mk_authority("foreign-ca")?;
    let mut secret = mk_tls_secret("foreign", &foreign.sign(&["*.aaa.example.com"])?);
    secret.data.get_or_insert_default().insert("ca.crt".into(), ByteString(foreign.certificate_pem.clone().into_bytes()));
    case.create::<Secret>(&secret).await?;
    let lax = rule("aaa", "*.aaa.example.com").annotation("auth-tls-secret", &format!("{}/foreign", case.ns()));
    let lax = lax.annotation("auth-tls-verify-client", "off").annotation("server-alias", "~\\.corp\\.example\\.com$");
    case.create(&lax.tls("*.aaa.example.com", "foreign").build()).await?;
    poll(PATIENCE, || async {
        ensure!(ask().await?.status == 200, "the foreign block does not serve the name yet");
        Ok(())
    })
    .await?;

    let own = mk_authority("corp-ca")?;
    let mut secret = mk_tls_secret("corp", &own.sign(&[CORP])?);
    secret.data.get_or_insert_default().insert("ca.crt".into(), ByteString(own.certificate_pem.clone().into_bytes()));
    case.create::<Secret>(&secret).await?;
    let strict = rule("corp", CORP).annotation("auth-tls-secret", &format!("{}/corp", case.ns()));
    case.create(&strict.tls(CORP, "corp").build()).await?;
    poll(PATIENCE, || async {
        let status = ask().await?.status;
        ensure!(status != 200, "a client without a certificate gets {status}");
        Ok(())
    })
    .await?;
    // And so it stays when the reload is done.
    poll(PATIENCE, || async {
        ensure!(controller.reloads().await? >= 2.0, "the server block of the host is not there yet");
        Ok(())
    })
    .await?;
    for _ in 0..20 {
        let status = ask().await?.status;
        assert!(status == 400 || status == 503, "a client without a certificate gets {status}");
    }
    Ok(())
}

/// In another controller for these annotations the host then asked for none.
#[tokio::test]
async fn cve_2026_85596_ingresses_that_disagree_about_client_certificates_open_no_path() -> anyhow::Result<()> {
    let setting = Setting::new("atls-disagree", &[CA]).await?;
    setting.until(400, 200).await?;
    let foreign = mk_authority("foreign-ca")?;
    let mut secret = mk_tls_secret("foreign", &foreign.sign(&[HOST])?);
    secret.data.get_or_insert_default().insert("ca.crt".into(), ByteString(foreign.certificate_pem.clone().into_bytes()));
    setting.case.create::<Secret>(&secret).await?;
    // Of two of the same second the greater name comes first.
    let newer = mk_ingress("a-newer").class("nginx").host(HOST).path("/newer", PathType::Prefix, "echo", 80);
    let newer = newer.annotation("auth-tls-secret", &format!("{}/foreign", setting.case.ns()));
    setting.case.create(&newer.annotation("auth-tls-verify-client", "optional").build()).await?;
    let ask = |path: &str, client: Option<&Certificate>| {
        let request = Request::get(setting.controller.https(), path).tls(HOST).host(HOST);
        client.into_iter().fold(request, |request, client| request.identity(&client.certificate_pem, &client.key_pem)).send()
    };
    poll(PATIENCE, || async {
        let status = ask("/newer", Some(&setting.client)).await?.status;
        ensure!(status == 403, "the newer Ingress is not read yet: {status}");
        Ok(())
    })
    .await?;
    let stranger = foreign.sign(&["stranger"])?;
    for (path, client, status) in [
        ("/", None, 400),
        ("/", Some(&setting.client), 200),
        ("/", Some(&stranger), 400),
        ("/newer", None, 400),
        ("/newer", Some(&stranger), 400),
        ("/newer", Some(&setting.client), 403),
    ] {
        assert_eq!(ask(path, client).await?.status, status, "{path}");
    }
    Ok(())
}

/// A Secret that has the CA and a certificate of it, and the Ingress of a host that asks for certificates of it.
async fn asks(case: &Case, name: &str, host: &str, more: &[(&str, &str)]) -> anyhow::Result<Authority> {
    let authority = mk_authority(&format!("{name}-ca"))?;
    let mut secret = mk_tls_secret(name, &authority.sign(&[host])?);
    secret.data.get_or_insert_default().insert("ca.crt".into(), ByteString(authority.certificate_pem.clone().into_bytes()));
    case.create::<Secret>(&secret).await?;
    let asking = rule(name, host).annotation("auth-tls-secret", &format!("{}/{name}", case.ns()));
    let asking = more.iter().fold(asking, |ingress, (name, value)| ingress.annotation(name, value));
    case.create(&asking.tls(host, name).build()).await?;
    Ok(authority)
}

async fn ask_with(controller: &Controller, host: &str, client: &Certificate) -> anyhow::Result<u16> {
    let request = Request::get(controller.https(), "/").tls(host).host(host);
    Ok(request.identity(&client.certificate_pem, &client.key_pem).send().await?.status)
}

#[tokio::test]
async fn a_new_host_below_a_lax_wildcard_never_answers_clients_without_a_certificate() -> anyhow::Result<()> {
    const NAME: &str = "new.corp.example.com";
    let case = Case::new("atls-new").await?;
    let _servers = case.echo(1).await?;
    let controller = case.controller().start().await?;
    let ask = || Request::get(controller.https(), "/").tls(NAME).host(NAME).send();
    asks(&case, "lax", "*.corp.example.com", &[("auth-tls-verify-client", "off")]).await?;
    poll(PATIENCE, || async {
        ensure!(ask().await?.status == 200, "the wildcard does not serve the name yet");
        Ok(())
    })
    .await?;
    let own = asks(&case, "strict", NAME, &[]).await?;
    poll(PATIENCE, || async {
        ensure!(controller.record('h', NAME).await?.is_some(), "the record is not there yet");
        Ok(())
    })
    .await?;
    let certificate = own.sign(&["a client"])?;
    poll(PATIENCE, || async {
        let status = ask().await?.status;
        assert!(status == 400 || status == 503, "a client without a certificate gets {status}");
        let known = ask_with(&controller, NAME, &certificate).await?;
        ensure!(known == 200, "a client with a certificate gets {known}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn names_of_a_wildcard_stay_reachable_whatever_another_host_takes_as_its_aliases() -> anyhow::Result<()> {
    let case = Case::new("atls-names").await?;
    let _servers = case.echo(1).await?;
    let controller = case.controller().start().await?;
    case.create(&rule("plain", "*.plain.example.com").build()).await?;
    case.create(&rule("shop", "shop.example.com").build()).await?;
    let own = asks(&case, "corp", "*.corp.example.com", &[]).await?;
    let certificate = own.sign(&["a client"])?;
    let reachable = || async {
        for name in ["a.plain.example.com", "shop.example.com"] {
            let status = Request::get(controller.https(), "/").tls(name).host(name).send().await?.status;
            ensure!(status == 200, "{name}: {status}");
        }
        let status = ask_with(&controller, "a.corp.example.com", &certificate).await?;
        ensure!(status == 200, "a client with a certificate gets {status}");
        Ok(())
    };
    poll(PATIENCE, reachable).await?;
    let reloads = controller.reloads().await?;
    let aliases = "shop.example.com,~\\.corp\\.example\\.com$,~plain";
    asks(&case, "aaa", "*.aaa.example.com", &[("server-alias", aliases)]).await?;
    poll(PATIENCE, || async {
        let status = Request::get(controller.https(), "/").tls("plain").host("plain").send().await?.status;
        ensure!(controller.reloads().await? > reloads && status == 400, "the foreign block is not there yet: {status}");
        Ok(())
    })
    .await?;
    reachable().await
}
