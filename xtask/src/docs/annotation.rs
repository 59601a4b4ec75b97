//! The reference of annotations.

use settings::{Applies, Description, GROUPS};

use super::{NOTICE, cell, row, sentences};

/// The page.
pub(super) fn page() -> String {
    let mut page = String::from(NOTICE);
    page.push_str(
        "# Annotations\n\n\
         Names are written without their prefix, which is `nginx.ingress.kubernetes.io/` unless `--annotations-prefix` says otherwise.\n\
         An annotation above the risk that `annotations-risk-level` allows refuses the whole Ingress.\n\
         An Ingress that is refused is served as it was last accepted, with the protection that it asks for now; where that is impossible its paths answer 503.\n\
         So they do when an annotation that protects can't be used, whatever was served before.\n\
         An empty value is the same as none, unless said otherwise.\n\
         `narthex explain annotation NAME` prints what stands here.\n",
    );
    summary(&mut page);
    for group in GROUPS {
        row(&mut page, &format!("\n## {}\n", group.title));
        if !group.doc.is_empty() {
            row(&mut page, &sentences(&format!("{}\n", group.doc)));
        }
        row(&mut page, "| annotation | value | scope | risk | a change is |\n|---|---|---|---|---|");
        let entries = settings::descriptions_of(group);
        for entry in &entries {
            let (name, scope, risk, applies) = (entry.name, &entry.scope, &entry.risk, &entry.applies);
            row(&mut page, &format!("| [`{name}`](#{name}) | {} | {scope} | {risk} | {applies} |", cell(entry.value)));
        }
        for entry in &entries {
            section(&mut page, entry);
        }
    }
    page
}

/// How many need a reload.
fn summary(page: &mut String) {
    let all = settings::descriptions();
    let live = all.iter().filter(|entry| entry.live).count();
    let ready = all.iter().filter(|entry| entry.applies == Applies::Ready.to_string()).count();
    row(
        page,
        &format!(
            "\nOf {} annotations {live} need no reload of NGINX, ever, and {ready} more need none by themselves: the profiles for them are always there.",
            all.len()
        ),
    );
    row(page, "\n| a change is | annotations |\n|---|---|");
    for applies in [Applies::Route, Applies::Backend, Applies::Certificate, Applies::Ready, Applies::Profile, Applies::HostServer]
        .map(|applies| applies.to_string())
    {
        let count = all.iter().filter(|entry| entry.applies == applies).count();
        row(page, &format!("| {applies} | {count} |"));
    }
}

fn section(page: &mut String, entry: &Description) {
    row(page, &format!("\n### {}\n\n{}\n", entry.name, sentences(entry.doc)));
    row(page, &format!("- Value: {}.", entry.value));
    let example: Vec<String> = entry.example.iter().map(|(name, value)| format!("`{name}: {value:?}`")).collect();
    row(page, &format!("- Example: {}", example.join(", ")));
    if !entry.inherited {
        row(page, "- An addition: ingress-nginx does not have it.");
    }
    if let Some(key) = entry.config_key {
        row(page, &format!("- Default: the setting [`{key}`](configmap.md#{key})."));
    }
    if let Some(needs) = entry.needs {
        row(page, &format!("- Only with `{needs}`."));
    }
    row(page, &format!("- Any other value: {}.", entry.on_invalid));
    if let Some(protects) = &entry.protects {
        row(page, &format!("- Protects: {protects}."));
    }
    if entry.empty_is_a_value {
        row(page, "- An empty value is not the same as none.");
    }
    for alias in entry.aliases {
        row(page, &format!("- Older name: `{alias}`."));
    }
}
