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
    node::trusted::{self, output::FileMode},
    runtime::builtins,
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
    /// For machines of this target.
    pub target: Option<String>,
}

impl Action for CompileBuiltinsOptions {
    async fn run(self, _: CommandContext) -> Result<Exit, Exit> {
        compile_builtins(&self.output, self.target.as_deref())
    }
}

/// Writes an archive with the code of all built-in components.
///
/// # Errors
/// The target is unknown, or the file cannot be written.
pub fn compile_builtins(output: &Path, target: Option<&str>) -> Result<Exit, Exit> {
    // Several checkers may be in one component.
    let builtins = builtin::all();
    let different: BTreeMap<_, _> = builtins.iter().map(|one| (one.sha256, one)).collect();
    let components = different.values().map(|builtin| builtin.unpack());
    let components: Vec<Vec<u8>> = components
        .collect::<Result<_, _>>()
        .map_err(Exit::failure)?;
    let components: Vec<&[u8]> = components.iter().map(Vec::as_slice).collect();
    let compiled = builtins::compile(&components, target, output).map_err(Exit::failure)?;
    trusted::output::replace(output, &compiled.archive, FileMode::ByUmask)
        .map_err(|error| Exit::failure(format!("cannot write {}: {error}", output.display())))?;
    Ok(Exit::success(format!(
        "{} components, {} of them compiled now: {}, {}\n",
        compiled.components,
        compiled.compiled,
        output.display(),
        iec(compiled.archive.len() as u64)
    )))
}
