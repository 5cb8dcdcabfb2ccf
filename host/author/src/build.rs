//! `gpud plugin build`: runs a project's own build commands, and makes the component of what they leave.
#![allow(
    clippy::disallowed_methods,
    reason = "files of a plugin's project, which the user named"
)]

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    encode::{EncodeOptions, encode},
    project::Project,
    tools,
};
use crate::{
    node::{
        local_file,
        process::{self, Command, Env, Program, Streams},
        trusted::{
            self,
            output::{self, FileMode},
        },
    },
    pack::hex,
    plugins::wasm::MAX_COMPONENT_BYTES,
    wire::text::printable,
};

/// Longest that one command may take: a first build fetches and compiles what the project depends on.
const DEADLINE: Duration = Duration::from_secs(1800);
/// Output kept of a command, bytes.
const MAX_OUTPUT: usize = 4 << 20;
/// Lines shown of a command that failed, the last ones.
const SHOWN_LINES: usize = 80;

/// Options for running a project's commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CommandOptions<'a> {
    /// Whether each command and its output are shown on standard error while it runs. Otherwise an error has the last lines.
    pub shown: bool,
    /// Whether missing tools are installed.
    pub install_tools: bool,
    /// Variables that root's builds get besides the usual ones.
    pub variables: &'a [String],
}

/// What was built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// The component.
    pub component: PathBuf,
    /// Its size, bytes.
    pub size: usize,
    /// SHA-256 of it.
    pub sha256: String,
}

/// Builds the project of a folder. Root builds only what nobody else can change.
///
/// # Errors
/// It is no project, or in words: what others can change, which tools are missing, or which command failed.
pub async fn build(folder: &Path, command_options: CommandOptions<'_>) -> Result<Built, String> {
    let project = Project::read(folder)?;
    built(folder, &project, command_options).await
}

/// Builds a project. Root builds only what nobody else can change.
///
/// # Errors
/// In words: what others can change, which tools are missing, or which command failed.
pub(crate) async fn built(
    folder: &Path,
    project: &Project,
    command_options: CommandOptions<'_>,
) -> Result<Built, String> {
    check_project(folder).await?;
    tools::prepare(folder, project, command_options).await?;
    run_all(folder, &project.build, command_options).await?;
    let component = folder.join(&project.component);
    if let Some(module) = &project.module {
        let module = folder.join(module);
        let bytes = read(&module)?;
        let options = EncodeOptions {
            wit: project.wit.as_ref().map(|path| folder.join(path)),
            adapter: project.adapter.as_ref().map(|path| folder.join(path)),
        };
        let encoded = encode(&bytes, &options)
            .map_err(|problem| format!("{}: {problem}", module.display()))?;
        replace(&component, &encoded)?;
    }
    let bytes = read(&component)?;
    if !bytes.starts_with(b"\0asm\x0d\0\x01\0") {
        return Err(format!(
            "{}: the commands left something that is no component; a core module goes under `module:`",
            component.display()
        ));
    }
    Ok(Built {
        component,
        size: bytes.len(),
        sha256: hex(&bytes),
    })
}

/// Checks, where root asks, that nobody else can change what commands of a project run.
///
/// # Errors
/// In words: what others can change, and what to do.
pub(crate) async fn check_project(folder: &Path) -> Result<(), String> {
    check_by(trusted::check_project, folder).await
}

async fn check_by(
    check: fn(&Path) -> Result<(), trusted::ProjectError>,
    folder: &Path,
) -> Result<(), String> {
    let folder = folder.to_owned();
    let checked = tokio::task::spawn_blocking(move || check(&folder)).await;
    let checked = checked.map_err(|error| error.to_string())?;
    checked.map_err(|error| error.to_string())
}

/// Returns the environment of a project's commands, and which variables root's commands do not get.
pub(crate) fn environment(variables: &[String]) -> (Env, Vec<String>) {
    match trusted::build_environment(variables) {
        None => (Env::WithoutSecrets, Vec::new()),
        Some(environment) => (Env::Replace(environment.variables), environment.left_out),
    }
}

