//! The plots of docs/performance, drawn from the table of docs/benchmarks.md.
//!
//! What was measured in different runs is compared only by its ratio to plain NGINX in the same run: the machine was not the same.

pub mod chart;
pub mod page;
pub mod scale;
pub mod svg;

use std::path::Path;

use anyhow::Context;

use chart::{Chart, Group, Mark, Series};
use page::{Page, Row, behind, numbers};

/// Name of a file, and its content.
pub type Plot = (&'static str, String);

/// Draws all plots of a page. Rows that a run left out are left out; a plot without any row is not drawn.
pub fn draw(page: &str) -> Vec<Plot> {
    let page = Page::read(page);
    let ranges = [("effect.svg", effect(&page)), ("isolation.svg", isolation(&page))];
    let shares = [("requests.svg", requests(&page)), ("traffic.svg", traffic(&page))];
    let plots = ranges.into_iter().filter(|(_, chart)| !chart.groups.is_empty()).map(|(name, chart)| (name, chart.ranges(time)));
    let plots =
        plots.chain(shares.into_iter().filter(|(_, chart)| !chart.groups.is_empty()).map(|(name, chart)| (name, chart.bars(share))));
    let memory = Some(memory(&page)).filter(|chart| !chart.groups.is_empty());
    plots.chain(memory.map(|chart| ("memory.svg", chart.bars(|mb| format!("{mb} MB"))))).collect()
}

/// Reads the page, and writes its plots into a directory, which is made.
///
/// # Errors
/// A file can't be read or written.
pub fn write(page: &Path, directory: &Path) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(page).with_context(|| page.display().to_string())?;
    std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    for (name, content) in draw(&text) {
        let path = directory.join(name);
        std::fs::write(&path, content).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

/// Milliseconds for people.
fn time(ms: f64) -> String {
    match ms {
        ms if ms >= 1000.0 => format!("{} s", short(ms / 1000.0)),
        ms => format!("{} ms", short(ms)),
    }
}

fn short(value: f64) -> String {
    if value >= 100.0 || value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

fn share(value: f64) -> String {
    format!("{value:.1}")
}

/// The range from the median to the 99th percentile, or to the longest.
fn range(series: Series, text: &str) -> Option<Mark> {
    let from = behind(text, "p50")?;
    let to = behind(text, "p99").or_else(|| behind(text, "max")).unwrap_or(from);
    let shown = if to > from { format!("{} to {}", time(from), time(to)) } else { time(from) };
    // `p50 10,320 ms at 5,000`: measured with that many.
    let shown = text.split_once(" at ").map_or(shown.clone(), |(_, count)| format!("{shown} (at {count} Ingresses)"));
    Some(Mark { series, from, to, text: shown })
}

/// A lower bound: `over 8,000 ms`.
fn bound(text: &str) -> Option<Mark> {
    let from = behind(text, "over ")?;
    Some(Mark { series: Series::Peer, from, to: from, text: format!("over {}", time(from)) })
}

/// Of quantities with their labels those that the page has.
fn groups<'a>(rows: impl IntoIterator<Item = (&'a str, &'a str)>, page: &Page<'_>, marks: impl Fn(Row<'_>) -> Vec<Mark>) -> Vec<Group> {
    let found = rows.into_iter().filter_map(|(what, label)| Some(Group { label: label.to_owned(), marks: marks(page.row(what)?) }));
    found.filter(|group| !group.marks.is_empty()).collect()
}

fn effect(page: &Page<'_>) -> Chart {
    let rows = [
        ("endpoint change served, 1000 Ingresses", "endpoint, 1,000 Ingresses: live"),
        ("endpoint change served, 10000 Ingresses", "endpoint, 10,000 Ingresses: live"),
        ("new Ingress served, known profile, 1000 Ingresses", "new Ingress, 1,000 Ingresses: live"),
        ("new Ingress served, known profile, 10000 Ingresses", "new Ingress, 10,000 Ingresses: live"),
        ("new Ingress served, new profile, 10000 Ingresses", "new Ingress, 10,000 Ingresses: reload"),
    ];
    let marks = |row: Row<'_>| -> Vec<Mark> {
        let peer = range(Series::Peer, row.peer).or_else(|| bound(row.peer));
        range(Series::Own, row.figure).into_iter().chain(peer).collect()
    };
    Chart {
        title: "Time until a change is served".into(),
        axis: "from the median (dot) to the 99th percentile or the longest (ring); logarithmic, less is better".into(),
        groups: groups(rows, page, marks),
    }
}

fn isolation(page: &Page<'_>) -> Chart {
    let rows = [
        ("endpoint change served, 1000 Ingresses", "endpoint: live, alone"),
        ("endpoint change served beside a hostile tenant", "the same beside a hostile tenant"),
        ("new Ingress served, known profile, 1000 Ingresses", "new Ingress: live, alone"),
        ("new Ingress served beside a hostile tenant", "the same beside a hostile tenant"),
        ("new Ingress served, new profile, 10000 Ingresses", "new Ingress: reload, alone"),
        ("new Ingress, new profile, served beside a hostile tenant", "the same beside a hostile tenant"),
    ];
    Chart {
        title: "The same changes beside a hostile tenant".into(),
        axis: "from the median (dot) to the 99th percentile or the longest (ring); logarithmic, less is better".into(),
        groups: groups(rows, page, |row| range(Series::Own, row.figure).into_iter().collect()),
    }
}

fn one(series: Series, value: f64) -> Mark {
    Mark { series, from: value, to: value, text: format!("{value:.2}") }
}

/// Small requests. Each figure is a ratio to the plain NGINX of its own run.
fn requests(page: &Page<'_>) -> Chart {
    let rows = [
        ("throughput, metrics on, plain NGINX bare proxy = 1", "a second, bare proxy"),
        ("throughput, metrics on, plain NGINX with the headers = 1", "a second, with the headers"),
        ("throughput, metrics on, plain NGINX with headers and access log = 1", "a second, headers and access log"),
    ];
    let marks = |own: Option<f64>, peer: Option<f64>| {
        let plain = own.map(|_| one(Series::Plain, 1.0));
        plain.into_iter().chain(own.map(|own| one(Series::Own, own))).chain(peer.map(|peer| one(Series::Peer, peer))).collect::<Vec<_>>()
    };
    let mut groups = groups(rows, page, |row| marks(numbers(row.figure).first().copied(), numbers(row.peer).first().copied()));
    let cpu = page.beginning("CPU of the workers a request:");
    groups.extend(cpu.map(|row| {
        let marks = marks(behind(row.figure, "the second is"), numbers(row.peer).last().copied());
        Group { label: "a second of CPU, with the headers".to_owned(), marks }
    }));
    Chart {
        title: "Small requests beside plain NGINX".into(),
        axis: "requests, plain NGINX in the same run = 1; more is better".into(),
        groups,
    }
}

/// Other kinds of requests, beside plain NGINX with the headers.
fn traffic(page: &Page<'_>) -> Chart {
    let rows = [
        ("a request with an answer of 16 KiB", "answers of 16 KiB"),
        ("an upload of 64 KiB", "uploads of 64 KiB"),
        ("a request of HTTP/2, 100 streams", "HTTP/2, 100 streams"),
        ("a connection of TLS, full handshake, with one request", "TLS, full handshakes"),
        ("a connection of TLS, resumed, with one request", "TLS, resumed sessions"),
    ];
    let groups = rows.into_iter().filter_map(|(what, label)| {
        let row = page.row(&format!("{what}: plain NGINX with the headers / Narthex"))?;
        let rate = *numbers(row.figure).last()?;
        Some(Group { label: label.to_owned(), marks: vec![one(Series::Plain, 1.0), one(Series::Own, rate)] })
    });
    Chart {
        title: "Other traffic beside plain NGINX".into(),
        axis: "requests a second, plain NGINX with the same headers in the same run = 1; more is better".into(),
        groups: groups.collect(),
    }
}

fn memory(page: &Page<'_>) -> Chart {
    let mark = |series: Series, mb: f64| Mark { series, from: mb, to: mb, text: format!("{} MB", short(mb)) };
    let of = |label: &str, own: Option<&f64>, peer: Option<&f64>| {
        let marks: Vec<Mark> = own.map(|mb| mark(Series::Own, *mb)).into_iter().chain(peer.map(|mb| mark(Series::Peer, *mb))).collect();
        (!marks.is_empty()).then(|| Group { label: label.to_owned(), marks })
    };
    let both = |what: &str| page.row(what).map_or((Vec::new(), Vec::new()), |row| (numbers(row.figure), numbers(row.peer)));
    let (controller, nginx) = (both("controller memory, 10,000 Ingresses"), both("NGINX master / worker after all hosts were asked"));
    let groups = [
        of("controller", controller.0.first(), controller.1.first()),
        of("NGINX: master", nginx.0.first(), nginx.1.first()),
        of("NGINX: a worker", nginx.0.get(1), nginx.1.get(1)),
    ];
    Chart {
        title: "Memory with 10,000 Ingresses".into(),
        axis: "resident memory; less is better".into(),
        groups: groups.into_iter().flatten().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = include_str!("../../../docs/benchmarks.md");

    #[test]
    fn the_plots_are_those_of_the_page() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/performance");
        let drawn = draw(PAGE);
        assert_eq!(drawn.len(), 5, "{:?}", drawn.iter().map(|(name, _)| name).collect::<Vec<_>>());
        for (name, content) in drawn {
            let file = std::fs::read_to_string(directory.join(name)).unwrap_or_default();
            assert!(file == content, "{name} is of another page: cargo run -p bench -- plot docs/benchmarks.md docs/performance");
        }
    }

    #[test]
    fn every_row_of_a_plot_is_on_the_page() {
        let page = Page::read(PAGE);
        let count = |chart: &Chart| (chart.groups.len(), chart.groups.iter().map(|group| group.marks.len()).sum::<usize>());
        assert_eq!(count(&effect(&page)), (5, 9));
        assert_eq!(count(&isolation(&page)), (6, 6));
        assert_eq!(count(&requests(&page)), (4, 10));
        assert_eq!(count(&traffic(&page)), (5, 10));
        assert_eq!(count(&memory(&page)), (3, 6));
    }

    #[test]
    fn ranges_say_what_they_are() {
        let mark = |text| range(Series::Peer, text).map(|mark| (mark.from, mark.to, mark.text));
        assert_eq!(mark("p50 2,932, p99 3,986 ms"), Some((2932.0, 3986.0, "2.9 s to 4.0 s".to_owned())));
        assert_eq!(mark("p50 10,320 ms at 5,000"), Some((10_320.0, 10_320.0, "10.3 s (at 5,000 Ingresses)".to_owned())));
        assert_eq!(mark("over 8,000 ms"), None);
        assert_eq!(bound("over 8,000 ms").map(|mark| mark.text), Some("over 8 s".to_owned()));
    }

    #[test]
    fn a_run_without_a_figure_draws_what_it_has() {
        let table = "| | Narthex | target | met | ingress-nginx 1.15.1 |\n|---|---|---|---|---|\n";
        assert_eq!(draw(table), []);
        let page = format!("{table}| controller memory, 10,000 Ingresses | 96 MB | ≤ 150 MB | yes | 488 MB |\n");
        let drawn = draw(&page);
        assert_eq!(drawn.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["memory.svg"]);
        assert!(drawn[0].1.contains("96 MB") && drawn[0].1.contains("488 MB"));
    }
}
