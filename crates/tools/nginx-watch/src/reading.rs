//! A check that NGINX reads what is followed. A path that it does not read would look like success for ever.

use std::fs;
use std::path::{Component, Path, PathBuf};

use fs_watch::Id;
use ngx_proc::find::Master;
use ngx_proc::procfs::Identity;

use crate::dump::{Dump, fits, is_pattern};
use crate::target::{self, Place};
use crate::tester::Tester;

/// Links that are followed from a file that NGINX reads.
const LINKS: usize = 8;

/// The knowledge about a master.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reads {
    /// NGINX reads what is followed.
    Yes,
    /// NGINX reads nothing of it, but something else.
    No(String),
    /// Unknown: it can't be seen.
    Unknown,
}

/// Remembers which master was looked at.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    checked: Option<Identity>,
}

impl Reading {
    /// A check that this master reads one of these places; done once for each master that does. Of several, each that is not read is a warning.
    pub(crate) async fn check(&mut self, tester: &mut Tester, master: &Master, places: &[PathBuf]) -> Reads {
        if self.checked == Some(master.id) && places.iter().all(|place| place.exists()) {
            return Reads::Yes;
        }
        let (place, dump) = match look(tester, master).await {
            Ok(Some(found)) => found,
            // The test says what is wrong with it.
            Ok(None) => return Reads::Unknown,
            Err(why) => {
                tester.warn_once(format!("it can't be checked whether NGINX reads what is followed: {why}"));
                return Reads::Unknown;
            }
        };
        let view = View { dump: &dump, place: &place };
        let refused: Vec<String> = places.iter().filter_map(|path| view.refuses(path, master.id.pid)).collect();
        if refused.len() == places.len() {
            return Reads::No(refused.join("; "));
        }
        for why in refused {
            tester.warn_once(why);
        }
        self.checked = Some(master.id);
        Reads::Yes
    }
}

/// The place of NGINX's files, and what it reads; `None` when it refuses that.
async fn look(tester: &Tester, master: &Master) -> Result<Option<(Place, Dump)>, String> {
    let place = target::place(master)?;
    Ok(tester.dump(master).await?.map(|dump| (place, dump)))
}

/// Of directories that are gone, given by their root and the path below it, the first one that an `include` names: its files are out of the
/// configuration by an accident. Patterns that would match any name don't count.
pub(crate) async fn missed(tester: &Tester, master: &Master, gone: &[(&Path, &str)]) -> Option<String> {
    let (place, dump) = look(tester, master).await.ok()??;
    let view = View { dump: &dump, place: &place };
    gone.iter().find_map(|(root, relative)| {
        let id = Id::at(root)?;
        let include = dump.includes.iter().find(|include| view.names(include, id, relative))?;
        Some(format!(
            "{} is gone, and NGINX includes {}: it stays as it is until the directory is back; if it shall go, remove the include, or make it again and leave it empty",
            root.join(relative).display(),
            include.display()
        ))
    })
}

/// The paths at which NGINX sees a path, or would see one that can be made in a directory that it sees.
fn seen(path: &Path, place: &Place, pid: i32) -> Vec<PathBuf> {
    match (path.exists(), path.parent(), path.file_name()) {
        (false, Some(parent), Some(name)) => target::seen_as(parent, place, pid).into_iter().map(|parent| parent.join(name)).collect(),
        _ => target::seen_as(path, place, pid),
    }
}

/// A place that NGINX should read.
struct Wanted {
    /// `None`: it is not there yet.
    id: Option<Id>,
    /// The paths at which NGINX sees it.
    seen: Vec<PathBuf>,
}

/// A configuration, and where its paths are.
struct View<'a> {
    dump: &'a Dump,
    place: &'a Place,
}

