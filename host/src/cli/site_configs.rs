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

/// What a site says, by component.
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

    /// What it says about one component.
    pub fn of(&self, component: &str) -> Option<SiteConfig> {
        let keys = self.by_component.get(component)?;
        Some(SiteConfig {
            file: self.file.clone(),
            keys: keys.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const KNOWN: [&str; 2] = ["accelerator-nvidia-error-xid", "disk"];

    #[test]
    fn keys_are_taken_by_component() {
        let text = "# policy of this site\naccelerator-nvidia-error-xid:\n  policy:\n    79: {actions: [REBOOT_SYSTEM]}\ndisk: {}\n";
        let site = SiteConfigs::parse("f", text, &KNOWN).unwrap();
        assert_eq!(
            Value::Object(site.of(KNOWN[0]).unwrap().keys),
            json!({"policy": {"79": {"actions": ["REBOOT_SYSTEM"]}}})
        );
        assert!(site.of("disk").unwrap().keys.is_empty());
        assert_eq!(site.of("os"), None);
        for empty in ["", "# nothing\n", "{}"] {
            assert_eq!(
                SiteConfigs::parse("f", empty, &KNOWN).unwrap().of("disk"),
                None
            );
        }
    }

    #[test]
    fn mistakes_are_reported_with_their_position() {
        for (text, expected) in [
            ("disk: 5\n", "(f:1:7"),
            ("disk:\n  a: [1\n", "(f:"),
            ("- disk\n", "(f:1:1)"),
            (
                "dsik: {}\n",
                "no built-in component is called \"dsik\"; there are: accelerator-nvidia-error-xid, disk",
            ),
            (
                "disk: {}\ndisk: {}\n",
                "`disk` is given more than once (f:2:1",
            ),
        ] {
            let problem = SiteConfigs::parse("f", text, &KNOWN).unwrap_err();
            assert!(problem.contains(expected), "{text}: {problem}");
        }
    }

    #[test]
    fn a_named_file_must_be_there_and_the_default_need_not() {
        let missing = Path::new("/nonexistent/gpud.components.yaml");
        let problem = SiteConfigs::load(Some(missing)).unwrap_err();
        assert!(problem.contains("/nonexistent"), "{problem}");
        SiteConfigs::load(None).unwrap();
    }

    #[test]
    fn a_file_that_others_can_change_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let file = tempfile::NamedTempFile::new().unwrap();
        SiteConfigs::load(Some(file.path())).unwrap();
        let open = std::fs::Permissions::from_mode(0o666);
        file.as_file().set_permissions(open).unwrap();
        let problem = SiteConfigs::load(Some(file.path())).unwrap_err();
        assert!(
            problem.contains("is not trusted") && problem.contains("chmod go-w"),
            "{problem}"
        );
    }
}
