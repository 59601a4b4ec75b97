//! The options of the cycle, read from flags and the environment of older tools.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use nginx_watch::{CycleOptions, FollowOptions, Options, Outlets, Policy, Roots, Staging, TestOptions};
use tracing::{info, warn};

use crate::args::WatchArgs;

/// Name of the error file in the directory of `--from`.
const ERROR_FILE: &str = "nginx_error_output";

/// Without `--max-delay` a run waits for so many times `--debounce` at most.
const BOUND: u32 = 8;

/// `true` if `VERBOSE` asks for more.
pub(super) fn is_verbose(value: Option<&str>) -> bool {
    value.is_some_and(|value| matches!(value.to_ascii_lowercase().as_str(), "1" | "t" | "true" | "yes"))
}

/// `WATCH_LIST` as inotify scripts know it: paths by spaces or by the characters of `WATCH_SEPARATOR`; those after `@` are left out.
fn watch_list(list: &str, separators: Option<&str>) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let is_separator = |c: char| separators.filter(|text| !text.is_empty()).map_or(c.is_whitespace(), |separators| separators.contains(c));
    let (mut paths, mut excluded) = (Vec::new(), Vec::new());
    for item in list.split(is_separator).filter(|item| !item.is_empty()) {
        match item.strip_prefix('@') {
            Some(item) => excluded.push(item.into()),
            None => paths.push(item.into()),
        }
    }
    (paths, excluded)
}

/// The options. `environment` gives a variable's value.
pub(super) fn options(args: &WatchArgs, environment: impl Fn(&str) -> Option<String>) -> anyhow::Result<Options> {
    let (roots, staging) = roots(args, &environment)?;
    for ignored in ["WATCH_RESTART", "WATCH_HEAVY", "WATCH_EVENTS"] {
        if environment(ignored).is_some_and(|value| !value.is_empty()) {
            info!(variable = ignored, "not needed: watches are set again by themselves, and contents are compared");
        }
    }
    let error_file = match (&args.error_file, &staging) {
        (Some(path), _) => Some(absolute(path)?),
        (None, Some(_)) => roots.paths.first().map(|from| from.join(ERROR_FILE)),
        (None, None) => None,
    };
    let helper = std::env::current_exe().context("path of this program")?;
    let mut excluded = roots.excluded.to_vec();
    excluded.extend(error_file.clone());
    // It says when the command of --before was run: that is no change of the configuration.
    excluded.extend(args.http.lock_file.as_deref().map(absolute).transpose()?);
    let cycle = CycleOptions {
        roots: Roots { excluded: excluded.into(), ..roots },
        locator: args.target.locator(),
        signal: args.reload.signal,
        test: TestOptions {
            command: args.reload.test_command.clone(),
            helper: vec![helper.into(), crate::args::HELPER.into()],
            timeout: args.reload.test_timeout,
        },
        confirm_timeout: args.reload.confirm_timeout,
        dry_run: args.reload.dry_run,
        indirect: args.files.indirect,
        staging,
    };
    let status_file = args.status_file.as_deref().map(absolute).transpose()?;
    Ok(Options { cycle, follow: follow(args), outlets: Outlets { status_file, error_file } })
}

fn follow(args: &WatchArgs) -> FollowOptions {
    let mut follow = FollowOptions {
        poll_interval: args.pace.poll_interval.max(Duration::from_millis(10)),
        no_events: args.pace.no_events,
        ..FollowOptions::default()
    };
    follow.pacing.quiet = args.pace.debounce;
    // A bound as near as the quiet time would leave no debounce.
    let bound = args.pace.max_delay.unwrap_or_else(|| follow.pacing.bound.max(args.pace.debounce.saturating_mul(BOUND)));
    follow.pacing.bound = bound.max(args.pace.debounce);
    follow
}

