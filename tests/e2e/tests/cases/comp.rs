//! COMP: compressed answers.

use anyhow::Context;
use e2e::{Case, Controller};
use testkit::http::Response;

const HOST: &str = "comp.example.com";
const XML: &str = "application/xml";
const HTML: &str = "text/html";
const BYTES: &str = "application/octet-stream";
/// Long enough for the default `gzip-min-length`.
const LONG: usize = 1000;

struct Compressing {
    _case: Case,
    _servers: e2e::Servers,
    controller: Controller,
    conf: String,
}

impl Compressing {
    async fn start(id: &str, settings: &[(&str, &str)]) -> anyhow::Result<Self> {
        let case = Case::new(id).await?;
        let servers = case.echo(1).await?;
        case.settings(settings).await?;
        case.serve(HOST).await?;
        let controller = case.controller().start().await?;
        controller.until(HOST, "/", 200).await?;
        let conf = controller.nginx_conf()?;
        Ok(Self { _case: case, _servers: servers, controller, conf })
    }

    /// `Content-Encoding` of an answer of this type and length, for a client with this name that takes gzip.
    async fn encoding(&self, content_type: &str, length: usize, agent: &str) -> anyhow::Result<Option<String>> {
        let response = self.answer(content_type, length, agent, "gzip").await?;
        Ok(response.header("content-encoding").map(str::to_owned))
    }

    /// An answer of this type and length, for a client with this name that takes these encodings.
    async fn answer(&self, content_type: &str, length: usize, agent: &str, encodings: &str) -> anyhow::Result<Response> {
        let wanted = format!("content-type: {content_type}");
        let headers = [("Accept-Encoding", encodings), ("x-echo-header", wanted.as_str()), ("User-Agent", agent)];
        let response = self.controller.get_with(HOST, &format!("/?size={length}"), &headers).await?;
        assert_eq!(response.status, 200);
        assert_eq!(response.header("content-type").context("no type")?, content_type);
        Ok(response)
    }
}

#[tokio::test]
async fn comp_01_brotli_from_a_length_on() -> anyhow::Result<()> {
    let settings = [("enable-brotli", "true"), ("brotli-types", BYTES), ("brotli-min-length", "24")];
    let compressing = Compressing::start("comp-01", &settings).await?;
    let expected = " brotli on; brotli_comp_level 4; brotli_min_length 24; brotli_types application/octet-stream;";
    assert!(compressing.conf.contains(expected), "{}", compressing.conf);
    let plain = compressing.answer(BYTES, 23, "a", "br").await?;
    assert_eq!((plain.header("content-encoding"), plain.text()), (None, "x".repeat(23)));
    for length in [24, LONG] {
        let answer = compressing.answer(BYTES, length, "a", "br").await?;
        assert_eq!(answer.header("content-encoding"), Some("br"));
        let mut body = Vec::new();
        brotli_decompressor::BrotliDecompress(&mut answer.body.as_slice(), &mut body)?;
        assert_eq!(body, vec![b'x'; length]);
    }
    Ok(())
}

#[tokio::test]
async fn brotli_level_says_how_hard_and_a_client_that_takes_both_gets_brotli() -> anyhow::Result<()> {
    let settings = [("enable-brotli", "true"), ("brotli-level", "9"), ("use-gzip", "true")];
    let compressing = Compressing::start("comp-both", &settings).await?;
    assert!(compressing.conf.contains(" brotli_comp_level 9;"), "{}", compressing.conf);
    for (encodings, expected) in [("gzip, br", Some("br")), ("gzip", Some("gzip")), ("identity", None)] {
        let answer = compressing.answer(XML, LONG, "a", encodings).await?;
        assert_eq!(answer.header("content-encoding"), expected, "{encodings}");
    }
    Ok(())
}

#[tokio::test]
async fn comp_02_nothing_by_default() -> anyhow::Result<()> {
    let compressing = Compressing::start("comp-02", &[]).await?;
    assert!(!compressing.conf.contains(" gzip on;"));
    assert_eq!(compressing.encoding(XML, LONG, "a").await?, None);
    Ok(())
}

#[tokio::test]
async fn comp_03_gzip_with_a_level() -> anyhow::Result<()> {
    let compressing = Compressing::start("comp-03", &[("use-gzip", "true"), ("gzip-level", "4")]).await?;
    assert!(compressing.conf.contains(" gzip on; gzip_comp_level 4;"), "{}", compressing.conf);
    assert_eq!(compressing.encoding(XML, LONG, "a").await?.as_deref(), Some("gzip"));
    Ok(())
}

#[tokio::test]
async fn comp_04_from_a_length_on() -> anyhow::Result<()> {
    let settings = [("use-gzip", "true"), ("gzip-min-length", "100"), ("gzip-types", BYTES)];
    let compressing = Compressing::start("comp-04", &settings).await?;
    assert!(compressing.conf.contains(" gzip_min_length 100; gzip_types application/octet-stream;"), "{}", compressing.conf);
    assert_eq!(compressing.encoding(BYTES, 99, "a").await?, None);
    assert_eq!(compressing.encoding(BYTES, 100, "a").await?.as_deref(), Some("gzip"));
    Ok(())
}

#[tokio::test]
async fn comp_05_of_some_types() -> anyhow::Result<()> {
    let compressing = Compressing::start("comp-05", &[("use-gzip", "true"), ("gzip-types", HTML)]).await?;
    assert!(compressing.conf.contains(" gzip_types text/html;"), "{}", compressing.conf);
    assert_eq!(compressing.encoding(XML, LONG, "a").await?, None);
    assert_eq!(compressing.encoding(HTML, LONG, "a").await?.as_deref(), Some("gzip"));
    Ok(())
}

#[tokio::test]
async fn gzip_disable_spares_the_clients_that_it_names() -> anyhow::Result<()> {
    let settings = [("use-gzip", "true"), ("gzip-disable", r#"old "browser" [1-6]\."#)];
    let compressing = Compressing::start("comp-disable", &settings).await?;
    assert_eq!(compressing.encoding(XML, LONG, r#"An Old "Browser" 5.1"#).await?, None);
    assert_eq!(compressing.encoding(XML, LONG, r#"An Old "Browser" 7.1"#).await?.as_deref(), Some("gzip"));
    Ok(())
}
