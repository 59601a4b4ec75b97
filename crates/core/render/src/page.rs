//! A configuration that grows block by block and remembers where each comes from.

use std::sync::LazyLock;

use minijinja::Environment;
use minijinja::value::Serde;
use model::Part;
use serde::Serialize;

use crate::files::Origin;
use crate::print;
use crate::{RenderError, templates};

/// The templates never change, so they are compiled once.
static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = print::environment();
    for (name, text) in templates::ALL {
        environment.add_template(name, text).expect("the templates are part of the program, and a test compiles them");
    }
    environment
});

/// Text so far.
#[derive(Default)]
pub(crate) struct Page {
    text: String,
    /// Complete lines so far.
    lines: u32,
    origins: Vec<Origin>,
}

impl Page {
    /// Adds what a template makes of a view.
    pub(crate) fn block(&mut self, template: &str, view: impl Serialize) -> Result<(), RenderError> {
        let text = TEMPLATES.get_template(template)?.render(Serde(view))?;
        self.lines += u32::try_from(text.matches('\n').count()).expect("a configuration has less than four billion lines");
        self.text.push_str(&text);
        Ok(())
    }

    /// Adds blocks that come from one object.
    pub(crate) fn origin(&mut self, part: Part, add: impl FnOnce(&mut Self) -> Result<(), RenderError>) -> Result<(), RenderError> {
        let first_line = self.lines + 1;
        let at = self.origins.len();
        add(self)?;
        self.origins.insert(at, Origin { first_line, last_line: self.lines, part });
        Ok(())
    }

    /// The text, and where its lines come from.
    pub(crate) fn finish(self) -> (String, Vec<Origin>) {
        (self.text, self.origins)
    }
}
