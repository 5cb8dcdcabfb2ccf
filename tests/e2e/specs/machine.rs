//! A machine whose programs are stand-ins, what the binary says of a spec on it, and what it should say.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use serde_json::Value;
use tempfile::TempDir;

use crate::daemon::gpud;

/// What the scripts and the stand-ins may take for granted. Nothing else of this machine is in their `PATH`, so that a
/// machine that has, say, nvidia-smi gives the same answers.
const ORDINARY: &[&str] = &[
    "awk", "bash", "cat", "cksum", "dd", "env", "find", "id", "ln", "mkdir", "mktemp", "rm", "sed",
    "sh", "sleep", "test", "timeout", "tr",
];

/// A path of this repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// Where the `PATH` of this test leads to.
fn which(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
}

/// The interpreter itself rather than a wrapper that needs more of the machine; none if there is no Python.
pub static PYTHON: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    let output = Command::new("python3")
        .args(["-c", "import sys; print(sys.executable)"])
        .output()
        .ok()?;
    Some(PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()))
});

/// One spec, all its plugins checked once.
pub struct Run {
    spec: String,
    tools: Option<&'static str>,
    folder: TempDir,
}

/// A spec on a machine with the programs of a folder of `tests/specs-tools/`.
pub fn run(spec: &str, tools: &'static str) -> Run {
    bare(spec).on(tools)
}

/// A spec on a machine with nothing but ordinary programs.
pub fn bare(spec: &str) -> Run {
    let folder = tempfile::tempdir().unwrap();
    for file in [format!("{spec}.yaml"), "component-list.txt".into()] {
        fs::copy(repository("specs").join(&file), folder.path().join(&file)).unwrap();
    }
    Run {
        spec: format!("{spec}.yaml"),
        tools: None,
        folder,
    }
}

impl Run {
    /// With other programs.
    pub fn on(self, tools: &'static str) -> Self {
        Self {
            tools: Some(tools),
            ..self
        }
    }

    /// Tuned as an operator would.
    pub fn edit(self, from: &str, to: &str) -> Self {
        self.edit_file(&self.spec, from, to);
        self
    }

    /// As `edit`, in another file of the folder.
    pub fn edit_file(&self, file: &str, from: &str, to: &str) {
        let path = self.folder.path().join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{file} does not say {from:?}");
        fs::write(path, text.replace(from, to)).unwrap();
    }

    /// With a folder of these files in the place of one that the spec names.
    pub fn files(self, named: &str, files: &[(&str, &str)]) -> Self {
        let folder = self.folder.path().join("files");
        fs::create_dir(&folder).unwrap();
        for (name, text) in files {
            fs::write(folder.join(name), text).unwrap();
        }
        self.edit(named, folder.to_str().unwrap())
    }

    fn path(&self) -> std::ffi::OsString {
        let programs = self.folder.path().join("programs");
        fs::create_dir(&programs).unwrap();
        for name in ORDINARY {
            let program = which(name).unwrap_or_else(|| panic!("no {name} on this machine"));
            symlink(program, programs.join(name)).unwrap();
        }
        if let Some(python) = &*PYTHON {
            symlink(python, programs.join("python3")).unwrap();
        }
        let tools = self
            .tools
            .map(|tools| repository("tests/specs-tools").join(tools));
        if let Some(tools) = &tools {
            assert!(tools.is_dir(), "there is no {}", tools.display());
        }
        std::env::join_paths(tools.into_iter().chain([programs])).unwrap()
    }

    /// Runs, and compares the verdicts: these components, in this order.
    pub fn gives(self, expected: &[Expected]) {
        let output = gpud()
            .args(["cs", &self.spec, "-r", "-f=false", "--json"])
            .current_dir(self.folder.path())
            .env("PATH", self.path())
            .env("SPIKE", self.folder.path().join("spike"))
            .output()
            .unwrap();
        let what = format!("{} with {:?}", self.spec, self.tools);
        let text = String::from_utf8_lossy(&output.stdout);
        let error = String::from_utf8_lossy(&output.stderr);
        let document: Value =
            serde_json::from_str(&text).unwrap_or_else(|e| panic!("{what}: {e}\n{text}\n{error}"));
        assert_eq!(output.status.code(), Some(0), "{what}\n{text}\n{error}");
        let results = document["results"].as_array().unwrap();
        let names: Vec<_> = results.iter().map(|r| text_of(&r["component"])).collect();
        let wanted: Vec<_> = expected.iter().map(|e| e.component).collect();
        assert_eq!(names, wanted, "{what}");
        for (result, expected) in results.iter().zip(expected) {
            expected.compare(result, &what);
        }
    }
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// What one component must say.
pub struct Expected {
    component: &'static str,
    health: &'static str,
    reason: &'static str,
    says: Vec<(&'static str, &'static str)>,
    action: Option<(&'static str, &'static str)>,
}

/// A component that is as it should be and suggests nothing.
pub fn healthy(component: &'static str) -> Expected {
    Expected {
        component,
        health: "Healthy",
        reason: "ok",
        says: Vec::new(),
        action: None,
    }
}

/// A component with an expectation that is not met; it suggests nothing.
pub fn unhealthy(component: &'static str) -> Expected {
    Expected {
        health: "Unhealthy",
        reason: "unexpected plugin output",
        ..healthy(component)
    }
}

impl Expected {
    /// In `extra_info`: `status` is this text, any other field contains it.
    pub fn says(mut self, field: &'static str, text: &'static str) -> Self {
        self.says.push((field, text));
        self
    }

    /// Exactly this repair action, with this in its description.
    pub fn suggests(mut self, action: &'static str, text: &'static str) -> Self {
        self.action = Some((action, text));
        self
    }

    /// With this reason.
    pub fn because(mut self, reason: &'static str) -> Self {
        self.reason = reason;
        self
    }

    fn compare(&self, result: &Value, what: &str) {
        let what = format!("{what}: {result:#}");
        assert_eq!(text_of(&result["health"]), self.health, "{what}");
        assert_eq!(text_of(&result["reason"]), self.reason, "{what}");
        for &(field, text) in &self.says {
            let found = text_of(&result["extra_info"][field]);
            if field == "status" {
                assert_eq!(found, text, "{what}");
            } else {
                assert!(found.contains(text), "no {text:?} in {field} of {what}");
            }
        }
        let suggested = &result["suggested_actions"];
        let actions = suggested["repair_actions"].as_array();
        let actions: Vec<_> = actions.into_iter().flatten().map(text_of).collect();
        match self.action {
            None => assert!(actions.is_empty(), "{what}"),
            Some((action, text)) => {
                assert_eq!(actions, [action], "{what}");
                assert!(text_of(&suggested["description"]).contains(text), "{what}");
            }
        }
    }
}
