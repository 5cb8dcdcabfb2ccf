//! `gpud pack new`: the folder of a pack that builds and tests at once, with one plugin.

use std::{ffi::OsStr, path::Path};

use crate::{
    VERSION,
    new_project::{check_name, fill, make_folder, write},
    templates::TemplateFile,
};

/// What a pack has beside its plugins.
const FILES: [(&str, &str); 5] = [
    (
        "README.md",
        include_str!("../../../sdk/templates/pack/README.md"),
    ),
    (
        "build.sh",
        include_str!("../../../sdk/templates/pack/build.sh"),
    ),
    (
        ".gitignore",
        include_str!("../../../sdk/templates/pack/_gitignore"),
    ),
    (
        "pack/pack.yaml",
        include_str!("../../../sdk/templates/pack/pack/pack.yaml"),
    ),
    (
        "pack/README.md",
        include_str!("../../../sdk/templates/pack/pack/README.md"),
    ),
];

/// Makes the folder of a pack, with one plugin.
///
/// # Errors
/// There is no such language, the name is none, or the folder is there already.
pub fn make(language: &str, name: &str, folder: &Path) -> Result<(), String> {
    let plugin = format!("{name}-fans");
    check_name(name)
        .and_then(|()| check_name(&plugin))
        .map_err(|why| format!("{why}; a plugin {plugin} is made with the pack"))?;
    let made = make_folder(folder, language)?;
    for (path, text) in FILES {
        let text = text
            .replace("{{name}}", name)
            .replace("{{plugin}}", &plugin)
            .replace("{{gpud}}", VERSION);
        let file = TemplateFile {
            path: path.to_owned(),
            content: text.into_bytes(),
        };
        write(&made, folder, &file)?;
    }
    let shown = folder.join("plugins").join(&plugin);
    let plugins = made.create_folder(OsStr::new("plugins"));
    let project = plugins.and_then(|plugins| plugins.create_folder(OsStr::new(&plugin)));
    let project = project.map_err(|error| format!("{}: {error}", shown.display()))?;
    fill(language, &plugin, &project, &shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{pack::Manifest, project::Project, templates};

    #[test]
    fn a_pack_has_a_manifest_and_a_project_in_every_language() {
        let home = tempfile::tempdir().unwrap();
        for language in templates::languages() {
            let folder = home.path().join(language);
            make(language, "acme-boards", &folder).unwrap();
            let read = |path: &str| std::fs::read(folder.join(path)).unwrap();
            let manifest = Manifest::parse(&read("pack/pack.yaml")).unwrap();
            assert_eq!(manifest.name, "acme-boards");
            manifest.check_gpud(VERSION).unwrap();
            let [plugin] = manifest.plugins.as_slice() else {
                unreachable!("one plugin");
            };
            let project = Project::read(&folder.join("plugins/acme-boards-fans")).unwrap();
            // The script puts it there by its name.
            let built = project.component.file_name().unwrap().to_str().unwrap();
            assert_eq!(plugin.file, format!("plugins/{built}"));
            for (path, _) in FILES {
                let text = String::from_utf8(read(path)).unwrap();
                assert!(!text.contains("{{"), "{path}: {text}");
            }
        }
    }

    #[test]
    fn nothing_is_written_over_and_nothing_by_half() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("p");
        for (language, name) in [("cobol", "acme"), ("rust", "Acme"), ("rust", "a-")] {
            make(language, name, &folder).unwrap_err();
            assert!(!folder.exists(), "{language} {name}");
        }
        make("rust", "acme", &folder).unwrap();
        let why = make("rust", "acme", &folder).unwrap_err();
        assert!(why.contains("nothing was written"), "{why}");
    }
}
