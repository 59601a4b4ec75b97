//! NGINX accepts what is rendered with the example of each row.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use model::{Built, Module, ObjectKey, ProblemKind};
use nginx::{Options, Supervisor};
use settings::{CONFIG_KEYS, descriptions};
use tempfile::TempDir;
use testkit::ports::Ports;

use super::*;

/// Keys without which a finding about another one is that they are missing.
const COMPANIONS: [(&str, &str); 2] = [("syslog-host", "10.0.0.5"), ("otlp-collector-host", "10.0.0.6")];

/// The Ingress whose snippet is refused on purpose.
const REFUSED: &str = "directive";

/// A real NGINX that tests configurations in a directory of its own.
struct Tester {
    options: BuildOptions,
    capabilities: Capabilities,
    paths: Paths,
    supervisor: Supervisor,
    _dir: TempDir,
}

impl Tester {
    async fn new() -> Result<Self> {
        let ports = Ports::take(3)?;
        let dir = tempfile::tempdir()?;
        let paths = Paths::new(dir.path());
        let capabilities = nginx::detect(None).await.context("this test needs a real NGINX")?;
        let missing = capabilities.missing();
        Ok(Self {
            options: BuildOptions { http_port: ports[0], https_port: ports[1], passthrough_port: Some(ports[2]), missing, ..options() },
            capabilities,
            supervisor: Supervisor::open(Options::new(nginx::find_binary(None)?, paths.clone())).await?,
            paths,
            _dir: dir,
        })
    }

    /// Builds a world with these settings, and has NGINX test the text. Gives what was built.
    async fn test(&mut self, world: &Snapshot, data: &Pairs<'_>) -> Result<Built> {
        // Where databases of places would lie, this machine has none.
        let world = Snapshot { databases: Arc::default(), ..with_settings(world, data)? };
        let built = Builder::new(self.options.clone()).build(&world);
        let set = render::render(&built.model.fixed, &self.capabilities, &self.paths).context("render")?;
        let patience = self.supervisor.patience();
        self.supervisor.test(&set, patience).await.context("nginx -t")?;
        Ok(built)
    }
}

/// Problems of a value, with the object.
fn refused(built: &Built) -> Vec<String> {
    built.problems().iter().filter(|problem| problem.kind == ProblemKind::AnnotationParsingFailed).map(ToString::to_string).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn nginx_accepts_the_example_of_each_annotation() {
    let mut tester = Tester::new().await.unwrap();
    let objects = Objects::new().unwrap();
    let mut complaints = Vec::new();
    for annotation in descriptions() {
        for given in [None, Some(("backend-protocol", "HTTPS"))] {
            let annotations: Vec<_> = given.into_iter().chain(annotation.example.iter().copied()).collect();
            let mut world = objects.0.clone();
            world.ingresses.extend(read(&[ingress("b", "b.example.com", "s", &annotations)]).unwrap().ingresses);
            match tester.test(&world, &PERMISSIVE.into()).await {
                Ok(built) => complaints.extend(refused(&built).into_iter().map(|what| format!("{}: {what}", annotation.name))),
                Err(error) => complaints.push(format!("{} after {given:?}: {error:#}", annotation.name)),
            }
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn nginx_accepts_the_example_of_each_key() {
    let mut tester = Tester::new().await.unwrap();
    let mut world = Objects::new().unwrap().0;
    world.ingresses.extend(read(&[ingress("b", "b.example.com", "s", &[])]).unwrap().ingresses);
    let mut complaints = Vec::new();
    for key in CONFIG_KEYS.iter() {
        let data = Pairs::from_iter(COMPANIONS.into_iter().chain([(key.name, key.example)]));
        match tester.test(&world, &data).await {
            // What NGINX lacks is withheld, which is a problem; so is a database that is not there.
            Ok(_) if key.name == "use-http3" && tester.options.missing.contains(&Module::Http3) => {}
            Ok(_) if key.name == "enable-zstd" && tester.options.missing.contains(&Module::Zstd) => {}
            Ok(_) if key.name == "use-geoip2" => {}
            Ok(built) => complaints.extend(built.problems().iter().map(|problem| format!("{}: {problem}", key.name))),
            Err(error) => complaints.push(format!("{}: {error:#}", key.name)),
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn nginx_accepts_all_examples_at_once() {
    let mut tester = Tester::new().await.unwrap();
    let world = Objects::new().unwrap().with_every_annotation().unwrap();
    let built = tester.test(&world, &PERMISSIVE.into()).await.unwrap();
    let served: BTreeSet<&ObjectKey> = built.ingresses().collect();
    let missing: Vec<&ObjectKey> = world.ingresses.keys().filter(|key| !served.contains(key)).collect();
    assert_eq!(missing, [&ObjectKey::new(NAMESPACE, REFUSED)], "not served");
}
