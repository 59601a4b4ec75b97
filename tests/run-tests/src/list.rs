//! The tests in binaries, as libtest lists them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::error::{Error, Result, while_doing};
use crate::run;
use crate::test::{Binary, Test};

/// All tests of the binaries, in their order, without ignored ones. So many binaries are asked at once.
///
/// # Errors
/// A binary does not start or does not list.
pub(crate) fn tests<'a>(binaries: &[&'a Binary], at_once: usize) -> Result<Vec<Test<'a>>> {
    let next = AtomicUsize::new(0);
    let ask = || -> Result<Vec<(usize, Vec<String>)>> {
        let numbers = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < binaries.len()));
        numbers.map(|at| Ok((at, names(binaries[at])?))).collect()
    };
    let answers = thread::scope(|scope| {
        let threads: Vec<_> = (0..at_once.min(binaries.len())).map(|_| scope.spawn(ask)).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| thread.join().unwrap_or_else(|_| Err(Error::new("a thread panicked")));
        threads.into_iter().map(join).collect::<Result<Vec<_>>>()
    })?;
    let mut listed: Vec<_> = answers.into_iter().flatten().collect();
    listed.sort_unstable();
    let named = listed.into_iter().flat_map(|(at, names)| names.into_iter().map(move |name| Test { binary: binaries[at], name }));
    Ok(named.collect())
}

fn names(binary: &Binary) -> Result<Vec<String>> {
    let ignored = listed(&ask(binary, &["--ignored"])?);
    let mut names = listed(&ask(binary, &[])?);
    names.retain(|name| !ignored.contains(name));
    Ok(names)
}

/// What a binary answers to `--list`.
fn ask(binary: &Binary, further: &[&str]) -> Result<String> {
    let mut command = run::command(binary);
    command.args(["--list", "--format", "terse"]).args(further);
    let output = command.output().map_err(while_doing(format!("start {}", binary.executable.display())))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(Error::new(format!("{} lists no tests: {}: {message}", binary.executable.display(), output.status)));
    }
    String::from_utf8(output.stdout).map_err(|_| Error::new(format!("{binary} has a test whose name is not UTF-8")))
}

/// The names in lines such as `module::name: test`.
fn listed(text: &str) -> Vec<String> {
    text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_name_a_test_are_read() {
        assert_eq!(listed("a::b: test\nc: benchmark\nd: test\n\n2 tests, 1 benchmark\n"), ["a::b", "d"]);
    }
}
