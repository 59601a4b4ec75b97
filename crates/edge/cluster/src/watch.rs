//! One feed: a list and watch whose steps go to the owner of the stores.

use std::time::Duration;

use kube::Client;
use tokio::sync::{mpsc, watch};

use crate::backoff::Retry;
use crate::decode::Fetched;
use crate::feed::Feed;
use crate::kinds::{Kind, Watched};
use crate::list_watch::{Closed, ListWatch, Sink};
use crate::message::{Input, Message};

/// The connections of a feed to the server and to the owner of the stores.
#[derive(Debug, Clone)]
pub(crate) struct Wiring {
    pub(crate) out: mpsc::Sender<Message>,
    /// Turns true when it is known which Secrets and ConfigMaps to keep.
    pub(crate) references_known: watch::Receiver<bool>,
    pub(crate) retry: Retry,
    /// The wait before IngressClasses that may not be listed are tried again.
    pub(crate) forbidden_retry: Duration,
}

/// Runs a feed until the owner of the stores is gone.
pub(crate) async fn run<K: Watched>(client: Client, number: usize, feed: Feed, mut wiring: Wiring) -> &'static str {
    if K::KIND.by_reference() && wiring.references_known.wait_for(|known| *known).await.is_err() {
        return K::KIND.task();
    }
    let watch = ListWatch {
        api: K::api(client, feed.scope.namespace()),
        kind: K::KIND.name(),
        scope: feed.scope.describe(),
        labels: feed.labels(),
        fields: feed.fields(),
        page: feed.page(),
        retry: wiring.retry,
        forbidden_retry: (K::KIND == Kind::IngressClass).then_some(wiring.forbidden_retry),
    };
    let Closed = watch.run(Outlet { number, out: wiring.out }).await;
    K::KIND.task()
}

struct Outlet {
    number: usize,
    out: mpsc::Sender<Message>,
}

impl<K: Watched> Sink<Fetched<K>> for Outlet {
    async fn take(&mut self, step: Input<K>) -> Result<(), Closed> {
        self.out.send(K::message(self.number, step)).await.map_err(|_| Closed)
    }
}
