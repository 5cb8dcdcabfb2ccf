//! `gpud plugin build`: runs a project's own build commands, and makes the component of what they leave.
#![allow(
    clippy::disallowed_methods,
    reason = "files of a plugin's project, which the user named"
)]

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use gpud_flatten::Outcome;
use serde_json::json;

use super::{
    component_file::{ComponentFile, digest},
    encode::{Lacks, encode},
    project::Project,
    rehearse::rehearsed,
};
use crate::{
    cli::{
        exit::Exit,
        sizes::iec,
        terminal::{Terminal, printable},
    },
    node::{
        local_file,
        process::{self, Command, Env, Program, Streams},
    },
    plugins::wasm::MAX_COMPONENT_BYTES,
};

/// Longest that one command may take: a first build fetches and compiles what the project depends on.
const DEADLINE: Duration = Duration::from_secs(1800);
/// Output kept of a command, bytes.
const MAX_OUTPUT: usize = 4 << 20;
/// Lines shown of a command that failed, the last ones.
const SHOWN_LINES: usize = 80;

/// What was built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// The component.
    pub component: PathBuf,
    /// Its size, bytes.
    pub size: usize,
    /// SHA-256 of it.
    pub sha256: String,
    /// Why its many core modules could not be merged: it works, but starts slower than it could.
    pub unmerged: Option<String>,
    /// How many pages of its memory it writes to first when it begins, since its checks write to them.
    pub touched_pages: usize,
    /// Why it is not known which these are, where that matters: it works, but checks slower than it could.
    pub unrehearsed: Option<String>,
}

/// Builds and says what came of it.
///
/// # Errors
/// It is no project, a command failed, or what it left is no component.
pub async fn build(folder: &Path, json: bool, terminal: Terminal) -> Result<Exit, Exit> {
    let fail = |message: String| Exit::failure(message).in_json(json, "failed_to_build");
    let project = Project::read(folder).map_err(fail)?;
    let built = built(folder, &project).await.map_err(fail)?;
    let shown = built.component.display();
    Ok(Exit::success(match json {
        true => {
            let document = json!({
                "component": shown.to_string(),
                "size": built.size,
                "sha256": built.sha256,
                "touched_pages": built.touched_pages,
            });
            format!("{document}\n")
        }
        false => {
            let mut text = format!(
                "{} {shown}: {}, sha256 {}\n",
                terminal.good(),
                iec(built.size as u64),
                built.sha256
            );
            if let Some(why) = &built.unmerged {
                text.push_str(&format!("  its core modules stay apart: {why}\n"));
            }
            if let Some(why) = &built.unrehearsed {
                let why = printable(why);
                text.push_str(&format!("  its checks were not rehearsed: {why}\n"));
            }
            text
        }
    }))
}

/// Builds a project. The core modules of a component that was linked of many (Python's) are merged: it starts in a
/// fraction of the time. One with a large memory (Go's, Python's) is rehearsed: its page faults are cheaper then.
///
/// # Errors
/// In words, with the last lines of a command that failed.
pub async fn built(folder: &Path, project: &Project) -> Result<Built, String> {
    run_all(folder, &project.build).await?;
    let component = folder.join(&project.component);
    if let Some(module) = &project.module {
        let module = folder.join(module);
        let bytes = read(&module)?;
        let lacks = Lacks {
            wit: project.wit.as_ref().map(|path| folder.join(path)),
            adapter: project.adapter.as_ref().map(|path| folder.join(path)),
        };
        let encoded =
            encode(&bytes, &lacks).map_err(|problem| format!("{}: {problem}", module.display()))?;
        replace(&component, &encoded)?;
    }
    let bytes = read(&component)?;
    if !bytes.starts_with(b"\0asm\x0d\0\x01\0") {
        return Err(format!(
            "{}: the commands left something that is no component; a core module goes under `module:`",
            component.display()
        ));
    }
    let left = digest(&bytes);
    let (bytes, unmerged) = match gpud_flatten::flatten(&bytes) {
        Ok(Outcome::Flattened(flattened)) => (flattened.component, None),
        Ok(Outcome::Unchanged(_)) => (bytes, None),
        Err(error) => (bytes, Some(error.to_string())),
    };
    let path = component.clone();
    let mut made = ComponentFile { path, bytes };
    let cases = project.cases.as_ref().map(|cases| folder.join(cases));
    let (touched_pages, unrehearsed) = match rehearsed(&made, cases.as_deref()).await {
        Ok(Some(rehearsed)) => {
            made.bytes = rehearsed.component;
            (rehearsed.pages, None)
        }
        Ok(None) => (0, None),
        Err(why) => (0, Some(why)),
    };
    let sha256 = made.digest();
    if sha256 != left {
        replace(&component, &made.bytes)?;
    }
    Ok(Built {
        component,
        size: made.bytes.len(),
        sha256,
        unmerged,
        touched_pages,
        unrehearsed,
    })
}

