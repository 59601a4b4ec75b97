//! Metrics of the controller's own process, with the names that Prometheus' client libraries use for them.

use std::future::Future;
use std::pin::Pin;
use std::{fs, io};

use crate::exposition::{Exposition, Family};
use crate::{Fetched, TICKS};

/// What the kernel says of this process when it is asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProcessMetrics;

const CPU: Family = Family::counter("process_cpu_seconds_total", "Processor seconds of the controller, user and system.").without_prefix();
const OPEN: Family = Family::gauge("process_open_fds", "Open file descriptors of the controller.").without_prefix();
const MOST: Family = Family::gauge("process_max_fds", "File descriptors that it may open.").without_prefix();
const VIRTUAL: Family = Family::gauge("process_virtual_memory_bytes", "Address space of the controller.").without_prefix();
const MOST_VIRTUAL: Family = Family::gauge("process_virtual_memory_max_bytes", "Address space that it may have.").without_prefix();
const RESIDENT: Family = Family::gauge("process_resident_memory_bytes", "Resident memory of the controller.").without_prefix();
const START: Family = Family::gauge("process_start_time_seconds", "When the controller was started, as unix time.").without_prefix();

impl Fetched for ProcessMetrics {
    fn write<'a>(&'a self, out: &'a mut Exposition) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        match Usage::read() {
            Ok(usage) => usage.write(out),
            Err(error) => tracing::debug!(%error, "the controller's own usage can't be read"),
        }
        Box::pin(std::future::ready(()))
    }
}

/// Usage of this process.
struct Usage {
    cpu_seconds: f64,
    open: usize,
    most: f64,
    virtual_bytes: f64,
    most_virtual: f64,
    resident_bytes: f64,
    start_seconds: f64,
}

impl Usage {
    fn read() -> io::Result<Self> {
        let stat = fs::read_to_string("/proc/self/stat")?;
        let (status, limits) = (fs::read_to_string("/proc/self/status")?, fs::read_to_string("/proc/self/limits")?);
        let boot = field(&fs::read_to_string("/proc/stat")?, "btime ");
        // Behind the name, which may have blanks and brackets in it; the first is the third of the manual.
        let fields: Vec<&str> = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_ascii_whitespace().collect();
        let number = |at: usize| fields.get(at - 3).and_then(|field| field.parse::<f64>().ok()).unwrap_or_default();
        Ok(Self {
            cpu_seconds: (number(14) + number(15)) / TICKS,
            open: fs::read_dir("/proc/self/fd")?.count(),
            most: limit(&limits, "Max open files"),
            virtual_bytes: number(23),
            most_virtual: limit(&limits, "Max address space"),
            resident_bytes: field(&status, "VmRSS:") * 1024.0,
            start_seconds: boot + number(22) / TICKS,
        })
    }

    fn write(&self, out: &mut Exposition) {
        let values = [
            (CPU, self.cpu_seconds),
            (OPEN, self.open as f64),
            (MOST, self.most),
            (VIRTUAL, self.virtual_bytes),
            (MOST_VIRTUAL, self.most_virtual),
            (RESIDENT, self.resident_bytes),
            (START, self.start_seconds),
        ];
        for (family, value) in values {
            family.write(&[(String::new(), value)], out);
        }
    }
}

/// The number behind a name at the beginning of a line; 0 where there is none.
pub(crate) fn field(text: &str, name: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_ascii_whitespace().next()?.parse().ok()).unwrap_or_default()
}

/// A soft limit; without one the largest number there is, as client libraries show it.
fn limit(text: &str, name: &str) -> f64 {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.split_ascii_whitespace().next());
    value.and_then(|value| value.parse().ok()).unwrap_or(u64::MAX as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_used_something() {
        let usage = Usage::read().unwrap();
        assert!(usage.open > 2 && usage.most >= usage.open as f64 && usage.start_seconds > 1.7e9);
        assert!(usage.resident_bytes > 1e5 && usage.virtual_bytes > usage.resident_bytes && usage.most_virtual > usage.virtual_bytes);
    }

    #[test]
    fn what_is_not_limited_has_the_largest_number() {
        let text = "Limit  Soft Limit  Hard Limit  Units\nMax open files            1024                 524288               files\n\
            Max address space         unlimited            unlimited            bytes\n";
        assert_eq!((limit(text, "Max open files"), limit(text, "Max address space")), (1024.0, u64::MAX as f64));
    }
}
