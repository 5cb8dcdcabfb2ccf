//! The tools that a plugin's project is built with: which are missing, and how to get them.
//!
//! Nothing is installed unless somebody asks for it. What a package manager keeps for the project alone (crates, modules,
//! `node_modules`, a virtual environment) is part of the build and no tool.

use std::{fmt::Write as _, path::Path, time::Duration};

use super::{
    build::{CommandOptions, environment, run_all},
    project::Project,
};
use crate::node::process::{self, Command, Env, Program};

/// Longest that a tool may take to say its version.
const DEADLINE: Duration = Duration::from_secs(30);
/// Makes Debian's and Ubuntu's packages known and installs some.
const APT: &str = "apt-get update && apt-get install --yes --no-install-recommends";

/// A tool that projects in a language need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tool {
    name: &'static str,
    /// Prints the version.
    version: &'static str,
    /// The oldest version that is enough; zeros: any.
    least: (u32, u32),
    /// Packages of Debian and Ubuntu; empty where theirs are too old.
    packages: &'static str,
    /// Where else it comes from.
    source: &'static str,
}

/// The tools of a language that gpud has an SDK for, but for C, whose `setup.sh` looks for them.
fn tools(language: &str) -> &'static [Tool] {
    match language.to_ascii_lowercase().as_str() {
        "rust" => &[Tool {
            name: "cargo (Rust)",
            version: "cargo --version",
            least: (1, 88),
            packages: "",
            source: "rustup installs it: https://rustup.rs",
        }],
        "go" => &[Tool {
            name: "go",
            version: "go env GOVERSION",
            least: (1, 26),
            packages: "",
            source: "https://go.dev/dl",
        }],
        "js" | "javascript" | "typescript" => &[
            Tool {
                name: "node (Node.js)",
                version: "node --version",
                least: (20, 0),
                packages: "nodejs",
                source: "https://nodejs.org",
            },
            Tool {
                name: "npm",
                version: "npm --version",
                least: (0, 0),
                packages: "npm",
                source: "it is part of Node.js: https://nodejs.org",
            },
        ],
        "python" => &[Tool {
            name: "python3",
            version: "\"${PYTHON:-python3}\" --version",
            least: (3, 11),
            packages: "python3 python3-venv",
            source: "https://www.python.org",
        }],
        _ => &[],
    }
}

/// The WebAssembly targets that build commands name.
fn targets(build: &[String]) -> Vec<&str> {
    let mut targets = Vec::new();
    for line in build {
        // Its standard library is built as well.
        if line.contains("build-std") {
            continue;
        }
        let mut words = line.split_ascii_whitespace();
        while let Some(word) = words.next() {
            let target = match word.strip_prefix("--target") {
                Some("") => words.next(),
                Some(rest) => rest.strip_prefix('='),
                None => None,
            };
            if let Some(target) = target.filter(|target| is_wasm_target(target))
                && !targets.contains(&target)
            {
                targets.push(target);
            }
        }
    }
    targets
}

/// Whether a word is the name of a target, and no part of a shell script.
fn is_wasm_target(word: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    word.starts_with("wasm") && word.bytes().all(fits)
}

/// The first version in a text, such as 1.26 of `go1.26.1`.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut pieces = text.split(|character: char| !character.is_ascii_digit() && character != '.');
    pieces.find_map(|piece| {
        let mut numbers = piece.split('.');
        Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    })
}

/// A tool that is not here, or too old.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Missing {
    /// What is needed, and what was found.
    what: String,
    /// Where it comes from.
    source: String,
    /// The command that installs it, where there is one.
    install: Option<String>,
}

impl Tool {
    /// What is wrong with what its version command printed, which is `None` if there is no such command; `None` if it
    /// is here and new enough.
    fn missing(&self, said: Option<&str>, apt: Option<&str>) -> Option<Missing> {
        let found = match said {
            None => "not found".to_owned(),
            Some(said) => match version(said) {
                Some(found) if found < self.least => format!("found {}.{}", found.0, found.1),
                _ => return None,
            },
        };
        let needed = match self.least {
            (0, 0) => String::new(),
            (major, minor) => format!(" {major}.{minor} or later"),
        };
        Some(Missing {
            what: format!("{}{needed}: {found}", self.name),
            source: self.source.to_owned(),
            install: apt
                .filter(|_| !self.packages.is_empty())
                .map(|apt| format!("{apt} {}", self.packages)),
        })
    }
}

/// What is to be done about missing tools.
fn report(missing: &[Missing]) -> String {
    let mut text = String::from("tools that this build needs are missing:");
    for Missing {
        what,
        source,
        install,
    } in missing
    {
        let _ = write!(text, "\n  {what}\n    {source}");
        if let Some(install) = install {
            let _ = write!(text, "\n    or: {install}");
        }
    }
    if missing.iter().any(|missing| missing.install.is_some()) {
        text.push_str("\n`gpud plugin build --install-tools` runs these commands");
    }
    text
}

