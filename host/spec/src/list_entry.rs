//! One entry of a component list: `name#mode[tag, tag]:param`.

/// A parsed entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListEntry {
    /// Never empty; blanks are preserved.
    pub name: String,
    /// `None` takes the list's.
    pub mode: Option<String>,
    /// `None` takes the list's; an empty list replaces them by none.
    pub tags: Option<Vec<String>>,
    /// Everything behind the first colon.
    pub param: String,
}

/// Why an entry is refused. The messages are GPUd's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListEntryError {
    /// Nothing before the first `#` or `:`.
    #[error("component name cannot be empty in component list")]
    EmptyName,
    /// One kind of bracket only, or the closing one before the opening one (on which GPUd crashes).
    #[error("invalid tag format in component list entry: {0}")]
    InvalidTags(String),
}

impl ListEntry {
    /// Parses an entry, as odd as GPUd does: the entry is cut at its first colon even inside brackets, and the last
    /// character of the tag text is dropped whatever it is.
    ///
    /// # Errors
    /// [`ListEntryError`].
    pub fn parse(entry: &str) -> Result<Self, ListEntryError> {
        let (left, param) = entry.split_once(':').unwrap_or((entry, ""));
        let (name, qualifier) = left.split_once('#').unwrap_or((left, ""));
        if name.is_empty() {
            return Err(ListEntryError::EmptyName);
        }
        let invalid = || ListEntryError::InvalidTags(entry.to_owned());
        let (mode, tags) = match qualifier.split_once('[') {
            None if qualifier.contains(']') => return Err(invalid()),
            None => (qualifier, None),
            Some(_) if !qualifier.contains(']') => return Err(invalid()),
            Some((mode, rest)) => {
                let mut tags = rest.chars();
                tags.next_back().ok_or_else(invalid)?;
                (mode, Some(split_tags(tags.as_str())))
            }
        };
        let mode = mode.trim();
        Ok(Self {
            name: name.to_owned(),
            mode: (!mode.is_empty()).then(|| mode.to_owned()),
            tags,
            param: param.to_owned(),
        })
    }
}

fn split_tags(text: &str) -> Vec<String> {
    text.split(',')
        .map(str::trim)
        .filter(|tag| !tag.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_grammar_as_gpud_has_it() {
        // name, mode, tags, param; an empty mode and tags `-` are the list's own.
        for (entry, name, mode, tags, param) in [
            ("eth0", "eth0", "", "-", ""),
            ("eth0:-v 2:x", "eth0", "", "-", "-v 2:x"),
            ("eth0#manual", "eth0", "manual", "-", ""),
            ("eth0#[a, b]:p", "eth0", "", "a|b", "p"),
            ("eth0#manual[]", "eth0", "manual", "", ""),
            ("eth0#", "eth0", "", "-", ""),
            ("eth 0 #manual :p", "eth 0 ", "manual", "-", "p"),
            ("eth0[a]:p", "eth0[a]", "", "-", "p"),
            ("eth0/auto:/x", "eth0/auto", "", "-", "/x"),
            ("eth0#auto#x[t]", "eth0", "auto#x", "t", ""),
            ("eth0#auto[a,b] :p", "eth0", "auto", "a|b]", "p"),
            ("eth0#auto[a]zz", "eth0", "auto", "a]z", ""),
            ("a:b#c[", "a", "", "-", "b#c["),
            ("a# [ , x,, ]é", "a", "", "x|]", ""),
            (" ", " ", "", "-", ""),
        ] {
            let read = ListEntry::parse(entry).unwrap();
            assert_eq!(
                (read.name.as_str(), read.param.as_str()),
                (name, param),
                "{entry}"
            );
            assert_eq!(read.mode.as_deref().unwrap_or_default(), mode, "{entry}");
            assert_eq!(
                read.tags.map_or("-".to_owned(), |tags| tags.join("|")),
                tags,
                "{entry}"
            );
        }
    }

    #[test]
    fn refused_entries() {
        for entry in ["", ":p", "#manual", "#:", "#[a]"] {
            assert_eq!(
                ListEntry::parse(entry),
                Err(ListEntryError::EmptyName),
                "{entry}"
            );
        }
        for entry in [
            "a#auto][",
            "eth0#auto[x:y]:p",
            "a#[",
            "a#]",
            "a#x]y",
            "a#m[t",
        ] {
            assert_eq!(
                ListEntry::parse(entry).unwrap_err().to_string(),
                format!("invalid tag format in component list entry: {entry}")
            );
        }
    }

    proptest! {
        #[test]
        fn no_entry_panics(entry in "[ab#:,é \\[\\]]{0,16}") {
            if let Ok(read) = ListEntry::parse(&entry) {
                prop_assert!(entry.starts_with(&read.name) && entry.ends_with(&read.param));
                prop_assert!(!read.name.is_empty());
            }
        }

        #[test]
        fn parts_put_together_come_out_again(
            name in "[a-z][a-z ]{0,6}", mode in "[a-z]{0,4}", tags in prop::collection::vec("[a-z]{1,4}", 0..3), param in "[a-z:#\\[\\]]{0,8}",
        ) {
            let read = ListEntry::parse(&format!("{name}#{mode}[{}]:{param}", tags.join(", "))).unwrap();
            prop_assert_eq!(read, ListEntry { name, mode: (!mode.is_empty()).then_some(mode), tags: Some(tags), param });
        }
    }
}
