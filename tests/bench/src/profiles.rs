//! A hundred profiles that NGINX does not know yet, all wanted at one moment.

use std::time::{Duration, Instant};

use k8s_openapi::api::networking::v1::{Ingress, IngressClass};
use kube::Api;
use kube::api::{DeleteParams, ListParams, PostParams};
use testkit::kube::{Namespace, PathType, create_all, mk_ingress, mk_ingress_class};

use crate::controller::Controller;
use crate::measure::Prober;
use crate::report::{BenchReport, ms};

/// Number of profiles.
const COUNT: usize = 100;
/// The class that they wait for.
const CLASS: &str = "later";
const LABEL: &str = "profiles";
/// Reloads are spaced: the measurement begins after a quiet time.
const QUIET: Duration = Duration::from_secs(4);

/// Adds that many Ingresses with a profile each, of a class that does not exist yet, and makes the class: so one answer of the API server asks for all of them.
/// Takes them away again. The Service `s0` must be there.
///
/// # Errors
/// They are not all served within a minute.
pub async fn measure(namespace: &Namespace, controller: &Controller, report: &mut BenchReport) -> anyhow::Result<()> {
    create_all(namespace.client(), namespace.name(), (0..COUNT).map(ingress)).await?;
    tokio::time::sleep(QUIET).await;
    let before = Reloads::of(controller).await?;

    let classes: Api<IngressClass> = Api::all(namespace.client().clone());
    classes.create(&PostParams::default(), &mk_ingress_class(CLASS, "k8s.io/ingress-nginx")).await?;
    let began = Instant::now();
    let mut prober = Prober::new(controller.http());
    for number in 0..COUNT {
        prober.until(&host(number), |response| response.status == 200).await?;
    }
    let served = began.elapsed();

    let after = Reloads::of(controller).await?;
    let (reload, reloads) = (after.spent.saturating_sub(before.spent), after.count - before.count);
    let figure = format!("{}, all served after {}, {reloads} reloads", ms(reload), ms(served));
    let met = reload <= Duration::from_millis(200) && reloads == 1.0;
    report.add(format!("reload for {COUNT} distinct profiles at once"), figure, "≤ 200 ms, one reload", met, "");

    namespace.api::<Ingress>().delete_collection(&DeleteParams::default(), &ListParams::default().labels(LABEL)).await?;
    classes.delete(CLASS, &DeleteParams::default()).await?;
    Ok(())
}

fn host(number: usize) -> String {
    format!("profile{number}.example.com")
}

fn ingress(number: usize) -> Ingress {
    let begun = mk_ingress(&format!("profile{number}"))
        .class(CLASS)
        .label(LABEL, "true")
        .annotation("proxy-buffer-size", &format!("{}k", 8 + number));
    begun.host(&host(number)).path("/", PathType::Prefix, "s0", 80).build()
}

/// Reloads so far.
struct Reloads {
    count: f64,
    /// Rendering, testing, reloading and confirming, of all of them.
    spent: Duration,
}

impl Reloads {
    async fn of(controller: &Controller) -> anyhow::Result<Self> {
        let spent = controller.metric(r#"narthex_stage_seconds_sum{stage="reload"}"#).await?;
        Ok(Self { count: controller.metric("narthex_reloads_total").await?, spent: Duration::from_secs_f64(spent) })
    }
}
