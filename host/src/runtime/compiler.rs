//! From a component's bytes to machine code: in a child process, so that the daemon never holds what Cranelift needs
//! (an interpreter guest takes seconds and 400 to 500 MB).
#![allow(
    clippy::disallowed_methods,
    reason = "gpud's own files, not the machine's"
)]

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::process::{Resource, Rlimit, nice, setrlimit};

use crate::node::process::{self, Command, Program};

/// Name of the hidden command by which gpud compiles for itself.
pub const CHILD_COMMAND: &str = "compile-component";
/// Longest compilation.
const DEADLINE: Duration = Duration::from_secs(120);
/// Address space of the child, bytes. Cranelift on the largest interpreter guests stays well below.
const CHILD_MEMORY: u64 = 4 << 30;

/// How low a child's priority is that nobody waits for (nice(2)).
const BACKGROUND: i32 = 19;

/// Where compilation happens.
#[derive(Debug, Clone)]
pub enum Compiler {
    /// In a child of this gpud binary.
    Child(PathBuf),
    /// In this process, for tests and benchmarks; with this effort at first.
    InProcess(Effort),
}

/// How much compilation may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Somebody waits for the code: half the time (of an interpreter: two thirds), more code, and that slower.
    Quick,
    /// Nobody waits, and the code will run for long.
    Thorough,
}

impl Compiler {
    /// What is spent on code that somebody waits for.
    pub(super) fn first_effort(&self) -> Effort {
        match self {
            Self::Child(_) => Effort::Quick,
            Self::InProcess(effort) => *effort,
        }
    }

    /// Compiles the component in `wasm_file` into `output`. The error says what is wrong with the component, or with
    /// the compilation.
    pub(super) async fn compile(
        &self,
        effort: Effort,
        wasm_file: &Path,
        output: &Path,
    ) -> Result<(), String> {
        match self {
            Self::InProcess(_) => compile_file(effort, wasm_file, output),
            Self::Child(gpud) => {
                let mut argv = vec![gpud.as_os_str(), CHILD_COMMAND.as_ref()];
                if effort == Effort::Quick {
                    argv.push("--quick".as_ref());
                }
                argv.extend([wasm_file.as_os_str(), output.as_os_str()]);
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

/// The child: bounds its own memory, steps back if nobody waits for it, then compiles.
///
/// # Errors
/// In words for the operator.
pub fn child_main(effort: Effort, wasm_file: &Path, output: &Path) -> Result<(), String> {
    if effort == Effort::Thorough {
        // Without the right to step back it takes its share.
        let _ = nice(BACKGROUND);
    }
    let limit = Rlimit {
        current: Some(CHILD_MEMORY),
        maximum: Some(CHILD_MEMORY),
    };
    setrlimit(Resource::As, limit).map_err(|error| format!("bounding memory: {error}"))?;
    compile_file(effort, wasm_file, output)
}

/// From a component to machine code.
pub(super) fn compile(effort: Effort, wasm: &[u8]) -> Result<Vec<u8>, String> {
    let engine =
        super::engine::for_compiling(effort, wasm.len()).map_err(|error| format!("{error:#}"))?;
    engine
        .precompile_component(wasm)
        .map_err(|error| format!("{error:#}"))
}

/// The same from file to file.
fn compile_file(effort: Effort, wasm_file: &Path, output: &Path) -> Result<(), String> {
    let wasm = std::fs::read(wasm_file).map_err(|e| format!("{}: {e}", wasm_file.display()))?;
    let code = compile(effort, &wasm)?;
    std::fs::write(output, code).map_err(|error| format!("{}: {error}", output.display()))
}
