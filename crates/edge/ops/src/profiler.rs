//! The profiler port: those of the pages of Go's `net/http/pprof` that have a meaning without Go, from the kernel and the runtime.
//!
//! None stops or slows the process, and none has a word of what it serves.

use std::convert::Infallible;
use std::fmt::Write;
use std::fs;
use std::sync::Arc;

use axum::Router;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::runtime::Handle;

use crate::{TICKS, plain, server};

/// The pages with their meaning here.
const PAGES: [(&str, &str); 5] = [
    ("cmdline", "the command line, arguments separated by NUL; values of flags that are secret are left out"),
    ("goroutine", "tasks: how many there are, and the threads that run them"),
    ("heap", "memory of the process by kind, as the kernel counts it; not by the place in the program that asked for it"),
    ("threadcreate", "threads with the processor time of each"),
    ("", "this page"),
];

/// The others, with what to use instead.
const GONE: [(&str, &str); 5] = [
    (
        "profile",
        "`perf record --pid PID` on the node samples where time goes; /debug/pprof/threadcreate has the processor time of each thread",
    ),
    ("trace", "`--log-level debug` logs every step with its duration; the metric narthex_stage_seconds has their distribution"),
    ("mutex", "contention is not sampled; the metric narthex_stage_seconds shows what waits"),
    ("block", "waiting is not sampled; the metric narthex_stage_seconds shows what waits"),
    ("symbol", "no profile with addresses comes from here"),
];

/// Serves for ever. `arguments`: the command line as it may be shown.
pub async fn serve_profiler(listener: TcpListener, arguments: Vec<String>) -> Infallible {
    let arguments: Arc<[String]> = arguments.into();
    let page = move |Path(name): Path<String>| {
        let answer = page(&name, &arguments);
        async move { answer }
    };
    let app = Router::new()
        .route("/debug/pprof/", get(async || plain(StatusCode::OK, index())))
        .route("/debug/pprof", get(async || plain(StatusCode::OK, index())))
        .route("/debug/pprof/{name}", get(page.clone()).post(page))
        .fallback(async || plain(StatusCode::NOT_FOUND, "no such path: see /debug/pprof/\n".into()));
    server::serve_bounded(listener, app, "profiler").await
}

fn page(name: &str, arguments: &[String]) -> Response {
    match name {
        "cmdline" => plain(StatusCode::OK, arguments.join("\0")),
        "goroutine" => plain(StatusCode::OK, tasks()),
        "heap" => plain(StatusCode::OK, memory()),
        "threadcreate" => plain(StatusCode::OK, threads()),
        name => match GONE.iter().find(|(gone, _)| *gone == name) {
            Some((_, instead)) => {
                plain(StatusCode::GONE, format!("/debug/pprof/{name} is a page of Go's runtime, which this is not: {instead}\n"))
            }
            None => plain(StatusCode::NOT_FOUND, "no such page: see /debug/pprof/\n".into()),
        },
    }
}

fn index() -> String {
    let line = |text: String, (name, what): &(&str, &str)| text + &format!("/debug/pprof/{name:<14}{what}\n");
    let there = PAGES.iter().fold("There is no Go runtime here. These pages have a meaning all the same, as text:\n\n".to_owned(), line);
    GONE.iter().fold(there + "\nThese answer 410 with what to use instead:\n\n", line)
}

fn tasks() -> String {
    let metrics = Handle::current().metrics();
    format!(
        "tasks: {}\nthreads that run them: {}\ntasks that wait for a thread: {}\n",
        metrics.num_alive_tasks(),
        metrics.num_workers(),
        metrics.global_queue_depth()
    )
}

/// Lines of `/proc/self/status` about memory.
fn memory() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let wanted = ["VmPeak:", "VmSize:", "VmHWM:", "VmRSS:", "RssAnon:", "RssFile:", "RssShmem:", "VmData:", "VmStk:", "VmSwap:"];
    let lines = status.lines().filter(|line| wanted.iter().any(|name| line.starts_with(name)));
    lines.fold(String::new(), |text, line| text + line + "\n")
}

/// Each thread of this process with its name, state and processor seconds.
fn threads() -> String {
    let mut text = String::new();
    let mut count = 0;
    for thread in fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let Ok(stat) = fs::read_to_string(thread.path().join("stat")) else { continue };
        let Some((name, rest)) = stat.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')')) else { continue };
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let seconds = |at: usize| fields.get(at).and_then(|ticks| ticks.parse::<f64>().ok()).unwrap_or_default() / TICKS;
        count += 1;
        let (id, state) = (thread.file_name().to_string_lossy().into_owned(), fields.first().copied().unwrap_or("?"));
        writeln!(text, "{id} {name} state {state} user {:.2}s system {:.2}s", seconds(11), seconds(12))
            .expect("writing to a String can't fail");
    }
    format!("threads: {count}\n{text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pages_have_figures_of_this_process() {
        assert!(memory().contains("VmRSS:") && threads().starts_with("threads: "), "{}", memory());
        assert!(tasks().contains("threads that run them: 1\n"), "{}", tasks());
        let index = index();
        assert!(PAGES.iter().chain(&GONE).all(|(name, _)| index.contains(&format!("/debug/pprof/{name}"))), "{index}");
    }

    #[test]
    fn each_page_of_go_is_there_or_says_what_instead() {
        let arguments = ["narthex".to_owned(), "run".to_owned()];
        for (name, expected) in [("cmdline", 200), ("heap", 200), ("threadcreate", 200), ("profile", 410), ("symbol", 410), ("other", 404)]
        {
            assert_eq!(page(name, &arguments).status().as_u16(), expected, "{name}");
        }
    }
}