/// Looks for the tools, and installs those that are missing if that was asked for.
///
/// # Errors
/// In words: what is missing, which version is needed, and how to get it.
pub(crate) async fn prepare(
    folder: &Path,
    project: &Project,
    command_options: CommandOptions<'_>,
) -> Result<(), String> {
    let probe = ToolProbe {
        folder,
        env: environment(command_options.variables).0,
    };
    let missing = probe.look(project).await;
    if missing.is_empty() {
        return Ok(());
    }
    // A password cannot be asked for: the command has no terminal.
    let unasked = |line: &String| line.replace("sudo ", "sudo --non-interactive ");
    let installs: Vec<String> = missing
        .iter()
        .filter_map(|missing| missing.install.as_ref().map(unasked))
        .collect();
    if !command_options.install_tools || installs.is_empty() {
        return Err(report(&missing));
    }
    run_all(folder, &installs, command_options).await?;
    let missing = probe.look(project).await;
    match missing.is_empty() {
        true => Ok(()),
        false => Err(report(&missing)),
    }
}

/// Asks tools in a project's folder, with the environment of its build.
struct ToolProbe<'a> {
    folder: &'a Path,
    env: Env,
}

impl ToolProbe<'_> {
    async fn look(&self, project: &Project) -> Vec<Missing> {
        let tools = tools(&project.language);
        let mut missing = Vec::new();
        if tools.is_empty() {
            return missing;
        }
        let apt = self.apt().await;
        for tool in tools {
            let said = self.said(tool.version).await;
            missing.extend(tool.missing(said.as_deref(), apt.as_deref()));
        }
        // A target is only looked for where there is a compiler.
        if project.language.eq_ignore_ascii_case("rust") && missing.is_empty() {
            for target in targets(&project.build) {
                missing.extend(self.missing_target(target).await);
            }
        }
        missing
    }

    async fn missing_target(&self, target: &str) -> Option<Missing> {
        let library =
            format!("test -d \"$(\"${{RUSTC:-rustc}}\" --print target-libdir --target {target})\"");
        if self.said(&library).await.is_some() {
            return None;
        }
        let has_rustup = self.said("rustup --version").await.is_some();
        Some(Missing {
            what: format!("Rust's standard library for {target}: not found"),
            source: "it is part of the Rust that rustup installs: https://rustup.rs".to_owned(),
            install: has_rustup.then(|| format!("rustup target add {target}")),
        })
    }

    /// How packages are installed; `None` where there is no apt.
    async fn apt(&self) -> Option<String> {
        let user = self.said("command -v apt-get >&2 && id -u").await?;
        Some(match user.trim() {
            "0" => APT.to_owned(),
            _ => APT
                .split(" && ")
                .map(|command| format!("sudo {command}"))
                .collect::<Vec<_>>()
                .join(" && "),
        })
    }

    /// What a command writes; `None` if it fails, or is not there.
    async fn said(&self, script: &str) -> Option<String> {
        // Asked for its version, rustup's cargo would install the toolchain that a project names.
        let script = format!("export RUSTUP_AUTO_INSTALL=0\n{script}");
        let command = Command {
            env: self.env.clone(),
            cwd: Some(self.folder.to_owned()),
            ..Command::new(Program::BashStdin(script.into_bytes()), DEADLINE)
        };
        let output = process::run(command).await.ok()?;
        (output.exit_code == Some(0)).then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_tools_say() {
        for (text, found) in [
            ("cargo 1.95.0 (f2d3ce0bd 2026-03-21)", Some((1, 95))),
            ("go1.26.1\n", Some((1, 26))),
            ("v20.11.1", Some((20, 11))),
            ("Python 3.14.0rc2", Some((3, 14))),
            ("10.8.2", Some((10, 8))),
            ("no version", None),
            ("", None),
            ("99999999999.1 7", None),
        ] {
            assert_eq!(version(text), found, "{text}");
        }
    }

    #[test]
    fn targets_of_build_commands_are_found() {
        let build = [
            "cargo build --release --target wasm32-unknown-unknown --target-dir ../t".to_owned(),
            "cargo build --target=wasm32-wasip2; cargo build --target wasm32-wasip2".to_owned(),
            "cargo build -Zbuild-std=std --target wasm32-wasip1".to_owned(),
            "cargo build --target x86_64-unknown-linux-gnu --target wasm$(id)".to_owned(),
        ];
        assert_eq!(targets(&build), ["wasm32-unknown-unknown", "wasm32-wasip2"]);
    }

    #[test]
    fn what_is_missing_has_a_version_and_a_source() {
        let [python] = tools("Python") else {
            unreachable!("one tool");
        };
        assert_eq!(python.missing(Some("Python 3.11.2"), None), None);
        assert_eq!(python.missing(Some("a build of one's own"), None), None);
        let old = python.missing(Some("Python 3.9.2"), Some("apt-get install"));
        let absent = tools("rust")
            .iter()
            .filter_map(|tool| tool.missing(None, Some("apt")));
        let text = report(&old.into_iter().chain(absent).collect::<Vec<_>>());
        assert_eq!(
            text,
            "tools that this build needs are missing:\n  \
             python3 3.11 or later: found 3.9\n    \
             https://www.python.org\n    \
             or: apt-get install python3 python3-venv\n  \
             cargo (Rust) 1.88 or later: not found\n    \
             rustup installs it: https://rustup.rs\n\
             `gpud plugin build --install-tools` runs these commands"
        );
        assert!(tools("zig").is_empty());
    }
}
