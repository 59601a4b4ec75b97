//! Places of clients, from databases that the test makes.

use std::net::Ipv4Addr;
use std::path::Path;

use anyhow::{Context, ensure};
use e2e::{Case, Controller, PATIENCE, Servers};
use flate2::Compression;
use flate2::write::GzEncoder;
use testkit::{mmdb, poll};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const HOST: &str = "ping.com";
const COUNTRY: &str = "GeoLite2-Country";

/// A database that knows where this machine is.
fn database(edition: &str, country: &str) -> Vec<u8> {
    let place = mmdb::map([("country", mmdb::map([("iso_code", mmdb::text(country))]))]);
    mmdb::database(edition, &[(Ipv4Addr::new(127, 0, 0, 0), 8, place)])
}

struct Located {
    _case: Case,
    _servers: Servers,
    scratch: tempfile::TempDir,
    controller: Controller,
}

/// Logs the country of each client; flags besides the directory of databases.
async fn located(id: &str, settings: &[(&str, &str)], flags: &[&str], files: &[(&str, Vec<u8>)]) -> anyhow::Result<Located> {
    let case = Case::new(id).await?;
    let servers = case.echo(1).await?;
    let scratch = tempfile::tempdir()?;
    let log = scratch.path().join("access.log").display().to_string();
    let format = ("log-format-upstream", "$request_uri [$geoip2_country_code] [$geoip2_city]");
    case.settings(&[&[format, ("access-log-path", log.as_str()), ("use-geoip2", "true")], settings].concat()).await?;
    case.serve(HOST).await?;
    for (name, content) in files {
        std::fs::write(scratch.path().join(name), content)?;
    }
    let launch = case.controller().flag(&format!("--maxmind-directory={}", scratch.path().display()));
    let controller = flags.iter().fold(launch, |launch, flag| launch.flag(flag)).start().await?;
    controller.until(HOST, "/", 200).await?;
    Ok(Located { _case: case, _servers: servers, scratch, controller })
}

impl Located {
    fn file(&self) -> std::path::PathBuf {
        self.scratch.path().join(format!("{COUNTRY}.mmdb"))
    }

    /// Waits until requests are logged with this country.
    async fn until(&self, country: &str) -> anyhow::Result<()> {
        let expected = format!("/now [{country}] []");
        poll(PATIENCE, || async {
            ensure!(self.controller.get(HOST, "/now").await?.status == 200);
            let text = std::fs::read_to_string(self.scratch.path().join("access.log"))?;
            ensure!(text.lines().next_back() == Some(&expected), "{expected:?} is not the last line: {text}");
            Ok(())
        })
        .await
        .with_context(|| self.controller.log())
    }
}

#[tokio::test]
async fn obs_07_a_database_of_the_directory_says_where_clients_are() -> anyhow::Result<()> {
    let file = (&*format!("{COUNTRY}.mmdb"), database(COUNTRY, "NL"));
    let located = located("obs-07", &[], &["--maxmind-edition-ids=GeoLite2-Country"], &[file]).await?;
    let conf = located.controller.nginx_conf()?;
    assert!(
        conf.contains(&format!(" geoip2 \"{}\" {{ $geoip2_country_code source=$remote_addr country iso_code;", located.file().display())),
        "{conf}"
    );
    located.until("NL").await
}

#[tokio::test]
async fn obs_08_geoip2_autoreload_in_minutes_lets_nginx_look_again() -> anyhow::Result<()> {
    let file = (&*format!("{COUNTRY}.mmdb"), database(COUNTRY, "NL"));
    let minutes = [("geoip2-autoreload-in-minutes", "5")];
    let located = located("obs-08", &minutes, &["--maxmind-edition-ids=GeoLite2-Country"], &[file]).await?;
    let conf = located.controller.nginx_conf()?;
    assert!(conf.contains(&format!(" geoip2 \"{}\" {{ auto_reload 5m;", located.file().display())), "{conf}");
    located.until("NL").await
}

#[tokio::test]
async fn a_database_that_is_missing_or_broken_keeps_nothing_down_and_is_used_once_it_is_there() -> anyhow::Result<()> {
    let file = (&*format!("{COUNTRY}.mmdb"), b"half a database".to_vec());
    let located = located("obs-geoip-late", &[], &["--maxmind-edition-ids=GeoLite2-Country,GeoLite2-City"], &[file]).await?;
    located.until("").await?;
    assert!(located.controller.log().contains("a database of places can't be used"), "{}", located.controller.log());
    replace(&located.file(), &database(COUNTRY, "NL"))?;
    located.until("NL").await?;
    std::fs::remove_file(located.file())?;
    located.until("").await
}

#[tokio::test]
async fn a_database_comes_from_maxmind_mirror_with_maxmind_retries_count_and_maxmind_retries_timeout() -> anyhow::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let mirror = format!("--maxmind-mirror=http://{}/files", listener.local_addr()?);
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let content = database(COUNTRY, "BE");
    let mut header = tar::Header::new_gnu();
    header.set_size(content.len() as u64);
    archive.append_data(&mut header, format!("{COUNTRY}_20260101/{COUNTRY}.mmdb"), content.as_slice())?;
    let archive = archive.into_inner()?.finish()?;
    let server = tokio::spawn(async move {
        let mut asked = 0;
        while let Ok((mut connection, _)) = listener.accept().await {
            let mut read = Vec::new();
            while !read.ends_with(b"\r\n\r\n") && connection.read_buf(&mut read).await? > 0 {}
            asked += 1;
            let found = asked > 1 && read.starts_with(b"GET /files/GeoLite2-Country.tar.gz ");
            let (status, body) = if found { ("200 OK", archive.as_slice()) } else { ("503 Busy", &[][..]) };
            let head = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
            connection.write_all(&[head.as_bytes(), body].concat()).await?;
        }
        anyhow::Ok(())
    });
    let flags = ["--maxmind-edition-ids=GeoLite2-Country", &mirror, "--maxmind-retries-count=3", "--maxmind-retries-timeout=100ms"];
    let located = located("obs-geoip-mirror", &[], &flags, &[]).await?;
    located.until("BE").await?;
    server.abort();
    Ok(())
}

/// Puts content in the place of a file at once.
fn replace(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    let beside = path.with_extension("new");
    std::fs::write(&beside, content)?;
    Ok(std::fs::rename(beside, path)?)
}
