//! `gpud compile-builtins`, which `cargo xtask release` runs: compiles what is built in, for the binary itself.

mod args;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use self::args::CompileBuiltinsArgs;
use super::{
    command::{Action, Command, CommandContext},
    exit::Exit,
    sizes::iec,
};
use crate::{
    component::builtin,
    node::{
        parts::Parts,
        trusted::{self, output::FileMode},
    },
    runtime::builtins::{self, Compiled},
};

/// The entry of the table of commands.
pub(super) const COMMAND: Command = Command::new::<CompileBuiltinsArgs>(
    "compile-builtins",
    "Compile the built-in components; the build of gpud runs this",
)
.hidden();

/// Where the compiled code is written, and for which machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompileBuiltinsOptions {
    /// The archive.
    pub output: PathBuf,
    /// The program that gets it too.
    pub into: Option<PathBuf>,
    /// For machines of this target.
    pub target: Option<String>,
}

impl Action for CompileBuiltinsOptions {
    async fn run(self, _: CommandContext) -> Result<Exit, Exit> {
        self.compile()
    }
}

impl CompileBuiltinsOptions {
    /// Writes an archive with the code of all built-in components, and puts it behind a program if one is named.
    fn compile(&self) -> Result<Exit, Exit> {
        // Several checkers may be in one component.
        let builtins = builtin::all();
        let different: BTreeMap<_, _> = builtins.iter().map(|one| (one.sha256, one)).collect();
        let components = different.values().map(|builtin| builtin.unpack());
        let components: Vec<Vec<u8>> = components
            .collect::<Result<_, _>>()
            .map_err(Exit::failure)?;
        let components: Vec<&[u8]> = components.iter().map(Vec::as_slice).collect();
        let compiled = builtins::compile(&components, self.target.as_deref(), &self.output)
            .map_err(Exit::failure)?;
        write(&self.output, &compiled.archive, FileMode::ByUmask)?;
        if let Some(program) = &self.into {
            append(&compiled, program)?;
        }
        Ok(Exit::success(format!(
            "{} components, {} of them compiled now: {}, {}\n",
            compiled.components,
            compiled.compiled,
            self.output.display(),
            iec(compiled.archive.len() as u64)
        )))
    }
}

fn append(compiled: &Compiled, program: &Path) -> Result<(), Exit> {
    let named = |problem: String| Exit::failure(format!("{}: {problem}", program.display()));
    // A build reads what cargo has just made, in any user's folder: trust is for what gpud runs.
    let read = Parts::open(program).and_then(|parts| parts.read(0, parts.size()));
    let mut bytes = read.map_err(|error| named(error.to_string()))?;
    compiled.append_to(&mut bytes).map_err(named)?;
    write(program, &bytes, FileMode::Exact(0o755))
}

fn write(path: &Path, content: &[u8], mode: FileMode) -> Result<(), Exit> {
    trusted::output::replace(path, content, mode)
        .map_err(|error| Exit::failure(format!("cannot write {}: {error}", path.display())))
}
