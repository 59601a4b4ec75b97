//! The meaning of the flags.

use clap::Parser;
use rollout::Sink;

use super::*;
use crate::args::{Cli, Command};

fn args(flags: &[&str]) -> RolloutArgs {
    let cli = Cli::try_parse_from(["narthex", "rollout"].iter().chain(flags)).unwrap();
    let Command::Rollout(args) = cli.command else { panic!("not rollout") };
    *args
}

#[test]
fn reloader_s_own_command_lines_are_read() {
    let rules = args(&[
        "--is-Argo-Rollouts=true",
        "--reload-on-create=true",
        "--reload-on-delete",
        "true",
        "--auto-reload-all=true",
        "--reload-strategy=annotations",
    ])
    .rules()
    .unwrap();
    assert!(rules.kinds.contains(&Kind::Rollout) && rules.on_create && rules.on_delete && rules.auto_all);
    assert_eq!(rules.strategy, Strategy::Annotations);
    assert_eq!(args(&[]).rules().unwrap(), Rules::default());
    let ignoring = args(&["--ignored-workload-types=jobs,cronjobs", "--resources-to-ignore=configMaps"]).rules().unwrap();
    assert_eq!((ignoring.kinds.len(), ignoring.sources), (3, [ContentKind::Secret].into()));
    assert!(args(&["--resources-to-ignore=configmaps,secrets"]).rules().is_err());
    assert!(args(&["--ignored-workload-types=pods"]).rules().is_err());
    args(&["--enable-pprof", "--pprof-addr=:6060", "--enable-ha", "--log-format="]);
    // As Go reads a bool, and lists that a chart left empty.
    let rules =
        args(&["--auto-reload-all=1", "--reload-on-create=TRUE", "--resources-to-ignore=", "--ignored-workload-types="]).rules().unwrap();
    assert!(rules.auto_all && rules.on_create && rules.sources.len() == 2);
}

#[test]
fn selectors_may_have_the_older_forms() {
    for (given, expected) in [("a:b,c:*", "a=b,c"), ("a=*", "a"), ("a in (b,c),!d", "a in (b,c),!d"), ("a!=b", "a!=b"), ("a==b", "a==b")] {
        assert_eq!(args(&["--namespace-selector", given]).scope.namespaces().unwrap().as_deref(), Some(expected));
    }
    let two = args(&["--resource-label-selector=a=b", "--resource-label-selector=c=d"]);
    assert_eq!(two.scope.resources().unwrap().as_deref(), Some("a=b,c=d"));
    assert!(args(&["--namespace-selector=a b"]).scope.namespaces().is_err());
}

#[test]
fn annotations_may_have_other_names() {
    let names = args(&["--auto-annotation=a", "--secret-annotation=b", "--pause-deployment-time-annotation=c", "--ignore-annotation="]);
    let names = names.rules().unwrap().names;
    assert_eq!((&*names.auto, &*names.reload[1], &*names.paused_at), ("a", "b", "c"));
    assert_eq!((&*names.reload[0], &*names.ignore), ("configmap.reloader.stakater.com/reload", "reloader.stakater.com/ignore"));
}

#[test]
fn a_check_by_command_needs_the_command() {
    assert!(args(&["--check=command"]).rules().is_err());
    assert!(args(&["--check=vibes"]).rules().is_err());
    let args = args(&["--check=command", "--check-command", "nginx  -t -c {}/nginx.conf"]);
    assert_eq!(
        (args.rules().unwrap().check, args.guard.command()),
        (Check::Command, vec!["nginx".into(), "-t".into(), "-c".into(), "{}/nginx.conf".into()])
    );
}

#[test]
fn a_list_of_namespaces_counts_before_a_single_one() {
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(args(&["--namespaces=b, a,", "--watch-namespace=c"]).scope.only(), set(&["a", "b"]));
    assert_eq!(args(&["--watch-namespace=c"]).scope.only(), set(&["c"]));
    assert_eq!(args(&["--namespaces-to-ignore=a, ,b"]).scope.ignored(), set(&["a", "b"]));
}

#[test]
fn the_lease_may_be_named_as_newer_reloaders_name_it() {
    let replicas = args(&["--leader-election-id=x", "--leader-election-namespace=y", "--leader-election-lease-duration=30s"]).replicas;
    assert_eq!((&*replicas.election_id, &*replicas.leader_election_namespace), ("x", "y"));
    assert_eq!((replicas.election_ttl, replicas.leader_election_release_on_cancel), (Duration::from_secs(30), true));
    let others = ["--leader-election-renew-deadline=10s", "--leader-election-retry-period=2s", "--leader-election-release-on-cancel=false"];
    assert!(!args(&others).replicas.leader_election_release_on_cancel);
    assert_eq!(args(&["--election-ttl=2"]).replicas.election_ttl, Duration::from_secs(2));
}

#[test]
fn alerts_are_asked_for_by_flags_or_by_the_environment() {
    let alerts = |flags: &[&str], environment: &[(&str, &str)]| {
        let variable = |name: &str| environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        args(flags).alerts.options(variable)
    };
    let url = [("ALERT_ON_RELOAD", "true"), ("ALERT_WEBHOOK_URL", " https://a/b "), ("ALERT_SINK", "Teams")];
    let options = alerts(&[], &url).unwrap().unwrap();
    assert_eq!((options.sink, &*options.url, options.proxy), (Sink::Teams, "https://a/b", None));
    assert_eq!(alerts(&[], &url[1..]).unwrap(), None, "an address alone is none with Reloader's variables");
    assert_eq!(alerts(&[], &url[..1]).unwrap(), None, "no receiver");
    let flags = ["--alert-webhook-url=https://c", "--alert-structured", "--alert-proxy=http://p", "--alert-additional-info=lab"];
    let options = alerts(&flags, &[("ALERT_WEBHOOK_PROXY", "http://q")]).unwrap().unwrap();
    assert_eq!((options.sink, &*options.url, options.proxy.as_deref()), (Sink::Json, "https://c", Some("http://p")));
    assert_eq!(options.info.as_deref(), Some("lab"));
    assert!(alerts(&["--alert-on-reload=true", "--alert-sink=pager"], &url[1..2]).is_err());
}

#[test]
fn flags_about_what_is_not_there_are_accepted() {
    args(&["--is-openshift=auto", "--enable-csi-integration=false", "--secretproviderclass-auto-annotation=a"]);
    args(&["--secretproviderclass-annotation=a", "--secretproviderclass-exclude-annotation=a"]);
}
