//! Fields of records that no Lua module reads.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};
use model::live::declarations;
use model::live::wire::Declaration;

use crate::tidy::files;

const MODULES: &str = "lua/narthex";
/// The module that declares them.
const DECLARED: &str = "wire.lua";

/// Names the fields.
pub(crate) fn check(root: &Path) -> Result<Vec<String>> {
    let mut words = BTreeSet::new();
    for path in files(&root.join(MODULES), "lua")?.iter().filter(|path| !path.ends_with(DECLARED)) {
        let text = std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
        words.extend(words_of(&text).map(str::to_owned));
    }
    let declarations = declarations().flat_map(Declaration::with_inner);
    let fields = declarations.flat_map(|declaration| declaration.sent().into_iter().map(|field| (declaration.name, field.name)));
    let unread = fields.filter(|(_, field)| !words.contains(*field));
    Ok(unread.map(|(declaration, field)| format!("{MODULES}: {field} of {declaration} is declared, and no module reads it")).collect())
}

/// Words of the code, without comments.
fn words_of(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("--"));
    code.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'))
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_of_comments_do_not_count() {
        let words: Vec<&str> = super::words_of("-- a\n  --- b\nx.limit_rate = given[\"y\"]").filter(|word| !word.is_empty()).collect();
        assert_eq!(words, ["x", "limit_rate", "given", "y"]);
    }
}
