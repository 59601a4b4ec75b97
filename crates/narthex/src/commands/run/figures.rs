//! Figures about NGINX and its processes as families.

use std::collections::BTreeMap;

use controller::Loaded;
use nginx::{Connections, Dictionary, Usage};
use ops::{Exposition, Family, labels};

const WORKERS: Family =
    Family::gauge("narthex_workers", "Workers of NGINX by the revision that they run, and whether they accept connections.")
        .without_prefix();
const OLD_CONNECTIONS: Family = Family::gauge(
    "narthex_old_worker_connections",
    "Connections, of clients and to endpoints, that keep workers of earlier configurations from ending.",
)
.without_prefix();
const CAPACITY: Family = Family::gauge("narthex_dictionary_bytes", "Size of a shared dictionary.").without_prefix();
const FREE: Family =
    Family::gauge("narthex_dictionary_free_bytes", "Bytes in free pages of a shared dictionary; partly used pages count as used.")
        .without_prefix();

pub(super) fn write_connections(constant: &str, connections: &Connections, out: &mut Exposition) {
    let state = |name: &str| format!("{constant},{}", labels(&[("state", name)]));
    let now = [
        (state("active"), connections.active as f64),
        (state("reading"), connections.reading as f64),
        (state("writing"), connections.writing as f64),
        (state("waiting"), connections.waiting as f64),
    ];
    Family::gauge("nginx_process_connections", "Open connections of clients by what they do.").write(&now, out);
    let total = [(state("accepted"), connections.accepted as f64), (state("handled"), connections.handled as f64)];
    Family::counter("nginx_process_connections_total", "Connections since NGINX was started.").write(&total, out);
    let requests = [(constant.to_owned(), connections.requests as f64)];
    Family::counter("nginx_process_requests_total", "Requests since NGINX was started, internal ones included.").write(&requests, out);
}

pub(super) fn write_usage(constant: &str, usage: &Usage, out: &mut Exposition) {
    let families = [
        (Family::gauge("nginx_process_num_procs", "Processes of NGINX."), usage.processes as f64),
        (
            Family::gauge("nginx_process_num_old_workers", "Workers of earlier configurations, which finish connections."),
            usage.old_workers as f64,
        ),
        (Family::counter("nginx_process_cpu_seconds_total", "Processor seconds of NGINX, user and system."), usage.cpu_seconds),
        (Family::counter("nginx_process_read_bytes_total", "Bytes that NGINX read from storage."), usage.read_bytes as f64),
        (Family::counter("nginx_process_write_bytes_total", "Bytes that NGINX wrote to storage."), usage.write_bytes as f64),
        (Family::gauge("nginx_process_resident_memory_bytes", "Resident memory of NGINX's processes."), usage.resident_bytes as f64),
        (Family::gauge("nginx_process_virtual_memory_bytes", "Address space of NGINX's processes."), usage.virtual_bytes as f64),
        (
            Family::gauge("nginx_process_oldest_start_time_seconds", "When the oldest process was started, as unix time."),
            usage.oldest_start_seconds,
        ),
    ];
    for (family, value) in families {
        family.write(&[(constant.to_owned(), value)], out);
    }
}

/// The workers by revision. `loaded`: that of the present ones, and those of earlier ones as far as they are known.
pub(super) fn write_workers(usage: &Usage, loaded: &Loaded, out: &mut Exposition) {
    let mut workers: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    let mut connections: BTreeMap<&str, f64> = BTreeMap::new();
    for worker in &usage.workers {
        let earlier = || loaded.earlier.get(&(worker.pid, worker.start)).map_or("", |revision| &**revision);
        let (generation, revision) = if worker.leaving { ("old", earlier()) } else { ("current", loaded.revision.as_str()) };
        *workers.entry((generation, revision)).or_default() += 1.0;
        if let Some(count) = worker.connections {
            *connections.entry(revision).or_default() += count as f64;
        }
    }
    let of =
        |((generation, revision), count): (&(&str, &str), &f64)| (labels(&[("generation", generation), ("revision", revision)]), *count);
    WORKERS.write(&workers.iter().map(of).collect::<Vec<_>>(), out);
    // Without old workers there are none, and that is known; with some it may be hidden from us.
    if connections.is_empty() && usage.old_workers == 0 {
        connections.insert("", 0.0);
    }
    let of = |(revision, count): (&&str, &f64)| (labels(&[("revision", revision)]), *count);
    OLD_CONNECTIONS.write(&connections.iter().map(of).collect::<Vec<_>>(), out);
}

