//! The site's own configuration of built-in components: a YAML file that maps names of components to keys of their
//! configuration.

use std::path::Path;

use crate::{
    component::{SiteConfig, builtin},
    node::trusted,
    spec::{Configs, parse_configs},
};

/// Looked for when no file is named; it may be missing.
pub const DEFAULT_FILE: &str = "/etc/default/gpud.components.yaml";
/// Largest file, bytes.
const MAX_BYTES: usize = 1 << 20;

/// A site's configurations, by component.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SiteConfigs {
    file: String,
    by_component: Configs,
}

impl SiteConfigs {
    /// Reads the file that was named, or the default one if it is there.
    ///
    /// # Errors
    /// The problem with it, naming file, line and key. Nothing of such a file is used.
    pub fn load(named: Option<&Path>) -> Result<Self, String> {
        let path = named.unwrap_or(Path::new(DEFAULT_FILE));
        let bytes = match trusted::read(path, MAX_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if named.is_none() && error.is_not_found() => {
                return Ok(Self::default());
            }
            Err(error) => return Err(error.to_string()),
        };
        let text = std::str::from_utf8(&bytes)
            .map_err(|error| format!("{}: not UTF-8: {error}", path.display()))?;
        let known: Vec<&str> = builtin::all().iter().map(|b| b.component).collect();
        Self::parse(&path.display().to_string(), text, &known)
    }

    fn parse(file: &str, text: &str, known: &[&str]) -> Result<Self, String> {
        let by_component = parse_configs(text, file)?;
        if let Some(unknown) = by_component
            .keys()
            .find(|name| !known.contains(&name.as_str()))
        {
            return Err(format!(
                "{file}: no built-in component is called {unknown:?}; there are: {}",
                known.join(", ")
            ));
        }
        Ok(Self {
            file: file.to_owned(),
            by_component,
        })
    }

    /// Returns the configuration of one component.
    pub fn of(&self, component: &str) -> Option<SiteConfig> {
        let keys = self.by_component.get(component)?;
        Some(SiteConfig {
            file: self.file.clone(),
            keys: keys.clone(),
        })
    }
}

#[cfg(test)]
mod tests;
