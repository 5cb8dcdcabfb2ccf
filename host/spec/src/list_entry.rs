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
mod tests;