impl View<'_> {
    /// The reason why NGINX can't be meant, if it does not read a path.
    fn refuses(&self, path: &Path, pid: i32) -> Option<String> {
        let wanted = Wanted { id: Id::at(path), seen: seen(path, self.place, pid) };
        let (path, summary) = (path.display(), self.dump.summary());
        if wanted.seen.is_empty() {
            return Some(format!(
                "NGINX (process {pid}) does not have {path} among its files; {summary}: follow that, in a Pod by the same volume in both containers"
            ));
        }
        (!self.reads(&wanted)).then(|| {
            format!(
                "NGINX (process {pid}) does not read {path}; {summary}: follow what it reads, or give --indirect if it gets at this one by another file"
            )
        })
    }

    fn reads(&self, wanted: &Wanted) -> bool {
        let dump = self.dump;
        let literal = dump.files.iter().chain(&dump.includes).chain(&dump.named).any(|path| self.leads_to(path, wanted));
        let pattern = || dump.includes.iter().any(|include| wanted.seen.iter().any(|seen| is_matched(include, seen)));
        let text = || dump.texts.iter().any(|text| wanted.seen.iter().any(|seen| holds(text, seen)));
        literal || pattern() || text()
    }

    /// `true` if a path is the wanted one or below it, or is a link that leads there.
    fn leads_to(&self, path: &Path, wanted: &Wanted) -> bool {
        let mut path = path.to_owned();
        for _ in 0..LINKS {
            let is_wanted = |above: &Path| {
                wanted.seen.iter().any(|seen| seen == above) || wanted.id.is_some() && Id::at(&self.place.inside(above)) == wanted.id
            };
            if path.ancestors().any(is_wanted) {
                return true;
            }
            let Ok(target) = fs::read_link(self.place.inside(&path)) else { return false };
            path = plain(&path.parent().unwrap_or(Path::new("/")).join(target));
        }
        false
    }

    /// `true` if a pattern names a directory, by its path below a root, without a wildcard on the way.
    fn names(&self, include: &Path, root: Id, relative: &str) -> bool {
        let below = |above: &Path| include.strip_prefix(above).is_ok_and(|rest| rest.starts_with(relative));
        include.ancestors().any(|above| below(above) && Id::at(&self.place.inside(above)) == Some(root))
    }
}

/// `true` if a pattern can match something in a directory.
fn is_matched(pattern: &Path, directory: &Path) -> bool {
    let mut parts = pattern.components();
    is_pattern(&pattern.to_string_lossy())
        && directory.components().all(|part| {
            parts.next().is_some_and(|pattern| fits(&pattern.as_os_str().to_string_lossy(), &part.as_os_str().to_string_lossy()))
        })
}

/// `true` if a text holds a path: it, or something below it.
fn holds(text: &str, path: &Path) -> bool {
    let path = path.to_string_lossy();
    text.match_indices(&*path).any(|(at, _)| !text[at + path.len()..].starts_with(|c: char| c.is_alphanumeric() || "-_.".contains(c)))
}

/// Without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(out.pop()),
            part => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn reads(scratch: &Path, config: &str, directory: &str) -> bool {
        let config = config.replace("ROOT", &scratch.display().to_string());
        let dump = Dump::read(&format!("# configuration file {}/nginx.conf:\n{config}\n", scratch.display())).unwrap();
        let path = scratch.join(directory);
        let wanted = Wanted { id: Id::at(&path), seen: vec![path.clone()] };
        View { dump: &dump, place: &Place::Ours }.reads(&wanted)
    }

    #[test]
    fn a_directory_is_read_when_the_configuration_gets_at_something_in_it() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path();
        for directory in ["conf.d", "sites/a", "certs", "enabled", "available", "other"] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        symlink(root.join("conf.d"), root.join("link")).unwrap();
        symlink("../available/x.conf", root.join("enabled/x.conf")).unwrap();
        for (config, directory, expected) in [
            ("include ROOT/conf.d/*.conf;", "conf.d", true),
            ("include conf.d/*.conf;", "conf.d", true),
            ("include ROOT/link/*.conf;", "conf.d", true),
            ("include ROOT/conf.d/*.conf;", "link", true),
            ("include ROOT/conf.d/*.conf;", "", true),
            ("include ROOT/conf.d/*.conf;", "other", false),
            ("include ROOT/sites/*/nginx.conf;", "sites/a", true),
            ("include ROOT/sites/*/nginx.conf;", "sites/b", true),
            ("include ROOT/sites/*/nginx.conf;", "certs", false),
            ("include ROOT/enabled/x.conf;", "available", true),
            ("ssl_certificate ROOT/certs/$host.pem;", "certs", true),
            ("ssl_certificate certs/a.pem;", "certs", true),
            ("lua_package_path 'ROOT/certs/?.lua;;';", "certs", true),
            ("lua_package_path 'ROOT/certs2/?.lua;;';", "certs", false),
            ("location ROOT/certs/ { return 200; }", "certs", false),
            ("events {}", "conf.d", false),
        ] {
            assert_eq!(reads(root, config, directory), expected, "{config} {directory}");
        }
    }

    #[test]
    fn an_include_names_a_directory_only_without_a_wildcard_on_the_way() {
        let scratch = tempfile::tempdir().unwrap();
        let (root, id) = (scratch.path(), Id::at(scratch.path()).unwrap());
        let view = View { dump: &Dump::default(), place: &Place::Ours };
        assert!(view.names(&root.join("conf.d/*.conf"), id, "conf.d"));
        assert!(view.names(&root.join("conf.d/sub/a.conf"), id, "conf.d"));
        assert!(!view.names(&root.join("*/a.conf"), id, "conf.d"));
        assert!(!view.names(&root.join("conf.d2/*.conf"), id, "conf.d"));
        assert!(!view.names(Path::new("/nowhere/conf.d/*.conf"), id, "conf.d"));
    }
}
