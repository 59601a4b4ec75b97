//! Events on our own Pod about failures and their end.

use std::sync::Arc;

use cluster::{EventSender, EventWriter, EventWriterOptions};
use model::{ObjectKey, ObjectRef};
use nginx_watch::{EventReporter, ReloadReport};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::{info, warn};

use crate::args::WatchArgs;
use crate::commands::pod::{has_api, pod};

/// More than one a second in the long run would be noise.
const RATE: u32 = 1;
const BURST: u32 = 10;

/// Starts to write them, where there is an API server and it is known which Pod this is. Whatever is missing is no reason not to watch.
pub(super) async fn start(args: &WatchArgs, reports: watch::Receiver<Option<Arc<ReloadReport>>>, tasks: &mut JoinSet<&'static str>) {
    if args.disable_sync_events || !has_api(&args.api) {
        return;
    }
    let Some(pod) = pod() else {
        return info!("no Events: POD_NAME and POD_NAMESPACE don't say which Pod this is");
    };
    let client = match cluster::connect(&args.api.connect_options()).await {
        Ok(client) => client,
        Err(error) => return warn!(error = cluster::chain(&error), "no Events: there is no client for the API server"),
    };
    let options =
        EventWriterOptions { component: "narthex-watch".into(), rate: RATE, burst: BURST, ..EventWriterOptions::new(pod.name.to_string()) };
    // The only object of Events is the Pod, which the writer looks up.
    let (_, nothing) = watch::channel(None);
    let events = EventWriter::spawn(client, options, nothing, None, tasks);
    info!(%pod, "Events are written for failures and their end");
    tasks.spawn(notify(pod, reports, events));
}

async fn notify(pod: ObjectKey, mut reports: watch::Receiver<Option<Arc<ReloadReport>>>, events: EventSender) -> &'static str {
    let mut reporter = EventReporter::default();
    loop {
        let report = reports.borrow_and_update().clone();
        if let Some(change) = report.and_then(|report| reporter.change(&report)) {
            let pod = ObjectRef::namespaced("Pod", &pod);
            if change.is_warning {
                events.warning(pod, change.reason, change.message);
            } else {
                events.normal(pod, change.reason, change.message);
            }
        }
        if reports.changed().await.is_err() {
            return "the reporter of Events";
        }
    }
}
