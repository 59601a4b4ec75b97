//! Reloads that tenants ask for, below clients of one of them that stay.

use testkit::manifests::redirect_with;

use crate::bed::Bed;
use crate::endurance::bed;
use crate::tunnels::Tunnels;

/// An Ingress of a namespace that needs a profile of its own; its host is redirected to that number.
fn tenant(bed: &Bed, namespace: &str, number: usize) {
    let text = redirect_with(namespace, &target(number), &[("proxy-buffer-size", &format!("{number}k"))]);
    bed.write(&format!("{namespace}.yaml"), &text.replacen("metadata:\n", &format!("metadata:\n  namespace: {namespace}\n"), 1));
}

fn target(number: usize) -> String {
    format!("https://n{number}.example.com")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_whose_websockets_stay_keeps_no_other_tenants_profile_from_being_loaded() {
    let bed = bed().await;
    let mut tunnels = Vec::new();
    let waits = || bed.log().contains("namespace evil asks for waits");
    let mut number = 100;
    while !waits() {
        // Enough for each worker to have some.
        tunnels.push(Tunnels::open(bed.http(), "echo.example.com", 8).await);
        number += 1;
        tenant(&bed, "evil", number);
        bed.until("evil is served, or waits", || async {
            anyhow::ensure!(waits() || bed.target("evil.example.com").await? == target(number));
            Ok(())
        })
        .await;
    }
    assert!((12..16).contains(&(tunnels.len() - 1)), "{} generations", tunnels.len() - 1);
    assert_eq!(bed.metric("narthex_reload_waits", "").await, 1.0);
    tenant(&bed, "shop", 90);
    bed.leads("shop.example.com", &target(90)).await;
    // What waited goes along.
    bed.leads("evil.example.com", &target(number)).await;
    for lot in &mut tunnels {
        lot.check().unwrap();
    }
    // It waits again, and others do not.
    tenant(&bed, "evil", number + 1);
    bed.until("evil waits", || async {
        anyhow::ensure!(bed.metric("narthex_reload_waits", "").await == 1.0);
        Ok(())
    })
    .await;
    tenant(&bed, "shop", 91);
    bed.leads("shop.example.com", &target(91)).await;
    // Its own clients leave.
    tenant(&bed, "evil", number + 2);
    tunnels.clear();
    bed.leads("evil.example.com", &target(number + 2)).await;
}