/// Size and room of the shared dictionaries.
pub(super) fn write_dictionaries(dictionaries: &BTreeMap<String, Dictionary>, out: &mut Exposition) {
    let values = |of: fn(&Dictionary) -> u64| -> Vec<(String, f64)> {
        dictionaries.iter().map(|(name, dictionary)| (labels(&[("dictionary", name)]), of(dictionary) as f64)).collect()
    };
    CAPACITY.write(&values(|dictionary| dictionary.capacity), out);
    FREE.write(&values(|dictionary| dictionary.free), out);
}

#[cfg(test)]
mod tests {
    use nginx::WorkerUsage;

    use super::*;

    fn text_of(write: impl FnOnce(&mut Exposition)) -> String {
        let mut out = Exposition::new(ops::Form::Text);
        write(&mut out);
        String::from_utf8(out.into_bytes()).unwrap()
    }

    #[test]
    fn workers_are_shown_by_what_they_run() {
        let worker = |pid, connections: Option<u64>| WorkerUsage { pid, start: 1, leaving: connections.is_some(), connections };
        let workers = vec![worker(5, Some(3)), worker(6, Some(4)), worker(7, Some(9)), worker(8, None), worker(9, None)];
        let usage = Usage { old_workers: 3, workers, ..Usage::default() };
        let earlier = [((5, 1), "one".into()), ((6, 1), "one".into())].into();
        let loaded = Loaded { revision: "two".into(), earlier: std::sync::Arc::new(earlier), ..Loaded::default() };
        let text = text_of(|out| write_workers(&usage, &loaded, out));
        for line in [
            "narthex_workers{generation=\"current\",revision=\"two\"} 2",
            "narthex_workers{generation=\"old\",revision=\"one\"} 2",
            "narthex_old_worker_connections{revision=\"one\"} 7",
            "narthex_old_worker_connections{revision=\"\"} 9",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        let text = text_of(|out| write_workers(&Usage::default(), &loaded, out));
        assert!(text.ends_with("narthex_old_worker_connections{revision=\"\"} 0\n"), "{text}");
    }

    #[test]
    fn dictionaries_have_their_size_and_their_room() {
        let dictionary = Dictionary { capacity: 100, free: 40, name: None, former: None };
        let text = text_of(|out| write_dictionaries(&[("state".to_owned(), dictionary)].into(), out));
        assert!(text.contains("narthex_dictionary_bytes{dictionary=\"state\"} 100\n"), "{text}");
        assert!(text.contains("narthex_dictionary_free_bytes{dictionary=\"state\"} 40\n"), "{text}");
    }

    #[test]
    fn connections_are_shown_by_their_state() {
        let mut out = Exposition::new(ops::Form::Text);
        let connections = Connections { active: 4, reading: 1, writing: 1, waiting: 2, accepted: 9, handled: 8, requests: 70 };
        write_connections("k=\"v\"", &connections, &mut out);
        let text = String::from_utf8(out.into_bytes()).unwrap();
        assert!(text.contains("nginx_ingress_controller_nginx_process_connections{k=\"v\",state=\"waiting\"} 2\n"), "{text}");
        assert!(text.contains("nginx_ingress_controller_nginx_process_connections_total{k=\"v\",state=\"handled\"} 8\n"), "{text}");
        assert!(text.contains("nginx_ingress_controller_nginx_process_requests_total{k=\"v\"} 70\n"), "{text}");
    }
}
