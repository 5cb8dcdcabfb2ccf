//! Component names, and which known key a misspelt one may have meant.

/// Longest `plugin_name`, bytes, before anything is trimmed.
pub const MAX_PLUGIN_NAME_BYTES: usize = 128;

/// The component name of a plugin: trimmed, lower-cased, spaces as hyphens. Empty means no name.
pub fn component_name(plugin_name: &str) -> String {
    plugin_name
        .trim()
        .chars()
        .map(|c| match c {
            ' ' => '-',
            // The only letter whose full lower-casing is longer than one character; Go maps letter by letter.
            '\u{130}' => 'i',
            c => c.to_lowercase().next().unwrap_or(c),
        })
        .collect()
}

/// The known key that looks most like this one, if any does.
pub(super) fn nearest<'k>(given: &str, known: &[&'k str]) -> Option<&'k str> {
    let given: String = given
        .chars()
        .take(64)
        .flat_map(char::to_lowercase)
        .collect();
    let allowed = 1 + given.chars().count() / 4;
    let by_distance = known
        .iter()
        .map(|key| (distance(&given, key), *key))
        .filter(|(distance, _)| *distance <= allowed)
        .min();
    by_distance.map(|(_, key)| key).or_else(|| {
        // `name` for `plugin_name`, `file` for `component_list_file`.
        let tail = format!("_{given}");
        known.iter().find(|key| key.ends_with(&tail)).copied()
    })
}

/// Levenshtein distance.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        let mut next = vec![left];
        for (y, above) in b.chars().zip(row.iter().skip(1)) {
            left = (diagonal + usize::from(x != y))
                .min(left + 1)
                .min(above + 1);
            diagonal = *above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_go_makes_them() {
        // Printed by Go 1.26.
        for (given, name) in [
            ("Fan Tray", "fan-tray"),
            ("  A  B\t", "a--b"),
            ("\u{a0}x\u{85}", "x"),
            ("a\tb/C_D.E", "a\tb/c_d.e"),
            ("ÄΣ", "äσ"),
            ("\u{130}x", "ix"),
            ("a\u{a0}b", "a\u{a0}b"),
            (" \n", ""),
            ("ǅ", "ǆ"),
        ] {
            assert_eq!(component_name(given), name);
        }
    }

    #[test]
    fn the_nearest_key() {
        let known = [
            "plugin_name",
            "plugin_type",
            "tags",
            "timeout",
            "component_list_file",
        ];
        for (given, key) in [
            ("plugn_name", Some("plugin_name")),
            ("plugin-type", Some("plugin_type")),
            ("tag", Some("tags")),
            ("TIMEOUTS", Some("timeout")),
            ("name", Some("plugin_name")),
            ("file", Some("component_list_file")),
            ("steps", None),
            ("", None),
        ] {
            assert_eq!(nearest(given, &known), key, "{given}");
        }
    }
}
