//! `gpud plugin diff`: what a new version of a component asks for beyond the old one, and what else is different.

use std::path::Path;

use gpud_author::diff::{Difference, compare};

use super::compilation;
use crate::cli::{exit::Exit, terminal::printable};

/// Compares and prints. With `exit_code` the status is 1 when the new one asks for more.
///
/// # Errors
/// A file cannot be read, or is no component that this gpud would load.
pub async fn diff(old: &Path, new: &Path, json: bool, exit_code: bool) -> Result<Exit, Exit> {
    let fail = |message: String| Exit::failure(message).in_json(json, "failed_to_compare");
    let difference = compare(old, new, &compilation()).await.map_err(fail)?;
    let stdout = match json {
        true => serde_json::to_string(&difference).map_err(|e| fail(e.to_string()))? + "\n",
        false => text(&difference),
    };
    Ok(Exit {
        code: u8::from(exit_code && !difference.asks_for_more.is_empty()),
        ..Exit::success(stdout)
    })
}

fn text(difference: &Difference) -> String {
    if difference.same {
        return "the two are the same, byte for byte\n".to_owned();
    }
    let mut lines = Vec::new();
    match difference.asks_for_more.as_slice() {
        [] => lines.push("✔ it asks for nothing that the old one does not ask for".to_owned()),
        more => lines.push(format!(
            "! it asks for more: {}; grant it in the spec, or it is refused and the old one goes on",
            more.join(", ")
        )),
    }
    if !difference.asks_no_more_for.is_empty() {
        lines.push(format!(
            "  it no longer asks for: {}; take that out of its grants",
            difference.asks_no_more_for.join(", ")
        ));
    }
    let changes = difference.changes.iter();
    lines.extend(changes.map(|change| format!("  {}", printable(change))));
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_beyond_comes_first() {
        let difference = Difference {
            same: false,
            asks_for_more: vec!["exec".into()],
            asks_no_more_for: vec!["kmsg".into()],
            changes: vec![
                "version: 1.0 → 1.1".into(),
                "component a, interval: 60 s → 30 s".into(),
                "component b: there → gone".into(),
                "component c: not there → new".into(),
            ],
        };
        insta::assert_snapshot!(text(&difference), @r"
        ! it asks for more: exec; grant it in the spec, or it is refused and the old one goes on
          it no longer asks for: kmsg; take that out of its grants
          version: 1.0 → 1.1
          component a, interval: 60 s → 30 s
          component b: there → gone
          component c: not there → new
        ");
        let same = Difference {
            same: true,
            ..Difference::default()
        };
        assert_eq!(text(&same), "the two are the same, byte for byte\n");
    }
}
