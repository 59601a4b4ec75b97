//! Exact and Prefix paths, alone and mixed.

use k8s_openapi::api::networking::v1::Ingress;
use testkit::echo::Seen;
use testkit::kube::{PathType, mk_ingress};

use super::Conformance;

const SERVICES: [&str; 6] =
    ["foo-exact", "foo-prefix", "aaa-slash-bbb-prefix", "aaa-prefix", "aaa-slash-bbb-slash-prefix", "foo-slash-exact"];

fn path_rules() -> Ingress {
    let exact = mk_ingress("path-rules").class("nginx").host("exact-path-rules").path("/foo", PathType::Exact, "foo-exact", 8080);
    let prefix = exact
        .host("prefix-path-rules")
        .path("/foo", PathType::Prefix, "foo-prefix", 8080)
        .path("/aaa/bbb", PathType::Prefix, "aaa-slash-bbb-prefix", 8080)
        .path("/aaa", PathType::Prefix, "aaa-prefix", 8080);
    let mixed =
        prefix.host("mixed-path-rules").path("/foo", PathType::Prefix, "foo-prefix", 8080).path("/foo", PathType::Exact, "foo-exact", 8080);
    mixed
        .host("trailing-slash-path-rules")
        .path("/aaa/bbb/", PathType::Prefix, "aaa-slash-bbb-slash-prefix", 8080)
        .path("/foo/", PathType::Exact, "foo-slash-exact", 8080)
        .build()
}

/// The service that must answer, or none: 404.
async fn check(id: &str, host: &str, path: &str, service: Option<&str>) -> anyhow::Result<()> {
    let conformance = Conformance::new(id, &SERVICES.map(|service| (service, 1)), path_rules()).await?;
    conformance.served("exact-path-rules", "/foo").await?;
    let response = conformance.get(host, path).await?;
    let Some(service) = service else {
        assert_eq!(response.status, 404, "{}", response.text());
        return Ok(());
    };
    assert_eq!(response.status, 200, "{:?} {}", response.headers, response.text());
    assert_eq!(Seen::read(&response.body)?.service, service);
    Ok(())
}

macro_rules! cases {
    ($($name:ident: $host:literal $path:literal => $service:expr;)*) => {$(
        #[tokio::test]
        async fn $name() -> anyhow::Result<()> {
            check(&stringify!($name).replace('_', "-"), $host, $path, $service).await
        }
    )*};
}

cases! {
    icon_15_an_exact_path_is_served: "exact-path-rules" "/foo" => Some("foo-exact");
    icon_16_an_exact_path_with_a_slash_is_another: "exact-path-rules" "/foo/" => None;
    icon_17_an_exact_path_knows_letter_case: "exact-path-rules" "/FOO" => None;
    icon_18_an_unknown_path_is_not_found: "exact-path-rules" "/bar" => None;
    icon_19_a_prefix_takes_its_own_path: "prefix-path-rules" "/foo" => Some("foo-prefix");
    icon_20_a_prefix_takes_its_path_with_a_slash: "prefix-path-rules" "/foo/" => Some("foo-prefix");
    icon_21_a_prefix_knows_letter_case: "prefix-path-rules" "/FOO" => None;
    icon_22_the_longest_prefix_wins: "prefix-path-rules" "/aaa/bbb" => Some("aaa-slash-bbb-prefix");
    icon_23_the_longest_prefix_wins_below_it_too: "prefix-path-rules" "/aaa/bbb/ccc" => Some("aaa-slash-bbb-prefix");
    icon_24_the_shorter_prefix_takes_the_rest: "prefix-path-rules" "/aaa/ccc" => Some("aaa-prefix");
    icon_25_a_prefix_ends_with_a_segment: "prefix-path-rules" "/aaaccc" => None;
    icon_26_a_prefix_takes_its_path_with_a_slash_once_more: "prefix-path-rules" "/foo/" => Some("foo-prefix");
    icon_27_exact_goes_before_prefix: "mixed-path-rules" "/foo" => Some("foo-exact");
    icon_28_a_prefix_with_a_slash_takes_its_path_without: "trailing-slash-path-rules" "/aaa/bbb" => Some("aaa-slash-bbb-slash-prefix");
    icon_29_a_prefix_with_a_slash_takes_its_path: "trailing-slash-path-rules" "/aaa/bbb/" => Some("aaa-slash-bbb-slash-prefix");
    icon_30_an_exact_path_with_a_slash_needs_it: "trailing-slash-path-rules" "/foo" => None;
}
