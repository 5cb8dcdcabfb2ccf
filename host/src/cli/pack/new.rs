//! `gpud pack new`: the folder of a pack that builds and tests at once, with one plugin.

use std::path::{Path, PathBuf};

use gpud_author::new_pack;

use crate::{cli::terminal::shown, pack::PackRefusal};

/// Makes the folder and says what to do next.
///
/// # Errors
/// [`PackRefusal`]: there is no such language, the name is none, or the folder is there already.
pub fn new(language: &str, name: &str, folder: Option<&Path>) -> Result<String, PackRefusal> {
    let folder = folder.map_or_else(|| PathBuf::from(name), Path::to_owned);
    new_pack::make(language, name, &folder).map_err(PackRefusal)?;
    let shown = shown(&folder);
    Ok(format!(
        "{shown} is a pack with one plugin in {language}.\n\n  cd {shown}\n  ./build.sh\n\nREADME.md there says where to go on.\n"
    ))
}
