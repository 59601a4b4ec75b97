//! What of a text can't change during the life of a master.

use std::sync::Arc;

use model::Fixed;

/// The wanted text with what can't change during the life of a master: a shared dictionary of another size would be a new,
/// empty one for new workers, while old workers went on with the old one and missed every update.
pub(super) fn pinned(wanted: &Fixed, running: &Fixed) -> Fixed {
    let sizes = &running.globals.config.lua_shared_dicts;
    if wanted.globals.config.lua_shared_dicts == *sizes {
        return wanted.clone();
    }
    let mut globals = (*wanted.globals).clone();
    globals.config.lua_shared_dicts = sizes.clone();
    Fixed { globals: Arc::new(globals), ..wanted.clone() }
}
