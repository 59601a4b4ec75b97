//! Annotations with other names than Reloader's.

use anyhow::Context;
use e2e::Case;
use e2e::rollout::{Kind, Rollout, deployment};
use jiff::Timestamp;
use serde_json::json;

const FLAGS: [&str; 12] = [
    "--auto-annotation=example.com/auto",
    "--configmap-auto-annotation=example.com/auto-maps",
    "--secret-auto-annotation=example.com/auto-secrets",
    "--configmap-annotation=example.com/maps",
    "--secret-annotation=example.com/secrets",
    "--configmap-exclude-annotation=example.com/no-maps",
    "--secret-exclude-annotation=example.com/no-secrets",
    "--auto-search-annotation=example.com/search",
    "--search-match-annotation=example.com/match",
    "--ignore-annotation=example.com/ignore",
    "--pause-deployment-annotation=example.com/pause",
    "--pause-deployment-time-annotation=example.com/since",
];

/// A Deployment's name, its annotations, and how often it is rolled out after each change.
type Expected = (&'static str, &'static [(&'static str, &'static str)], [u64; 4]);

/// Each reads `config` and `secret`. How often it is to be rolled out after changes of `config` (which is marked), `secret`, `other` and `hidden`.
const WORKLOADS: [Expected; 9] = [
    ("auto", &[("example.com/auto", "true")], [1, 2, 2, 2]),
    ("auto-maps", &[("example.com/auto-maps", "true")], [1, 1, 1, 1]),
    ("auto-secrets", &[("example.com/auto-secrets", "true")], [0, 1, 1, 1]),
    ("maps", &[("example.com/maps", "other")], [0, 0, 1, 1]),
    ("secrets", &[("example.com/secrets", "hidden")], [0, 0, 0, 1]),
    ("no-maps", &[("example.com/auto", "true"), ("example.com/no-maps", "config")], [0, 1, 1, 1]),
    ("no-secrets", &[("example.com/auto", "true"), ("example.com/no-secrets", "secret")], [1, 1, 1, 1]),
    ("search", &[("example.com/search", "true")], [1, 1, 1, 1]),
    ("pause", &[("example.com/auto", "true"), ("example.com/pause", "1h")], [1, 2, 2, 2]),
];

#[tokio::test]
async fn every_annotation_may_have_another_name() -> anyhow::Result<()> {
    let case = Case::new("ro-names").await?;
    let config = |value: &str, ignore: &str| {
        let annotations = json!({"example.com/match": "true", "example.com/ignore": ignore});
        json!({"metadata": {"annotations": annotations}, "data": {"key": value}})
    };
    case.apply_map("config", config("1", "false")).await?;
    case.config("other", "1").await?;
    for name in ["secret", "hidden"] {
        case.secret(name, "1").await?;
    }
    for (name, annotations, _) in WORKLOADS {
        case.make(deployment(name, annotations)).await?;
    }
    case.make(deployment("usual", &[("reloader.stakater.com/auto", "true")])).await?;
    // What `settled` needs has another name here, too.
    let annotations = [("example.com/maps", "fence")];
    let template = json!({"spec": {"containers": [{"name": "echo", "image": "echo"}]}});
    case.config("fence", "0").await?;
    case.make(e2e::rollout::Wanted { kind: Kind::DaemonSet, name: "fence", annotations: &annotations, template }).await?;
    let _rollout = Rollout::start(&case, &FLAGS, &[]).await?;
    case.rolled_out(Kind::DaemonSet, "fence", 0).await?;
    for (name, _, _) in WORKLOADS {
        case.rolled_out(Kind::Deployment, name, 0).await?;
    }

    for step in 0..4 {
        match step {
            0 => case.apply_map("config", config("2", "false")).await?,
            1 => case.secret("secret", "2").await?,
            2 => case.config("other", "2").await?,
            _ => case.secret("hidden", "2").await?,
        }
        case.settled().await?;
        for (name, _, expected) in WORKLOADS {
            assert_eq!(case.rollouts(Kind::Deployment, name).await?, Some(expected[step]), "{name} after change {step}");
        }
    }
    let paused = case.workload(Kind::Deployment, "pause").await?;
    let _: Timestamp = paused["metadata"]["annotations"]["example.com/since"].as_str().context("since when it is paused")?.parse()?;
    assert_eq!(paused["spec"]["paused"], true);

    case.apply_map("config", config("3", "true")).await?;
    case.settled().await?;
    assert_eq!(case.rollouts(Kind::Deployment, "auto").await?, Some(2), "it asks to be ignored");
    assert_eq!(case.rollouts(Kind::Deployment, "usual").await?, None, "the usual name means nothing any more");
    Ok(())
}