/// Runs commands in a folder, one after another, with the environment of who called.
///
/// # Errors
/// The first that fails, with its last lines.
pub async fn run_all(folder: &Path, commands: &[String]) -> Result<(), String> {
    for line in commands {
        let program = Program::Argv(vec!["bash".into(), "-euc".into(), line.into()]);
        let command = Command {
            env: Env::Inherit,
            cwd: Some(folder.to_owned()),
            max_output_bytes: MAX_OUTPUT,
            streams: Streams::Combined,
            ..Command::new(program, DEADLINE)
        };
        let output = process::run(command)
            .await
            .map_err(|error| format!("`{line}`: {error}"))?;
        if output.exit_code == Some(0) {
            continue;
        }
        let ended = match (output.exit_code, output.signal) {
            (Some(code), _) => format!("ended with status {code}"),
            (None, Some(signal)) => format!("was ended by signal {signal}"),
            (None, None) => "ended".to_owned(),
        };
        return Err(format!("`{line}` {ended}:\n{}", last_lines(&output.stdout)));
    }
    Ok(())
}

fn last_lines(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(SHOWN_LINES);
    let last = lines.into_iter().skip(from).map(printable);
    last.collect::<Vec<_>>().join("\n")
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    local_file::read(path, MAX_COMPONENT_BYTES)
        .map_err(|error| local_file::open_error(path, &error))
}

