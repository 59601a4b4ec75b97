//! `narthex compare`.

use std::fs::File;
use std::io::{self, BufReader, IsTerminal};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};
use migrate::address::Address;
use migrate::compare::{Comparison, Options};
use migrate::known;
use migrate::probe::{self, probes};
use migrate::report::{CompareReport, Style};
use migrate::request::{Request, Scheme};
use migrate::site::{Scope, Site, sites};
use migrate::traffic::{self, LogSelection};
use model::{Ingress, ObjectKey};

use crate::args::{CompareArgs, Format, SourceArgs};
use crate::output;

/// Compares and prints; the exit code says whether both answer alike.
pub(crate) fn compare(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let runtime = super::run::runtime()?;
    let ingresses = runtime.block_on(ingresses(&args.source, args.namespace.as_deref()))?;
    let scope = Scope { class: args.class.clone(), namespace: args.namespace.clone(), annotations_prefix: args.annotations_prefix.clone() };
    let sites = sites(ingresses.iter().map(|(key, ingress)| (key, &**ingress)), &scope);
    let options = args.ask.options(&args.old, &args.new);
    let mut notes = Vec::new();
    let schemes = schemes(&options, &mut notes)?;
    let requests = requests(args, &sites, &schemes, &mut notes)?;
    if requests.is_empty() {
        bail!("there is nothing to compare: {}", nothing(args, ingresses.len(), sites.len()));
    }
    let report = runtime.block_on(async {
        let comparison = Comparison::new(options)?;
        if let Err(unreached) = comparison.reach(&requests).await {
            return Ok(Err(unreached));
        }
        let progress = Progress::new(requests.len());
        let report = comparison.run(requests, &known::Context::new(sites), |done| progress.show(done)).await;
        progress.end();
        anyhow::Ok(Ok(report))
    })?;
    let mut report = match report {
        Ok(report) => report,
        Err(unreached) => {
            unreached.iter().for_each(|one| output::remark(format_args!("narthex: {one}")));
            return Ok(ExitCode::from(crate::USAGE));
        }
    };
    report.notes = notes;
    print(&report, args)?;
    Ok(if report.is_equal() { ExitCode::SUCCESS } else { ExitCode::from(crate::FAILED) })
}

/// All Ingresses of the directory or of the cluster.
pub(crate) async fn ingresses(source: &SourceArgs, namespace: Option<&str>) -> anyhow::Result<Vec<(ObjectKey, Arc<Ingress>)>> {
    if let Some(dir) = &source.manifests {
        let loaded = manifests::load(dir)?;
        return Ok(loaded.snapshot.ingresses.iter().map(|(key, ingress)| (key.clone(), ingress.clone())).collect());
    }
    let client = cluster::connect(&source.api.connect_options()).await?;
    let found = cluster::Editor::new(client).ingresses(namespace, "").await?;
    Ok(found.into_iter().map(|(key, ingress)| (key, Arc::new(ingress))).collect())
}

fn schemes(options: &Options, notes: &mut Vec<String>) -> anyhow::Result<Vec<Scheme>> {
    let schemes = options.schemes();
    for scheme in Scheme::ALL.into_iter().filter(|scheme| !schemes.contains(scheme)) {
        let one_sided = |address: &Address, other: &Address| address.port(scheme).is_none() && other.port(scheme).is_some();
        for (flag, lacks) in [("--old", one_sided(&options.old, &options.new)), ("--new", one_sided(&options.new, &options.old))] {
            if lacks {
                notes.push(format!("{} is not compared: {flag} has no port for it", scheme.label().to_ascii_uppercase()));
            }
        }
    }
    if schemes.is_empty() {
        bail!("--old {} and --new {} have no port for the same scheme: expected HOST:HTTP,HTTPS", options.old, options.new);
    }
    Ok(schemes)
}

fn requests(args: &CompareArgs, sites: &[Site], schemes: &[Scheme], notes: &mut Vec<String>) -> anyhow::Result<Vec<Request>> {
    let style = probe::Style { schemes: schemes.to_vec(), all_methods: args.ask.all_methods };
    let mut requests = match args.log.no_probes {
        true => Vec::new(),
        false => sites.iter().flat_map(|site| probes(site, &style)).collect(),
    };
    if let Some(log) = &args.log.access_log {
        let taste = LogSelection {
            schemes: schemes.to_vec(),
            all_methods: args.ask.all_methods,
            sample: args.log.sample,
            host: args.log.log_host.as_ref().map(|host| host.to_ascii_lowercase()),
            format: args.log.access_log_format.clone(),
        };
        let traffic = match log.as_str() {
            "-" => traffic::read(io::stdin().lock(), sites, &taste),
            path => File::open(path).and_then(|file| traffic::read(BufReader::new(file), sites, &taste)),
        };
        let traffic = traffic.with_context(|| format!("--access-log {log:?} can't be read"))?;
        notes.push(format!("{} requests of {} lines of the access log are sent", traffic.requests.len(), traffic.lines));
        notes.extend(traffic.skipped.iter().map(|(reason, count)| format!("{count} lines of the access log are passed over: {reason}")));
        requests.extend(traffic.requests);
    }
    Ok(requests)
}

fn nothing(args: &CompareArgs, ingresses: usize, sites: usize) -> String {
    match (&args.class, ingresses, sites) {
        (_, 0, _) => "there are no Ingresses".into(),
        (Some(class), _, 0) => format!("none of {ingresses} Ingresses has the class {class:?} (and the namespace, if one is given)"),
        (None, _, 0) => format!("none of {ingresses} Ingresses has a rule"),
        _ => "the access log has no request that can be sent".into(),
    }
}

fn print(report: &CompareReport, args: &CompareArgs) -> anyhow::Result<()> {
    let text = match args.output {
        Format::Json => serde_json::to_string_pretty(&report.json())? + "\n",
        Format::Text => report.text(Style { all: args.all, colours: io::stdout().is_terminal() }),
    };
    output::text(text)
}

/// The progress, on one line of a terminal.
pub(crate) struct Progress {
    total: usize,
    shown: bool,
}

impl Progress {
    /// The progress of this many requests.
    pub(crate) fn new(total: usize) -> Self {
        Self { total, shown: io::stderr().is_terminal() }
    }

    /// Shows the number of requests that are done.
    pub(crate) fn show(&self, done: usize) {
        if self.shown && (done.is_multiple_of(16) || done == self.total) {
            output::aside(format_args!("\r{done} of {} requests", self.total));
        }
    }

    /// Clears the line.
    pub(crate) fn end(&self) {
        if self.shown {
            output::aside("\r\x1b[K");
        }
    }
}
