//! `gpud plugin new`: the folder of a plugin that builds, tests and runs at once.

use std::path::{Path, PathBuf};

use gpud_author::new_project;

use crate::cli::exit::Exit;

/// Makes the folder and says what to do next.
///
/// # Errors
/// There is no such template, the name is none, the folder is there already, or `sdk` has no SDK for the language.
pub fn new(
    language: &str,
    name: &str,
    folder: Option<&Path>,
    sdk: Option<&Path>,
) -> Result<Exit, Exit> {
    let folder = folder.map_or_else(|| PathBuf::from(name), Path::to_owned);
    new_project::make(language, name, &folder, sdk).map_err(Exit::failure)?;
    let shown = folder.display();
    Ok(Exit::success(format!(
        "{shown} is a plugin in {language}.\n\n  cd {shown}\n  gpud plugin build\n  gpud plugin test\n  gpud cs plugin.yaml -r\n\n\
         README.md there says where to go on.\n"
    )))
}
