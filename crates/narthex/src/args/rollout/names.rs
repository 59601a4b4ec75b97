//! Other names for annotations.

use clap::Args;
use rollout::Names;

/// Other names for annotations.
#[derive(Debug, Args)]
#[command(next_help_heading = "Names of annotations")]
pub(crate) struct NameArgs {
    /// For reloader.stakater.com/auto
    #[arg(long, value_name = "NAME")]
    pub(crate) auto_annotation: Option<String>,
    /// For configmap.reloader.stakater.com/auto
    #[arg(long, value_name = "NAME")]
    pub(crate) configmap_auto_annotation: Option<String>,
    /// For secret.reloader.stakater.com/auto
    #[arg(long, value_name = "NAME")]
    pub(crate) secret_auto_annotation: Option<String>,
    /// For configmap.reloader.stakater.com/reload
    #[arg(long, value_name = "NAME")]
    pub(crate) configmap_annotation: Option<String>,
    /// For secret.reloader.stakater.com/reload
    #[arg(long, value_name = "NAME")]
    pub(crate) secret_annotation: Option<String>,
    /// For configmaps.exclude.reloader.stakater.com/reload
    #[arg(long, value_name = "NAME")]
    pub(crate) configmap_exclude_annotation: Option<String>,
    /// For secrets.exclude.reloader.stakater.com/reload
    #[arg(long, value_name = "NAME")]
    pub(crate) secret_exclude_annotation: Option<String>,
    /// For reloader.stakater.com/search
    #[arg(long, value_name = "NAME")]
    pub(crate) auto_search_annotation: Option<String>,
    /// For reloader.stakater.com/match
    #[arg(long, value_name = "NAME")]
    pub(crate) search_match_annotation: Option<String>,
    /// For reloader.stakater.com/ignore
    #[arg(long, value_name = "NAME")]
    pub(crate) ignore_annotation: Option<String>,
    /// For deployment.reloader.stakater.com/pause-period
    #[arg(long, value_name = "NAME")]
    pub(crate) pause_deployment_annotation: Option<String>,
    /// For deployment.reloader.stakater.com/paused-at
    #[arg(long, value_name = "NAME")]
    pub(crate) pause_deployment_time_annotation: Option<String>,
    /// Has no effect
    #[arg(long, value_name = "NAME", hide = true)]
    pub(crate) secretproviderclass_auto_annotation: Option<String>,
    /// Has no effect
    #[arg(long, value_name = "NAME", hide = true)]
    pub(crate) secretproviderclass_annotation: Option<String>,
    /// Has no effect
    #[arg(long, value_name = "NAME", hide = true)]
    pub(crate) secretproviderclass_exclude_annotation: Option<String>,
}

impl NameArgs {
    pub(super) fn names(&self) -> Names {
        let mut names = Names::default();
        let [map_auto, secret_auto] = &mut names.typed_auto;
        let [map_reload, secret_reload] = &mut names.reload;
        let [map_exclude, secret_exclude] = &mut names.exclude;
        for (name, given) in [
            (&mut names.auto, &self.auto_annotation),
            (map_auto, &self.configmap_auto_annotation),
            (secret_auto, &self.secret_auto_annotation),
            (map_reload, &self.configmap_annotation),
            (secret_reload, &self.secret_annotation),
            (map_exclude, &self.configmap_exclude_annotation),
            (secret_exclude, &self.secret_exclude_annotation),
            (&mut names.search, &self.auto_search_annotation),
            (&mut names.found, &self.search_match_annotation),
            (&mut names.ignore, &self.ignore_annotation),
            (&mut names.pause_period, &self.pause_deployment_annotation),
            (&mut names.paused_at, &self.pause_deployment_time_annotation),
        ] {
            if let Some(given) = given.as_ref().filter(|given| !given.is_empty()) {
                name.clone_from(given);
            }
        }
        names
    }
}