/// The paths that are followed, and their destination if that is elsewhere.
fn roots(args: &WatchArgs, environment: &impl Fn(&str) -> Option<String>) -> anyhow::Result<(Roots, Option<Staging>)> {
    let files = &args.files;
    if let (Some(from), Some(to)) = (&files.from, &files.to) {
        let (from, to) = (absolute(from)?, absolute(to)?);
        if from.starts_with(&to) || to.starts_with(&from) {
            bail!("--from {} and --to {} lie within each other: expected two separate directories", from.display(), to.display());
        }
        if !files.config_dir.is_empty() {
            warn!("--from is followed; --config-dir or CONFIG_DIR is not");
        }
        let mut policy = Policy::strict();
        policy.deny.extend(files.deny_directive.iter().cloned());
        policy.allow.clone_from(&files.allow_directive);
        let roots = Roots { paths: vec![from], excluded: all_absolute(&files.exclude)?.into(), is_foreign: true };
        return Ok((roots, Some(Staging { to, policy })));
    }
    let mut paths = all_absolute(&files.config_dir)?;
    let mut excluded = all_absolute(&files.exclude)?;
    if paths.is_empty()
        && let Some(list) = environment("WATCH_LIST")
    {
        let (listed, left_out) = watch_list(&list, environment("WATCH_SEPARATOR").as_deref());
        paths = all_absolute(&listed)?;
        excluded.extend(all_absolute(&left_out)?);
    }
    if paths.is_empty() {
        bail!("nothing to follow: give --config-dir DIR, or --from DIR and --to DIR");
    }
    Ok((Roots { paths, excluded: excluded.into(), is_foreign: false }, None))
}

fn all_absolute(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    paths.iter().filter(|path| !path.as_os_str().is_empty()).map(|path| absolute(path)).collect()
}

/// Absolute and without a `/` at the end, links as they are.
fn absolute(path: &Path) -> anyhow::Result<PathBuf> {
    Ok(std::path::absolute(path)?.components().collect())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    fn parse(arguments: &[&str], environment: &[(&str, &str)]) -> anyhow::Result<Options> {
        let cli = Cli::try_parse_from(["narthex", "watch"].iter().chain(arguments))?;
        let Command::Watch(args) = cli.command else { panic!("not watch") };
        options(&args, |name| environment.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn the_environment_of_inotify_scripts_is_understood() {
        let options = parse(&[], &[("WATCH_LIST", "/etc/nginx/ @/etc/nginx/certs"), ("WATCH_RESTART", "5")]).unwrap();
        assert_eq!(options.cycle.roots.paths, [PathBuf::from("/etc/nginx")]);
        assert_eq!(*options.cycle.roots.excluded, [PathBuf::from("/etc/nginx/certs")]);
        assert_eq!(watch_list("/a b:@/c:", Some(":")), (vec!["/a b".into()], vec!["/c".into()]));
        assert!(parse(&[], &[]).unwrap_err().to_string().contains("--config-dir"));
        assert!(is_verbose(Some("true")) && !is_verbose(Some("false")) && !is_verbose(None));
    }

    #[test]
    fn several_directories_are_followed_and_a_long_debounce_moves_its_bound() {
        let options = parse(&["--config-dir", "/a,/b", "--config-dir", "/c", "--debounce", "5"], &[]).unwrap();
        let bound = |more: &[&str]| parse(&[&["--config-dir", "/a"], more].concat(), &[]).unwrap().follow.pacing.bound.as_millis();
        assert_eq!((bound(&[]), bound(&["--debounce", "100ms"]), bound(&["--debounce", "5", "--max-delay", "6"])), (2000, 2000, 6000));
        assert_eq!(options.cycle.roots.paths, ["/a", "/b", "/c"].map(PathBuf::from));
        assert_eq!(options.follow.pacing.bound, Duration::from_secs(40));
        assert!(options.outlets.error_file.is_none());
    }

    #[test]
    fn a_lock_file_beside_the_certificates_is_not_content() {
        let words = ["--config-dir", "/certs", "--listen", ":1", "--before", "x", "--lock-file", "/certs/lock"];
        let options = parse(&words, &[]).unwrap();
        assert!(options.cycle.roots.excluded.contains(&PathBuf::from("/certs/lock")));
        assert!(parse(&["--config-dir", "/certs", "--lock-lease", "x"], &[]).is_err());
    }

    #[test]
    fn staging_has_an_error_file_that_is_not_content() {
        let scratch = tempfile::tempdir().unwrap();
        let (from, to) = (scratch.path().join("from"), scratch.path().join("to"));
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let options = parse(&["--from", &text(&from), "--to", &text(&to), "--allow-directive", "js_*"], &[]).unwrap();
        assert_eq!(options.outlets.error_file, Some(from.join("nginx_error_output")));
        assert!(options.cycle.roots.excluded.contains(&from.join("nginx_error_output")));
        assert!(!to.exists() && options.cycle.staging.is_some());
        assert!(parse(&["--from", &text(&from), "--to", &text(&from.join("x"))], &[]).is_err());
        assert!(parse(&["--from", &text(&from)], &[]).is_err());
    }
}
