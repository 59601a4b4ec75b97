//! The console in Chromium, with ten thousand hosts: each view, the keyboard, what is live, and how long it takes.
//!
//! axe-core, which finds barriers for screen readers and keyboards, is in `vendor/axe-core`.

mod world;

use anyhow::{Context, ensure};
use e2e::PATIENCE;
use e2e::browser::{Browser, Screen};
use serde::Deserialize;
use serde_json::{Value, json};
use testkit::poll;
use world::{HOSTS, World, host, namespace};

const AXE: &str = include_str!("../../vendor/axe-core/axe.min.js");

const SCREENS: [Screen; 3] = [
    Screen { width: 1440, height: 900, dark: false },
    Screen { width: 1440, height: 900, dark: true },
    Screen { width: 390, height: 844, dark: false },
];

/// Whether the view is complete: what was asked for is there.
const COMPLETE: &str = "return Boolean(document.querySelector('main h1')) && !document.querySelector('[aria-busy], .skeleton')
    && document.querySelector('.connection').textContent === 'Live'";

/// The serious barriers that axe-core finds.
const VIOLATIONS: &str = "return axe.run(document, {resultTypes: ['violations']}).then(({violations}) => violations
    .filter(({impact}) => impact === 'serious' || impact === 'critical')
    .map(({id, nodes}) => `${id}: ${nodes.map(({html}) => html.slice(0, 200)).join(' ')}`))";

/// From the start of the load until a row, or a stage, is drawn.
const FIRST_VIEW: &str = "return new Promise((done) => {
    const look = () => document.querySelector('.list-row a, .stage-lead') ? done(performance.now()) : requestAnimationFrame(look);
    look();
})";

/// From a search until its answer is drawn, and how many match.
const SEARCH: &str = "const [text] = arguments;
    const [input, list, total] = ['[data-search]', '.list', '.total'].map((name) => document.querySelector(name));
    const start = performance.now();
    input.value = text;
    input.dispatchEvent(new Event('input', {bubbles: true}));
    return new Promise((done) => {
        const look = () => list.hasAttribute('aria-busy') ? requestAnimationFrame(look)
            : requestAnimationFrame(() => done({milliseconds: performance.now() - start, total: total.textContent}));
        look();
    })";

/// Where the keys led to: the text of the row that has the focus, after each.
const KEYS: &str = "const [keys] = arguments;
    document.querySelector('.list-row a[tabindex=\"0\"]').focus();
    return keys.map((key) => {
        document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));
        return document.activeElement.textContent;
    })";

/// Opens a view and waits until it is complete.
async fn open(browser: &Browser, world: &World, hash: &str) -> anyhow::Result<()> {
    browser.open(&world.url(hash)).await?;
    complete(browser).await.with_context(|| format!("the view {hash}"))
}

async fn complete(browser: &Browser) -> anyhow::Result<()> {
    poll(PATIENCE, || async {
        ensure!(browser.run::<bool>(COMPLETE, json!([])).await?, "it is not complete");
        Ok(())
    })
    .await
}

/// Waits until an element has this text.
async fn shows(browser: &Browser, selector: &str, text: &str) -> anyhow::Result<()> {
    poll(PATIENCE, || async {
        let found: String = browser.run("return document.querySelector(arguments[0])?.textContent ?? ''", json!([selector])).await?;
        ensure!(found.contains(text), "{selector} does not show {text:?} but {found:?}");
        Ok(())
    })
    .await
}

/// The views, each with what it must show.
fn views() -> Vec<(String, &'static str, String)> {
    let (name, team) = (host(150), namespace(150));
    let view = |hash: &str, selector, text: &str| (hash.to_owned(), selector, text.to_owned());
    vec![
        view("now", ".hero", "Reloads avoided"),
        view("hosts", ".total", "10,001 hosts"),
        view(&format!("hosts/{name}"), ".paths", "/cart"),
        view("ingresses", ".total", "10,000 Ingresses"),
        view(&format!("ingresses/{team}%2Fshop-00150"), "main", &name),
        view("backends", ".total", "backends"),
        view(&format!("backends/{team}%2Fshop%3A80"), "main", "Round robin"),
        view(&format!("explain?url=https%3A%2F%2F{name}%2Fcart"), ".steps", "The path as a whole"),
        view("problems?q=send-timeout", ".list", "shop-00003"),
        view("problems?tab=budgets", "main", "Budgets"),
        view("problems?tab=quarantine", ".list", "Nothing in quarantine"),
        view("certificates", ".total", "201 certificates"),
        view("changes", ".timeline", "NGINX started"),
        view("changes?tab=revisions", ".revisions", "Start"),
        view("nginx", "main", "Takes connections"),
        view("settings?q=keep-alive", ".list", "keep-alive"),
        view("hosts/unknown.example", "main", "Not found"),
    ]
}

/// One world for all of it: most of the time goes into reading ten thousand hosts.
#[tokio::test]
async fn at_ten_thousand_hosts_every_view_is_complete_a_list_is_searched_and_changes_are_live() -> anyhow::Result<()> {
    let mut world = World::start().await?;
    every_view_is_complete_and_without_serious_barriers(&world).await.context("each view")?;
    a_list_is_searched_and_gone_through_by_keys(&world).await.context("the list of hosts")?;
    a_change_of_endpoints_is_shown_as_live_and_a_lost_controller_too(&mut world).await.context("an open page")
}

