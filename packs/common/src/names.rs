//! Names of sensors as an operator writes them: `*` stands for any text, and case makes no difference.

/// Whether a name is what a pattern means.
pub fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.to_lowercase(), name.to_lowercase());
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut left) = name.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some((_, after)) = left.split_once(part) else {
            return false;
        };
        left = after;
    }
    left.ends_with(last)
}

/// Whether any of the patterns means it.
pub fn any_fits(patterns: &[String], name: &str) -> bool {
    patterns.iter().any(|pattern| fits(pattern, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn patterns() {
        for (pattern, name, expected) in [
            ("PS1 Status", "ps1 status", true),
            ("PS1", "PS1 Status", false),
            ("*leak*", "CDU_Leak_2", true),
            ("*leak*", "Leak", true),
            ("leak*", "CDU Leak", false),
            ("*/temp1", "nvme/temp1", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c", false),
            ("*aa", "a", false),
            ("ab*ba", "aba", false),
            ("*", "", true),
            ("", "x", false),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }

    proptest! {
        #[test]
        fn what_is_put_in_place_of_stars_fits(parts in prop::collection::vec("[a-cä]{0,3}", 1..5), fill in "[a-cä]{0,3}") {
            prop_assert!(fits(&parts.join("*"), &parts.join(&fill)));
        }

        #[test]
        fn without_a_star_only_itself_fits(pattern in "[a-c]{0,3}", name in "[a-c]{0,3}") {
            prop_assert_eq!(fits(&pattern, &name), pattern == name);
        }

        #[test]
        fn any_text_is_survived(pattern in any::<String>(), name in any::<String>()) {
            let _ = fits(&pattern, &name);
        }
    }
}
