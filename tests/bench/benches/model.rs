//! Build, plan and render at 1,000 and 10,000 Ingresses: from nothing, and after one change.

use std::hint::black_box;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bench::world;
use criterion::measurement::WallTime;
use criterion::{BatchSize, BenchmarkGroup, BenchmarkId, Criterion, criterion_group, criterion_main};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::networking::v1::Ingress;
use model::options::PemPair;
use model::{BuildOptions, Builder, Live, Plan, Snapshot, plan};
use render::{Capabilities, Paths};

const SIZES: [usize; 2] = [1_000, 10_000];

fn settings() -> BuildOptions {
    let certificate = testkit::kube::mk_certificate(&["ingress.local"]).expect("a certificate can be made");
    BuildOptions {
        fallback_certificate: PemPair { chain: certificate.certificate_pem, key: certificate.key_pem },
        ..BuildOptions::default()
    }
}

fn model(criterion: &mut Criterion) {
    let settings = settings();
    let mut group = criterion.benchmark_group("model");
    group.sample_size(10).measurement_time(Duration::from_secs(4));
    for size in SIZES {
        let snapshot = world::snapshot(size, world::ingress);
        from_nothing(&mut group, BenchmarkId::new("build from nothing", size), &settings, &snapshot);

        let mut builder = Builder::new(settings.clone());
        let built = builder.build(&snapshot);
        let mut turn = 0u16;
        group.bench_function(BenchmarkId::new("build, plan and delta after an endpoint change", size), |bencher| {
            let mut old = built.clone();
            bencher.iter(|| {
                turn = turn.wrapping_add(1);
                let mut changed = snapshot.clone();
                let endpoint = SocketAddr::from(([10, 1, (turn >> 8) as u8, turn as u8], 8080));
                let slice = world::slice(size / 2, endpoint).into();
                changed.endpoint_slices.insert(world::key(format!("s{}-1", size / 2)), Arc::new(slice));
                let new = builder.build(&changed);
                let result = plan(&old.model, &new.model);
                old = new;
                black_box(result)
            });
        });
        let mut builder = Builder::new(settings.clone());
        let built = builder.build(&snapshot);
        group.bench_function(BenchmarkId::new("build, plan and delta after a new Ingress", size), |bencher| {
            bencher.iter(|| {
                let mut changed = snapshot.clone();
                let mut ingress = world::ingress(size / 2);
                ingress
                    .spec
                    .iter_mut()
                    .flat_map(|spec| spec.rules.iter_mut().flatten())
                    .for_each(|rule| rule.host = Some("new.example.com".into()));
                changed.ingresses.insert(world::key("new".into()), Arc::new(ingress.into()));
                let new = builder.build(&changed);
                let result = plan(&built.model, &new.model);
                builder.build(&snapshot);
                black_box(result)
            });
        });
        let mut reviewed = world::ingress(size / 2);
        let rules = reviewed.spec.iter_mut().flat_map(|spec| spec.rules.iter_mut().flatten());
        rules.for_each(|rule| rule.host = Some("reviewed.example.com".into()));
        let reviewed = model::Ingress::from(reviewed);
        group.bench_function(BenchmarkId::new("review of a new Ingress", size), |bencher| {
            bencher.iter(|| black_box(builder.review(&world::key("reviewed".into()), reviewed.clone())).expect("it is ours"));
        });
        group.bench_function(BenchmarkId::new("render", size), |bencher| {
            bencher.iter(|| render::render(&built.model.fixed, &Capabilities::assumed(), &Paths::new("/run/narthex")).expect("it renders"));
        });
        group.bench_function(BenchmarkId::new("encode everything", size), |bencher| {
            bencher.iter(|| black_box(Live::default().delta(&built.model.live)));
        });
    }
    group.finish();
}

fn from_nothing(group: &mut BenchmarkGroup<'_, WallTime>, name: BenchmarkId, settings: &BuildOptions, snapshot: &Snapshot) {
    group.bench_function(name, |bencher| {
        // By reference: dropping what was built is not part of building it.
        bencher.iter_batched_ref(|| Builder::new(settings.clone()), |builder| black_box(builder.build(snapshot)), BatchSize::PerIteration);
    });
}

/// Ingresses with ten annotations each, and one annotation of one Ingress that changes.
fn annotated(criterion: &mut Criterion) {
    let (settings, size) = (settings(), 10_000);
    let mut group = criterion.benchmark_group("model");
    group.sample_size(10).measurement_time(Duration::from_secs(4));
    let snapshot = world::snapshot(size, world::annotated);
    from_nothing(&mut group, BenchmarkId::new("build from nothing, ten annotations each", size), &settings, &snapshot);

    let changes = [
        ("build, plan and delta after a changed annotation", "upstream-vhost", ".changed.internal", false),
        ("build, plan and delta after an annotation makes a profile", "proxy-buffer-size", "k", true),
    ];
    for (what, annotation, unit, reloads) in changes {
        let annotation = format!("nginx.ingress.kubernetes.io/{annotation}");
        let mut builder = Builder::new(settings.clone());
        let mut old = builder.build(&snapshot);
        let mut turn = 0u32;
        group.bench_function(BenchmarkId::new(format!("{what}, ten each"), size), |bencher| {
            bencher.iter(|| {
                turn = turn.wrapping_add(1);
                let mut changed = snapshot.clone();
                let mut ingress = world::annotated(size / 2);
                ingress.metadata.annotations.get_or_insert_default().insert(annotation.clone(), format!("{}{unit}", 100 + turn % 900));
                changed.ingresses.insert(world::key(format!("i{}", size / 2)), Arc::new(ingress.into()));
                let new = builder.build(&changed);
                let result = plan(&old.model, &new.model);
                assert_eq!(matches!(result, Plan::Reload { .. }), reloads, "{result:?}");
                old = new;
                black_box(result)
            });
        });
    }
    group.finish();
}

/// One key of the ConfigMap that changes, by what it invalidates.
fn configured(criterion: &mut Criterion) {
    let size = 10_000;
    let settings = BuildOptions { configmap: Some(world::key("settings".into())), ..settings() };
    let mut group = criterion.benchmark_group("model");
    group.sample_size(10).measurement_time(Duration::from_secs(4));
    let worlds = [("no annotations", world::ingress as fn(usize) -> Ingress), ("ten annotations each", world::annotated)];
    let keys = [
        ("only NGINX's globals use", "keep-alive", ["30", "60"]),
        ("is a default of annotations", "proxy-read-timeout", ["30", "90"]),
        ("is a default of backends", "load-balance", ["ewma", "round_robin"]),
        ("decides what annotations may be", "annotations-risk-level", ["Critical", "High"]),
    ];
    for ((with, ingress), (what, key, values)) in worlds.into_iter().flat_map(|world| keys.map(|key| (world, key))) {
        let mut snapshot = world::snapshot(size, ingress);
        let mut builder = Builder::new(settings.clone());
        let mut old = builder.build(&snapshot);
        let mut turn = 0;
        group.bench_function(BenchmarkId::new(format!("build, plan and delta after a key that {what}, {with}"), size), |bencher| {
            bencher.iter(|| {
                turn += 1;
                let data = [(key.to_owned(), values[turn % 2].to_owned())];
                let map = ConfigMap { data: Some(data.into()), ..ConfigMap::default() };
                snapshot.config_maps.insert(world::key("settings".into()), Arc::new(map));
                let new = builder.build(&snapshot);
                let result = plan(&old.model, &new.model);
                old = new;
                black_box(result)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, model, annotated, configured);
criterion_main!(benches);
