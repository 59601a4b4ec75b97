use std::net::{Ipv4Addr, SocketAddr};

use flate2::Compression;
use flate2::write::GzEncoder;
use testkit::mmdb;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

use super::*;

fn archive(file: &str, content: &[u8]) -> Vec<u8> {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (name, content) in [("README.txt", b"read me".as_slice()), (file, content)] {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, format!("GeoLite2-City_20260101/{name}"), content).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}

/// Answers each connection by the path that is asked for.
async fn server(answer: impl Fn(&str) -> Vec<u8> + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            let mut read = Vec::new();
            while !read.ends_with(b"\r\n\r\n") {
                connection.read_buf(&mut read).await.unwrap();
            }
            let text = String::from_utf8_lossy(&read).into_owned();
            connection.write_all(&answer(text.split(' ').nth(1).unwrap_or_default())).await.unwrap();
        }
    });
    address
}

fn ok(body: &[u8]) -> Vec<u8> {
    [format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len()).as_bytes(), body].concat()
}

fn status(line: &str) -> Vec<u8> {
    format!("HTTP/1.1 {line}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n").into_bytes()
}

#[tokio::test]
async fn a_mirror_s_database_takes_its_place_only_if_it_is_sound() {
    let city = mmdb::database("GeoLite2-City", &[(Ipv4Addr::new(192, 0, 2, 0), 24, mmdb::map([("city", mmdb::text("x"))]))]);
    let (good, cut) = (archive("GeoLite2-City.mmdb", &city), archive("GeoLite2-City.mmdb", &city[..city.len() - 9]));
    let other = archive("other.mmdb", &city);
    let address = server(move |path| match path {
        "/good/GeoLite2-City.tar.gz" => ok(&good),
        "/cut/GeoLite2-City.tar.gz" => ok(&cut),
        "/other/GeoLite2-City.tar.gz" => ok(&other),
        "/text/GeoLite2-City.tar.gz" => ok(b"no archive"),
        "/moved/GeoLite2-City.tar.gz" => status("302 Found\r\nlocation: http://127.0.0.1:1/"),
        "/loop/GeoLite2-City.tar.gz" => status("302 Found\r\nlocation: /loop/GeoLite2-City.tar.gz"),
        _ => status("404 Not Found"),
    })
    .await;
    let scratch = tempfile::tempdir().unwrap();
    let geoip = GeoIp { directory: scratch.path().join("geoip"), editions: vec![Edition::LiteCity] };
    let from = |path: &str| Origin::Mirror(format!("http://{address}/{path}/"));
    for (path, expected) in [
        ("absent", "the server answered 404 Not Found"),
        ("cut", "what was fetched is not the database"),
        ("other", "the archive has no file GeoLite2-City.mmdb"),
        ("text", "the archive can't be unpacked"),
        ("moved", "no connection"),
        ("loop", "the URL can't be used"),
    ] {
        let error = fetch(&geoip, Edition::LiteCity, &from(path)).await.unwrap_err().to_string();
        assert_eq!((error.as_str(), geoip.file(Edition::LiteCity).exists()), (expected, false), "{path}");
    }
    fetch(&geoip, Edition::LiteCity, &from("good")).await.unwrap();
    assert_eq!(*crate::present(&geoip), [Edition::LiteCity].into());
    // What is there stays, and nothing else is left.
    fetch(&geoip, Edition::LiteCity, &from("cut")).await.unwrap_err();
    assert_eq!(*crate::present(&geoip), [Edition::LiteCity].into());
    assert_eq!(fs::read_dir(&geoip.directory).unwrap().count(), 1);
}

#[tokio::test]
async fn no_error_tells_the_license_key() {
    let url = Origin::Vendor { license_key: "s3cret key".into() }.url(Edition::LiteAsn);
    assert!(url.starts_with("https://download.maxmind.com/app/geoip_download?license_key=s3cret key&edition_id=GeoLite2-ASN"));
    let scratch = tempfile::tempdir().unwrap();
    let geoip = GeoIp { directory: scratch.path().into(), editions: vec![Edition::LiteAsn] };
    let error = fetch(&geoip, Edition::LiteAsn, &Origin::Vendor { license_key: "s3cret key".into() }).await.unwrap_err();
    assert!(!format!("{error:?} {}", cluster::chain(&error)).contains("s3cret"));
}
