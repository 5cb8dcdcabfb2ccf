//! Spec files to try commands on.

use std::{fs, path::PathBuf, process::Command};

use serde_json::Value;
use tempfile::TempDir;

use crate::daemon::gpud;

/// What a command said.
pub struct CommandOutput {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

pub fn said(command: &mut Command) -> CommandOutput {
    let output = command.output().unwrap();
    CommandOutput {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A folder with one spec file.
pub struct Spec {
    pub folder: TempDir,
}

impl Spec {
    /// Writes the file. `@FOLDER@` in it becomes the folder's path, since scripts run in `/`.
    pub fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let text = text.replace("@FOLDER@", folder.path().to_str().unwrap());
        let spec = Self { folder };
        fs::write(spec.path(), text).unwrap();
        spec
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("spec.yaml")
    }

    pub fn command(&self, flags: &[&str]) -> Command {
        let mut command = gpud();
        command.arg("cs").arg(self.path()).args(flags);
        command.current_dir(self.folder.path());
        command
    }

    pub fn cs(&self, flags: &[&str]) -> CommandOutput {
        said(&mut self.command(flags))
    }

    /// The document, whatever the exit status.
    pub fn json(&self, flags: &[&str]) -> Value {
        let said = self.cs(&[flags, &["--json"]].concat());
        assert_eq!(said.out.lines().count(), 1, "{}", said.out);
        serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {}", said.out))
    }
}

/// A plugin that runs one script.
pub fn plugin(name: &str, kind: &str, script: &str) -> String {
    let script = script.replace('\n', "\n            ");
    format!(
        "- plugin_name: {name}\n  plugin_type: {kind}\n  health_state_plugin:\n    steps:\n      - name: s\n        \
         run_bash_script:\n          content_type: plaintext\n          script: |\n            {script}\n"
    )
}

/// One whose expectation is not met: the example of the reference.
pub const FAN_TRAY: &str = r#"- plugin_name: Fan Tray
  plugin_type: component
  run_mode: auto
  tags: [cooling]
  timeout: 20s
  interval: 5m
  health_state_plugin:
    steps:
      - name: read sensors
        run_bash_script:
          content_type: plaintext
          script: |
            echo "fan tray probe"
            echo '{"tray": {"rpm": 0}, "advice": "replace tray 2"}'
    parser:
      json_paths:
        - query: $.tray.rpm
          field: rpm
          expect:
            regex: "^[1-9]"
        - query: $.advice
          field: advice
          suggested_actions:
            HARDWARE_INSPECTION:
              regex: "(?i)replace"
"#;

pub fn strings(values: &Value, key: &str) -> Vec<String> {
    let values = values.as_array().unwrap().iter();
    values
        .map(|value| value[key].as_str().unwrap().to_owned())
        .collect()
}