/// Writes beside and renames, so that a daemon that watches the file never sees half of it.
fn replace(path: &Path, content: &[u8]) -> Result<(), String> {
    let wrong = |error: std::io::Error| format!("{}: {error}", path.display());
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(wrong)?;
    }
    let beside = path.with_extension("wasm.tmp");
    fs::write(&beside, content).map_err(wrong)?;
    fs::rename(&beside, path).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(build: &[&str], module: Option<&str>) -> Project {
        Project {
            name: "x".into(),
            language: "c".into(),
            build: build.iter().map(|line| (*line).to_owned()).collect(),
            module: module.map(Into::into),
            wit: None,
            adapter: None,
            component: "out/x.wasm".into(),
            test: Vec::new(),
            cases: None,
            spec: None,
        }
    }

    #[tokio::test]
    async fn commands_leave_a_component() {
        let folder = tempfile::tempdir().unwrap();
        let line = r"mkdir -p out; printf '\0asm\x0d\0\x01\0' > out/x.wasm";
        let built = built(folder.path(), &project(&["true", line], None))
            .await
            .unwrap();
        assert_eq!((built.size, built.unmerged), (8, None));
        assert_eq!(built.sha256.len(), 64);
    }

    #[tokio::test]
    async fn a_component_linked_of_many_modules_is_merged() {
        let folder = tempfile::tempdir().unwrap();
        let linked = r#"(component
            (core module $a (func (export "one") (result i32) i32.const 1))
            (core module $b (import "a" "one" (func (result i32)))
                (func (export "two") (result i32) call 0))
            (core module $c (import "b" "two" (func (result i32)))
                (func (export "three") (result i32) call 0))
            (core module $d (import "c" "three" (func (result i32)))
                (func (export "four") (result i32) call 0))
            (core instance $a (instantiate $a))
            (core instance $b (instantiate $b (with "a" (instance $a))))
            (core instance $c (instantiate $c (with "b" (instance $b))))
            (core instance $d (instantiate $d (with "c" (instance $c))))
            (func (export "four") (result u32) (canon lift (core func $d "four"))))"#;
        let linked = wat::parse_str(linked).unwrap();
        fs::write(folder.path().join("linked.wasm"), &linked).unwrap();
        let lines = ["mkdir -p out; cp linked.wasm out/x.wasm"];
        let built = built(folder.path(), &project(&lines, None)).await.unwrap();
        let modules = |bytes: &[u8]| {
            let parts = wasmparser::Parser::new(0).parse_all(bytes);
            let modules =
                parts.filter(|part| matches!(part, Ok(wasmparser::Payload::ModuleSection { .. })));
            modules.count()
        };
        let left = fs::read(&built.component).unwrap();
        assert_eq!((modules(&linked), modules(&left)), (4, 1));
        assert_eq!((built.size, built.sha256), (left.len(), digest(&left)));
        assert_eq!((built.unmerged, built.unrehearsed), (None, None));
    }

    /// The checker of memory, in 4 MiB of it, and two cases.
    fn large(folder: &Path) -> Vec<u8> {
        let all = crate::component::builtin::all();
        let memory = all.iter().find(|one| one.component == "memory").unwrap();
        let mut wasm = memory.wasm.to_vec();
        for part in wasmparser::Parser::new(0).parse_all(memory.wasm) {
            if let Ok(wasmparser::Payload::MemorySection(section)) = part {
                // The number of memories, their flags, and the pages in seven bits.
                let pages = section.range().start + 2;
                assert!(wasm[pages - 1] == 0 && wasm[pages] < 64, "no such memory");
                wasm[pages] = 64;
            }
        }
        fs::write(folder.join("large.wasm"), &wasm).unwrap();
        let cases = "grants: {sysfs: ['/proc/**', '/sys/**'], kmsg: true, config: true, history: true, state: true}\ncases:\n\
                     - {name: fails, files: {/proc/meminfo: \"MemTotal: 1 kB\\n\"}, expect: {health: Degraded}}\n\
                     - {name: nothing, expect: {}}\n";
        fs::write(folder.join("cases.yaml"), cases).unwrap();
        wasm
    }

    #[tokio::test]
    async fn a_component_with_a_large_memory_is_rehearsed() {
        let folder = tempfile::tempdir().unwrap();
        let before = large(folder.path());
        let lines = ["mkdir -p out; cp large.wasm out/x.wasm"];
        let with_cases = |cases: Option<&str>| Project {
            cases: cases.map(Into::into),
            ..project(&lines, None)
        };
        let of = async |project: &Project| built(folder.path(), project).await.unwrap();

        let first = of(&with_cases(Some("cases.yaml"))).await;
        assert_eq!(first.unrehearsed, None);
        assert!((3..100).contains(&first.touched_pages), "{first:?}");
        let after = fs::read(&first.component).unwrap();
        assert_eq!(
            (first.size, digest(&after)),
            (after.len(), first.sha256.clone())
        );
        assert!(before.len() < after.len());
        let again = of(&with_cases(Some("cases.yaml"))).await;
        assert_eq!(again, first, "the same again");

        fs::write(folder.path().join("large.wasm"), &after).unwrap();
        let twice = of(&with_cases(Some("cases.yaml"))).await;
        let why = twice.unrehearsed.unwrap();
        assert!(why.contains("start function"), "{why}");
        assert_eq!(twice.sha256, first.sha256);
    }

    #[tokio::test]
    async fn why_a_component_was_not_rehearsed_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let before = large(folder.path());
        fs::write(folder.path().join("broken.yaml"), "cases: 5\n").unwrap();
        let lone = "cases:\n- {name: a, expect: {}}\n";
        fs::write(folder.path().join("without-grants.yaml"), lone).unwrap();
        let lines = ["mkdir -p out; cp large.wasm out/x.wasm"];
        for (cases, told) in [
            (None, "no cases"),
            (Some("gone.yaml"), "gone.yaml: no such file"),
            (Some("broken.yaml"), "broken.yaml: "),
            (Some("without-grants.yaml"), "without a grant"),
        ] {
            let project = Project {
                cases: cases.map(Into::into),
                ..project(&lines, None)
            };
            let built = built(folder.path(), &project).await.unwrap();
            let why = built.unrehearsed.unwrap();
            assert!(why.contains(told), "{why}");
            assert_eq!((built.touched_pages, built.sha256), (0, digest(&before)));
        }
    }

    #[tokio::test]
    async fn what_went_wrong_is_told() {
        let folder = tempfile::tempdir().unwrap();
        for (build, module, told) in [
            (
                &["echo compiling; echo no such type; exit 3", "touch never"][..],
                None,
                "status 3:\ncompiling\nno such type",
            ),
            (&["true"], None, "out/x.wasm: no such file"),
            (
                &["mkdir -p out; echo text > out/x.wasm"],
                None,
                "is no component",
            ),
            (
                &["echo text > m.wasm"],
                Some("m.wasm"),
                "m.wasm: no component can be made of it",
            ),
            (&["true"], Some("gone.wasm"), "gone.wasm: no such file"),
        ] {
            let error = built(folder.path(), &project(build, module))
                .await
                .unwrap_err();
            assert!(error.contains(told), "{error}");
        }
        assert!(!folder.path().join("never").exists());
    }
}
