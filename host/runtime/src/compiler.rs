//! Compiles components to machine code in a child process, so that the daemon never has the memory that Cranelift needs
//! (an interpreter guest takes seconds and 400 to 500 MB).
#![allow(
    clippy::disallowed_methods,
    reason = "gpud's own files, not the machine's"
)]

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::process::{Resource, Rlimit, setrlimit};

use crate::node::{
    process::{self, Command, Program},
    trusted::output,
};

/// Name of the hidden command by which gpud compiles for itself.
pub const CHILD_COMMAND: &str = "compile-component";
/// The program of the process that opens it, also in a child that has yet to become another program.
const THIS_PROGRAM: &str = "/proc/self/exe";
/// Longest compilation.
const DEADLINE: Duration = Duration::from_secs(120);
/// Address space of the child, bytes. Cranelift needs far less for the largest interpreter guests.
const CHILD_MEMORY: u64 = 4 << 30;

/// The process in which compilation happens.
#[derive(Debug, Clone)]
pub enum Compiler {
    /// In a child of this gpud binary.
    Child(PathBuf),
    /// In this process, for tests and benchmarks.
    InProcess,
}

impl Compiler {
    /// Compiles in a child of the very program that this process runs, wherever it is now. Its path may lead through a folder
    /// that gpud's user cannot enter; and after an update it names another version, whose code may not fit this one's engine.
    pub fn of_this_program() -> Self {
        let program = Path::new(THIS_PROGRAM);
        match program.exists() {
            true => Self::Child(program.to_owned()),
            false => std::env::current_exe().map_or(Self::InProcess, Self::Child),
        }
    }

    /// Returns the program of the child; `None` without one.
    pub fn program(&self) -> Option<&Path> {
        match self {
            Self::Child(program) => Some(program),
            Self::InProcess => None,
        }
    }

    /// Compiles the component in `wasm_file` into `output`. The error says what is wrong with the component, or with
    /// the compilation.
    pub(super) async fn compile(&self, wasm_file: &Path, output: &Path) -> Result<(), String> {
        match self {
            Self::InProcess => compile_file(wasm_file, output),
            Self::Child(gpud) => {
                let argv = [
                    gpud.as_os_str(),
                    CHILD_COMMAND.as_ref(),
                    wasm_file.as_os_str(),
                    output.as_os_str(),
                ];
                let program = Program::Argv(argv.into_iter().map(Into::into).collect());
                let result = process::run(Command::new(program, DEADLINE))
                    .await
                    .map_err(|error| error.to_string())?;
                if result.exit_code == Some(0) {
                    return Ok(());
                }
                let said = String::from_utf8_lossy(&result.stderr).trim().to_owned();
                Err(match result.signal {
                    Some(signal) => format!("the compiler was ended by signal {signal}: {said}"),
                    None => said,
                })
            }
        }
    }
}

/// Compiles in the child, which bounds its own memory first.
///
/// # Errors
/// In words for the operator.
pub fn child_main(wasm_file: &Path, output: &Path) -> Result<(), String> {
    let limit = Rlimit {
        current: Some(CHILD_MEMORY),
        maximum: Some(CHILD_MEMORY),
    };
    setrlimit(Resource::As, limit).map_err(|error| format!("bounding memory: {error}"))?;
    compile_file(wasm_file, output)
}

/// Compiles a component to machine code.
pub(super) fn compile(wasm: &[u8]) -> Result<Vec<u8>, String> {
    let engine = super::engine::for_compiling().map_err(|error| format!("{error:#}"))?;
    engine
        .precompile_component(wasm)
        .map_err(|error| format!("{error:#}"))
}

/// The same from file to new file.
fn compile_file(wasm_file: &Path, output: &Path) -> Result<(), String> {
    let wasm = std::fs::read(wasm_file).map_err(|e| format!("{}: {e}", wasm_file.display()))?;
    let code = compile(&wasm)?;
    output::write_private(output, &code).map_err(|error| format!("{}: {error}", output.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_child_is_the_program_that_runs_and_not_what_has_its_path() {
        let Compiler::Child(program) = Compiler::of_this_program() else {
            unreachable!("there is /proc");
        };
        assert_eq!(program, Path::new("/proc/self/exe"));
    }
}