/// Runs commands in a folder, one after another, with the environment of the caller; for root with what is left of it
/// ([`environment`]). Root has checked the folder before ([`check_project`]).
///
/// # Errors
/// The first that fails, or what others have put into a folder above.
pub(crate) async fn run_all(
    folder: &Path,
    commands: &[String],
    command_options: CommandOptions<'_>,
) -> Result<(), String> {
    let bash = process::find_in_own_path("bash").await;
    let bash = bash.map_err(|error| format!("the build commands need bash: {error}"))?;
    let (env, left_out) = environment(command_options.variables);
    if command_options.shown && !commands.is_empty() && !left_out.is_empty() {
        let names = left_out.join(", ");
        let _ = writeln!(
            io::stderr(),
            "a build of root does not get these variables as they are: {names}; `--env NAME` passes one",
        );
    }
    for line in commands {
        check_by(trusted::check_above_project, folder).await?;
        // The scripts of the SDKs install nothing without it.
        let script = match command_options.install_tools {
            true => format!("export GPUD_INSTALL_TOOLS=1\n{line}"),
            false => line.clone(),
        };
        let program = Program::Argv(vec![bash.clone().into(), "-euc".into(), script.into()]);
        let command = Command {
            env: env.clone(),
            cwd: Some(folder.to_owned()),
            max_output_bytes: MAX_OUTPUT,
            streams: Streams::Combined,
            echo: command_options.shown,
            ..Command::new(program, DEADLINE)
        };
        if command_options.shown {
            let _ = writeln!(io::stderr(), "$ {}", printable(line.trim_end()));
        }
        // The command is in a process group of its own, which the terminal does not interrupt. Dropped, its run ends it.
        let output = tokio::select! {
            output = process::run(command) => output,
            _ = tokio::signal::ctrl_c() => return Err(format!("`{line}` was interrupted")),
        };
        let output = output.map_err(|error| format!("`{line}`: {error}"))?;
        if output.exit_code == Some(0) {
            continue;
        }
        let ended = match (output.exit_code, output.signal) {
            (Some(127), _) => "names a program that is not installed here".to_owned(),
            (Some(code), _) => format!("ended with status {code}"),
            (None, Some(signal)) => format!("was ended by signal {signal}"),
            (None, None) => "ended".to_owned(),
        };
        let line = line.trim_end();
        return Err(match command_options.shown {
            true => format!("`{line}` {ended}"),
            false => format!("`{line}` {ended}:\n{}", last_lines(&output.stdout)),
        });
    }
    // What others put there while the last command ran may have run as well.
    check_by(trusted::check_above_project, folder).await
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
    output::replace(path, content, FileMode::ByUmask)
        .map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    fn project(build: &[&str], module: Option<&str>) -> Project {
        Project {
            name: "x".into(),
            language: "none".into(),
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
        let project = project(&["true", line], None);
        let built = built(folder.path(), &project, CommandOptions::default())
            .await
            .unwrap();
        assert_eq!(built.size, 8);
        assert_eq!(built.sha256.len(), 64);
    }

    #[tokio::test]
    async fn failures_of_commands_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        for (build, module, expected) in [
            (
                &["echo compiling; echo no such type; exit 3", "touch never"][..],
                None,
                "status 3:\ncompiling\nno such type",
            ),
            (
                &["a-program-that-nobody-has --version"],
                None,
                "` names a program that is not installed here:",
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
            let error = built(
                folder.path(),
                &project(build, module),
                CommandOptions::default(),
            )
            .await
            .unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        assert!(!folder.path().join("never").exists());
    }

    #[tokio::test]
    async fn tools_are_installed_only_when_asked() {
        let folder = tempfile::tempdir().unwrap();
        let line = ["test \"${GPUD_INSTALL_TOOLS:-}\" = 1".to_owned()];
        let command_options = |install_tools| CommandOptions {
            install_tools,
            ..CommandOptions::default()
        };
        run_all(folder.path(), &line, command_options(true))
            .await
            .unwrap();
        assert!(
            run_all(folder.path(), &line, command_options(false))
                .await
                .is_err()
        );
    }

    #[tokio::test]
    async fn root_builds_nothing_that_others_can_change() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("build.rs");
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        let project = project(&["touch ran; exit 3"], None);
        let built = built(folder.path(), &project, CommandOptions::default());
        let error = built.await.unwrap_err();
        let is_root = matches!(environment(&[]).0, Env::Replace(_));
        assert_eq!(error.contains("build.rs can be changed by others"), is_root);
        assert_eq!(folder.path().join("ran").exists(), !is_root, "{error}");
    }
}
