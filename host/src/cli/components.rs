//! Which built-in checks run: the value of `--components`.

use std::collections::BTreeSet;

/// A choice among components by name.
///
/// Items are separated by commas. Names choose; `all`, `*` or no name at all choose every component; `none` chooses
/// nothing by itself; `-name` takes one out of whatever was chosen, wherever it stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ComponentSelection {
    /// `None` is all.
    only: Option<BTreeSet<String>>,
    except: BTreeSet<String>,
}

impl ComponentSelection {
    /// Reads the flag's value. Every text means something.
    pub fn parse(list: &str) -> Self {
        let mut all = false;
        let mut only = BTreeSet::new();
        let mut except = BTreeSet::new();
        for item in list.split(',').map(str::trim) {
            match (item, item.strip_prefix('-')) {
                ("", _) => {}
                ("*" | "all", _) => all = true,
                (_, Some(name)) => drop(except.insert(name.to_owned())),
                (name, None) => drop(only.insert(name.to_owned())),
            }
        }
        Self {
            only: (!all && !only.is_empty()).then_some(only),
            except,
        }
    }

    /// The choice in words, as `/admin/config` shows it; `None` for all.
    pub fn words(&self) -> Option<Vec<String>> {
        let chosen = self.only.iter().flatten().cloned();
        let words: Vec<String> = chosen
            .chain(self.except.iter().map(|name| format!("-{name}")))
            .collect();
        (!words.is_empty()).then_some(words)
    }

    /// Whether this component was chosen.
    pub fn includes(&self, name: &str) -> bool {
        let chosen = self.only.as_ref().is_none_or(|only| only.contains(name));
        chosen && !self.except.contains(name)
    }

    /// Returns a warning about names that do not exist, given those that do. Such names choose nothing, as in GPUd,
    /// where scripts switch everything off with such a name; `none` is the word for that.
    pub fn warning(&self, known: &[String]) -> Option<String> {
        let named = self.only.iter().flatten().chain(&self.except);
        let unknown: Vec<_> = named
            .filter(|name| *name != "none" && !known.contains(name))
            .map(String::as_str)
            .collect();
        (!unknown.is_empty()).then(|| {
            format!(
                "--components: no component is called {}; there are: {}",
                unknown.join(", "),
                known.join(", ")
            )
        })
    }
}

/// The names in comma-separated lists, without blanks.
pub fn names(lists: &[String]) -> Vec<String> {
    let items = lists.iter().flat_map(|list| list.split(','));
    let names = items.map(str::trim).filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chooses() {
        for (list, chosen) in [
            ("", "cpu disk memory"),
            ("*", "cpu disk memory"),
            ("all", "cpu disk memory"),
            ("cpu", "cpu"),
            (" cpu , disk,", "cpu disk"),
            ("none", ""),
            ("none,cpu", "cpu"),
            ("typo", ""),
            ("-disk", "cpu memory"),
            ("all,-disk", "cpu memory"),
            ("-disk,*", "cpu memory"),
            ("-disk,cpu", "cpu"),
            ("cpu,-cpu", ""),
            ("cpu,all", "cpu disk memory"),
        ] {
            let selection = ComponentSelection::parse(list);
            let found: Vec<_> = ["cpu", "disk", "memory"]
                .into_iter()
                .filter(|name| selection.includes(name))
                .collect();
            assert_eq!(found.join(" "), chosen, "{list:?}");
        }
    }

    #[test]
    fn warns_of_names_that_do_not_exist() {
        let known = ["cpu".to_owned(), "disk".to_owned()];
        for (list, warning) in [
            ("cpu,-disk", None),
            ("none", None),
            ("all", None),
            (
                "cpu,dsk,-mem",
                Some("--components: no component is called dsk, mem; there are: cpu, disk"),
            ),
        ] {
            let found = ComponentSelection::parse(list).warning(&known);
            assert_eq!(found.as_deref(), warning, "{list}");
        }
    }
}
