//! Build, plan and render at 1,000 and 10,000 Ingresses: from nothing, and after one change.

use std::hint::black_box;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bench::world;
use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use model::settings::PemPair;
use model::{Builder, Live, Settings, plan};
use render::{Capabilities, Paths};

const SIZES: [usize; 2] = [1_000, 10_000];

fn settings() -> Settings {
    let certificate = testkit::kube::mk_certificate(&["ingress.local"]).expect("a certificate can be made");
    Settings { fallback_certificate: PemPair { chain: certificate.certificate_pem, key: certificate.key_pem }, ..Settings::default() }
}

fn model(criterion: &mut Criterion) {
    let settings = settings();
    let mut group = criterion.benchmark_group("model");
    group.sample_size(10).measurement_time(Duration::from_secs(4));
    for size in SIZES {
        let snapshot = world::snapshot(size);
        group.bench_function(BenchmarkId::new("build from nothing", size), |bencher| {
            // By reference: dropping what was built is not part of building it.
            bencher.iter_batched_ref(
                || Builder::new(settings.clone()),
                |builder| black_box(builder.build(&snapshot)),
                BatchSize::PerIteration,
            );
        });

        let mut builder = Builder::new(settings.clone());
        let built = builder.build(&snapshot);
        let mut turn = 0u16;
        group.bench_function(BenchmarkId::new("build, plan and delta after an endpoint change", size), |bencher| {
            let mut old = built.clone();
            bencher.iter(|| {
                turn = turn.wrapping_add(1);
                let mut changed = snapshot.clone();
                let endpoint = SocketAddr::from(([10, 1, (turn >> 8) as u8, turn as u8], 8080));
                let slice = world::namespaced(world::slice(size / 2, endpoint));
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
                let mut ingress = world::namespaced(world::ingress(size / 2));
                ingress.metadata.name = Some("new".into());
                ingress
                    .spec
                    .iter_mut()
                    .flat_map(|spec| spec.rules.iter_mut().flatten())
                    .for_each(|rule| rule.host = Some("new.example.com".into()));
                changed.ingresses.insert(world::key("new".into()), Arc::new(ingress));
                let new = builder.build(&changed);
                let result = plan(&built.model, &new.model);
                builder.build(&snapshot);
                black_box(result)
            });
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

criterion_group!(benches, model);
criterion_main!(benches);