async fn every_view_is_complete_and_without_serious_barriers(world: &World) -> anyhow::Result<()> {
    world.scale(&namespace(150), 3)?;
    let browser = Browser::start().await?;
    let mut found = Vec::new();
    for screen in SCREENS {
        browser.show_as(screen).await?;
        for (hash, selector, text) in views() {
            open(&browser, world, &hash).await?;
            shows(&browser, selector, &text).await.with_context(|| format!("the view {hash}"))?;
            browser.run::<Value>(AXE, json!([])).await?;
            let violations: Vec<String> = browser.run(VIOLATIONS, json!([])).await?;
            found.extend(violations.into_iter().map(|violation| format!("{hash}, {screen:?}: {violation}")));
            let wider: bool = browser.run("return document.documentElement.scrollWidth > innerWidth", json!([])).await?;
            ensure!(!wider, "{hash} is wider than {screen:?}");
            // That a host is unknown is an answer, which browsers log as an error.
            let complaints = browser.complaints().await?;
            found.extend(complaints.into_iter().filter(|complaint| !complaint.contains("unknown.example")));
        }
    }
    ensure!(found.is_empty(), "{}", found.join("\n"));
    Ok(())
}

async fn a_list_is_searched_and_gone_through_by_keys(world: &World) -> anyhow::Result<()> {
    #[derive(Debug, Deserialize)]
    struct Found {
        milliseconds: f64,
        total: String,
    }
    let browser = Browser::start().await?;
    let mut lines = Vec::new();
    for hash in ["now", "hosts"] {
        open(&browser, world, hash).await?;
        browser.open(&world.url(hash)).await?;
        let milliseconds: f64 = browser.run(FIRST_VIEW, json!([])).await?;
        lines.push(format!("first view of {hash}: {milliseconds:.0} ms"));
    }
    complete(&browser).await?;
    for (text, total) in [("shop-0", "10,000 hosts"), ("09999", "1 host"), ("<b>", "0 hosts"), ("", "10,001 hosts")] {
        let found: Found = browser.run(SEARCH, json!([text])).await?;
        ensure!(found.total == total, "{text:?}: {found:?}");
        lines.push(format!("search for {text:?} in {HOSTS} hosts: {:.0} ms", found.milliseconds));
    }
    print(&lines);

    let keys: Vec<String> = browser.run(KEYS, json!([["ArrowDown", "ArrowDown", "ArrowUp"]])).await?;
    // The first row is that of all other hosts.
    ensure!(keys == [host(0), host(1), host(0)], "{keys:?}");
    let press =
        "document.querySelector('.list-row a[tabindex=\"0\"]').dispatchEvent(new KeyboardEvent('keydown', {key: 'End', bubbles: true}))";
    poll(PATIENCE, || async {
        browser.run::<Value>(press, json!([])).await?;
        shows_last(&browser).await
    })
    .await?;
    let rows: usize = browser.run("return document.querySelectorAll('.list-row').length", json!([])).await?;
    ensure!(rows < 100, "{rows} rows are in the document");

    // The address has the search, and what a link leads to is the same.
    browser.run::<Value>(SEARCH, json!(["00123"])).await?;
    let address: String = browser.run("return location.hash", json!([])).await?;
    open(&browser, world, address.trim_start_matches("#/")).await?;
    shows(&browser, ".list-row .main", &host(123)).await?;
    browser.run::<Value>("document.querySelector('.list-row a').click()", json!([])).await?;
    shows(&browser, "h1", &host(123)).await?;
    ensure!(browser.complaints().await?.is_empty());
    Ok(())
}

async fn shows_last(browser: &Browser) -> anyhow::Result<()> {
    let last: String = browser.run("return [...document.querySelectorAll('.list-row a')].at(-1)?.textContent ?? ''", json!([])).await?;
    ensure!(last == host(HOSTS - 1), "the last row is {last}");
    Ok(())
}

async fn a_change_of_endpoints_is_shown_as_live_and_a_lost_controller_too(world: &mut World) -> anyhow::Result<()> {
    let browser = Browser::start().await?;
    open(&browser, world, "now").await?;
    let reloads = world.controller.reloads().await?;
    world.scale(&namespace(0), 2)?;
    shows(&browser, ".feed .event[data-kind=live]", &namespace(0)).await?;
    shows(&browser, "[data-stage=plan]", "Live, no reload").await?;
    ensure!(world.controller.reloads().await? == reloads, "a reload");

    // What a tenant wrote is text.
    open(&browser, world, "problems?q=send-timeout").await?;
    browser.run::<Value>("document.querySelector('.list-row a').click()", json!([])).await?;
    shows(&browser, ".aside", "<b>soon</b>").await?;
    ensure!(browser.complaints().await?.is_empty());

    world.controller.kill()?;
    shows(&browser, ".banner", "Disconnected").await?;
    world.controller.spawn()?;
    world.serves_all().await?;
    shows(&browser, ".connection", "Live").await
}

#[expect(clippy::print_stdout, reason = "what was measured is for the reader of the log, no bound of a test")]
fn print(lines: &[String]) {
    println!("{}", lines.join("\n"));
}
