//! The configuration that an operator can set.

use serde::Deserialize;

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "groups": {
      "description": "Volumes that are tried: a file with these contents is written, read back and removed in this folder.",
      "type": "array", "maxItems": 64,
      "items": {
        "type": "object",
        "additionalProperties": false,
        "required": ["volume_path", "file_contents"],
        "properties": {
          "volume_path": { "description": "Mount point of the volume.", "type": "string", "pattern": "^/" },
          "dir_name": { "description": "Folder in the volume; made if missing.", "type": "string", "default": "" },
          "file_contents": { "description": "What is written and read back.", "type": "string", "minLength": 1, "maxLength": 65536 }
        }
      },
      "default": []
    },
    "host_root": {
      "description": "Where the machine's files are seen from here, for example /proc/1/root in a container. Goes before every path that is tried.",
      "type": "string", "pattern": "^(/.*)?$", "default": ""
    }
  }
}"#;

/// Most volumes.
const MAX_GROUPS: usize = 64;
/// Largest contents, bytes. A program's variable can have 128 KiB (`MAX_ARG_STRLEN`, kernel).
const MAX_CONTENTS: usize = 64 * 1024;
/// Longest path (`PATH_MAX`), bytes.
const MAX_PATH: usize = 4096;

/// The configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Volumes.
    pub groups: Vec<Group>,
    /// Goes before every path that is tried; empty or absolute.
    pub host_root: String,
}

/// One volume.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Group {
    /// Mount point.
    pub volume_path: String,
    /// Folder in it.
    pub dir_name: String,
    /// Contents of the file.
    pub file_contents: String,
}

impl Config {
    /// Reads the document.
    ///
    /// # Errors
    /// In words, with the place. [`Group::check`] reports what is wrong with a volume.
    pub fn parse(document: &str) -> Result<Self, String> {
        let mut config: Self =
            serde_json::from_str(document).map_err(|error| format!("configuration: {error}"))?;
        if config.groups.len() > MAX_GROUPS {
            return Err(format!(
                "configuration: groups has {} entries, at most {MAX_GROUPS}",
                config.groups.len()
            ));
        }
        let root = config.host_root.trim_end_matches('/');
        if !root.is_empty() && path_problem(root).is_some() {
            return Err(format!(
                "configuration: host_root: {:?} is not an absolute path without `..`",
                config.host_root
            ));
        }
        config.host_root = root.to_owned();
        Ok(config)
    }
}

impl Group {
    /// The problem with it, as far as can be determined without looking.
    ///
    /// # Errors
    /// In words.
    pub fn check(&self) -> Result<(), String> {
        let path = &self.volume_path;
        if path.is_empty() {
            return Err("volume path is empty".to_owned());
        }
        if let Some(problem) = path_problem(path) {
            return Err(format!("volume path {problem}"));
        }
        if let Some(problem) = path_problem(&format!("/{}", self.dir_name)) {
            return Err(format!("dir name {:?} {problem}", shown(&self.dir_name)));
        }
        let contents = &self.file_contents;
        if contents.is_empty() {
            return Err("file content is empty".to_owned());
        }
        if contents.len() > MAX_CONTENTS {
            let size = contents.len();
            return Err(format!(
                "file content has {size} bytes, at most {MAX_CONTENTS}"
            ));
        }
        if contents.contains('\0') {
            return Err("file content has a NUL byte".to_owned());
        }
        Ok(())
    }

    /// Returns the path of the volume, without superfluous slashes.
    pub fn volume(&self) -> String {
        joined(&self.volume_path)
    }

    /// The folder for the file, without superfluous slashes.
    pub fn folder(&self) -> String {
        joined(&format!("{}/{}", self.volume_path, self.dir_name))
    }
}

fn path_problem(path: &str) -> Option<&'static str> {
    if !path.starts_with('/') {
        Some("is not absolute")
    } else if path.len() > MAX_PATH {
        Some("is too long")
    } else if path.contains('\0') {
        Some("has a NUL byte")
    } else if path.split('/').any(|part| part == "..") {
        Some("has a `..`")
    } else {
        None
    }
}

fn joined(path: &str) -> String {
    let parts: Vec<&str> = path
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect();
    format!("/{}", parts.join("/"))
}

/// The beginning of a text.
pub fn shown(text: &str) -> &str {
    text.get(..text.floor_char_boundary(256)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(volume: &str, dir: &str, contents: &str) -> Group {
        Group {
            volume_path: volume.into(),
            dir_name: dir.into(),
            file_contents: contents.into(),
        }
    }

    #[test]
    fn documents() {
        assert_eq!(Config::parse("{}"), Ok(Config::default()));
        let document = r#"{"groups":[{"volume_path":"/a","dir_name":"d","file_contents":"x"}],"host_root":"/proc/1/root/"}"#;
        let config = Config::parse(document).unwrap();
        assert_eq!(config.groups, [group("/a", "d", "x")]);
        assert_eq!(config.host_root, "/proc/1/root");
        for (document, expected) in [
            (r#"{"groups":{}}"#, "configuration: "),
            (r#"{"groups":[{"path":"/a"}]}"#, "unknown field `path`"),
            (
                r#"{"host_root":"x"}"#,
                "host_root: \"x\" is not an absolute path",
            ),
            (r#"{"host_root":"/a/../b"}"#, "without `..`"),
            ("[]x", "configuration: "),
        ] {
            let error = Config::parse(document).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        let many = format!("{{\"groups\":[{}{{}}]}}", "{},".repeat(64));
        assert!(Config::parse(&many).unwrap_err().contains("65 entries"));
    }

    #[test]
    fn volumes() {
        let long = "x".repeat(65_537);
        for (group, expected) in [
            (group("/a", "d", "x"), Ok(())),
            (group("/a", "", "x"), Ok(())),
            (group("/a", "d/e f", "x"), Ok(())),
            (group("", "d", "x"), Err("volume path is empty")),
            (group("a", "d", "x"), Err("volume path is not absolute")),
            (group("/a/../b", "d", "x"), Err("volume path has a `..`")),
            (group("/a\0", "d", "x"), Err("volume path has a NUL byte")),
            (
                group("/a", "../etc", "x"),
                Err("dir name \"../etc\" has a `..`"),
            ),
            (group("/a", "d", ""), Err("file content is empty")),
            (group("/a", "d", "x\0"), Err("file content has a NUL byte")),
            (
                group("/a", "d", &long),
                Err("file content has 65537 bytes, at most 65536"),
            ),
        ] {
            assert_eq!(group.check(), expected.map_err(str::to_owned));
        }
        let group = group("//a/./b/", "c//d/", "x");
        assert_eq!(
            (group.volume(), group.folder()),
            ("/a/b".into(), "/a/b/c/d".into())
        );
    }

    #[test]
    fn the_schema_knows_the_same_keys() {
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        let keys = |value: &serde_json::Value| -> Vec<String> {
            value["properties"]
                .as_object()
                .unwrap()
                .keys()
                .cloned()
                .collect()
        };
        assert_eq!(keys(&schema), ["groups", "host_root"]);
        let group = &schema["properties"]["groups"]["items"];
        assert_eq!(keys(group), ["dir_name", "file_contents", "volume_path"]);
    }
}
