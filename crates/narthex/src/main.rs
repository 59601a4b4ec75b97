//! The `narthex` command: an ingress controller for Kubernetes on NGINX.

mod api;
mod args;
mod commands;
mod entry;
mod fallback;
mod logging;
mod offline;
mod output;
mod sse;
mod table;
mod yaml;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
use entry::Program;

/// Exit code for findings or a failure.
const FAILED: u8 = 1;
/// Exit code for what was asked wrongly.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let result = match entry::program(std::env::args_os().collect()) {
        Program::Command(words) => command(Cli::parse_from(words)),
        Program::Plugin(words) => commands::plugin::program(words),
        Program::Completer(words) => commands::plugin::complete(&words),
    };
    result.unwrap_or_else(|error| {
        output::remark(format_args!("narthex: {}", cluster::chain(error.as_ref())));
        ExitCode::from(FAILED)
    })
}

fn command(cli: Cli) -> anyhow::Result<ExitCode> {
    match cli.command {
        Command::Run(args) => commands::run::run(*args, &cli.log),
        Command::Render(args) => commands::render::render(&args, &cli.log),
        Command::Check(args) => commands::check::check(&args),
        Command::Plan(args) => commands::plan::plan(&args, &cli.log),
        Command::Conf(args) => commands::conf::conf(&args, &cli.log),
        Command::Rollout(args) => commands::rollout::rollout(*args, &cli.log),
        Command::Settings(args) => commands::settings::settings(&args, &cli.log),
        Command::Explain(args) => commands::explain::explain(&args, &cli.log),
        Command::Watch(args) => commands::watch::watch(&args, &cli.log),
        Command::DataPlane(args) => commands::data_plane::data_plane(&args, &cli.log),
        Command::Dbg(args) => commands::dbg::dbg(&args),
        Command::WaitShutdown(args) => commands::wait_shutdown::wait_shutdown(&args),
        Command::Cleanup(args) => commands::cleanup::cleanup(&args, &cli.log),
        Command::Quit(args) => commands::quit::quit(&args, &cli.log),
        Command::Within => Ok(ExitCode::from(nginx_watch::run_helper())),
        Command::Compare(args) => commands::compare::compare(&args),
        Command::Migrate(args) => commands::migrate::migrate(&args),
        Command::Switch(args) => commands::switch::switch(&args),
        Command::Version(args) => commands::version::version(&args),
        Command::Get(args) => commands::get::get(&args),
        Command::Doctor(args) => commands::doctor::doctor(&args),
        Command::Top(args) => commands::top::top(&args),
        Command::Logs(args) => commands::logs::logs(&args),
        Command::Events(args) => commands::events::events(&args),
        Command::Diff(args) => commands::diff::diff(&args),
        Command::Completions { shell } => completions(shell),
        Command::Man { dir } => commands::man::man(dir.as_deref()),
        Command::Kubectl(args) => commands::plugin::plugin(&args),
    }
}

fn completions(shell: clap_complete::Shell) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut commands::plugin::narthex(), "narthex", &mut script);
    output::text(String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}
