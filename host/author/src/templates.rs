//! The templates of `gpud plugin new`, embedded from `sdk/templates/‹language›/` with what each includes from elsewhere.

use std::io::Read as _;

use lzma_rust2::XzReader;

use crate::VERSION;

/// Stands for the project's name in paths and texts of a template.
const NAME: &str = "{{name}}";
/// The same as a name in C, Go, Python or Rust: `-` becomes `_`.
const IDENTIFIER: &str = "{{identifier}}";
/// Stands for the version of the SDK, which is gpud's.
const GPUD: &str = "{{gpud}}";

/// Laid down by the build script: language, path, length of the content, whether placeholders are filled in.
const EMBEDDED: &[(&str, &str, usize, bool)] = include!(concat!(env!("OUT_DIR"), "/templates.rs"));
/// The contents one after the other, compressed: the SDKs of all languages are in them, and few machines use any.
const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/templates.xz"));

/// Most memory of the decoder, KiB.
const MAX_DECODER: u32 = 64 << 10;

/// A file of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TemplateFile {
    /// Where it goes, relative to the project's folder.
    pub(crate) path: String,
    /// What goes into it.
    pub(crate) content: Vec<u8>,
}

/// The languages that there is a template for, ascending.
pub(crate) fn languages() -> Vec<&'static str> {
    let mut languages: Vec<_> = EMBEDDED.iter().map(|(language, ..)| *language).collect();
    languages.sort_unstable();
    languages.dedup();
    languages
}

/// The files of a project in this language, with its name filled in; empty for a language that is not there.
pub(crate) fn files(language: &str, name: &str) -> Vec<TemplateFile> {
    files_for(language, name, VERSION)
}

/// The same for an SDK of this version.
pub(crate) fn files_for(language: &str, name: &str, version: &str) -> Vec<TemplateFile> {
    let contents = contents();
    let mut rest = contents.as_slice();
    let mut files = Vec::new();
    for (of, path, length, fill) in EMBEDDED {
        let (content, after) = rest.split_at_checked(*length).unwrap_or_default();
        rest = after;
        if *of != language {
            continue;
        }
        files.push(TemplateFile {
            path: filled(path, name, version),
            content: match std::str::from_utf8(content) {
                Ok(text) if *fill => filled(text, name, version).into_bytes(),
                _ => content.to_vec(),
            },
        });
    }
    files
}

/// The contents of all files. Only a damaged binary has fewer.
fn contents() -> Vec<u8> {
    let mut contents = Vec::new();
    let mut reader = XzReader::new_mem_limit(PACKED, false, MAX_DECODER);
    if let Err(error) = reader.read_to_end(&mut contents) {
        tracing::error!("the templates in gpud's binary are damaged ({error}); install gpud again");
    }
    contents
}

fn filled(text: &str, name: &str, version: &str) -> String {
    text.replace(NAME, name)
        .replace(IDENTIFIER, &name.replace('-', "_"))
        .replace(GPUD, version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_unpacked_whole_and_in_order() {
        let lengths = EMBEDDED.iter().map(|(_, _, length, _)| length);
        assert_eq!(contents().len(), lengths.sum::<usize>());
        let source = include_bytes!("../../../sdk/templates/rust/vendor/gpud-sdk/Cargo.toml");
        let files = files("rust", "x");
        let mut found = files.iter();
        let found = found.find(|file| file.path == "vendor/gpud-sdk/Cargo.toml");
        assert_eq!(found.unwrap().content, source);
    }

    #[test]
    fn there_is_one_for_each_language_and_every_one_is_a_project() {
        assert_eq!(languages(), ["c", "go", "js", "python", "rust"]);
        for language in languages() {
            let files = files(language, "memory-check");
            let names: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
            for needed in [crate::project::FILE, "README.md"] {
                assert!(names.contains(&needed), "{language}: {names:?}");
            }
            // Every machine has what it watches, so that the first plugin of a new author shows up.
            let spec = files.iter().find(|file| file.path == "plugin.yaml");
            let spec = String::from_utf8_lossy(&spec.unwrap().content);
            assert!(spec.contains("sysfs: [/proc/meminfo]"), "{language}");
            for file in &files {
                assert!(!file.path.contains("{{"), "{}", file.path);
                let own = !file.path.starts_with("vendor/") && !file.path.starts_with("gpud-sdk/");
                if let (true, Ok(text)) = (own, std::str::from_utf8(&file.content)) {
                    let placeholder = [NAME, IDENTIFIER, GPUD]
                        .iter()
                        .find(|word| text.contains(**word));
                    assert_eq!(placeholder, None, "{}", file.path);
                }
            }
        }
        assert!(files("cobol", "x").is_empty());
    }

    /// A project names its SDK by version, and has it within: nothing points out of its folder.
    #[test]
    fn a_project_depends_on_the_sdk_by_version_and_on_no_checkout() {
        for (language, file, line) in [
            (
                "rust",
                "Cargo.toml",
                format!("gpud-sdk = {{ version = \"={VERSION}\", path = \"vendor/gpud-sdk\""),
            ),
            (
                "go",
                "go.mod",
                format!("require gpud.internal/gpud v{VERSION}"),
            ),
            (
                "python",
                "pyproject.toml",
                format!("dependencies = [\"gpud-sdk=={VERSION}\"]"),
            ),
            (
                "js",
                "vendor/gpud-sdk/package.json",
                format!("\"version\": \"{VERSION}\""),
            ),
        ] {
            let files = files(language, "fan-check");
            let found = files.iter().find(|found| found.path == file).unwrap();
            let text = String::from_utf8_lossy(&found.content);
            assert!(text.contains(&line), "{file}: {text}");
            for found in &files {
                let text = String::from_utf8_lossy(&found.content);
                let name = found.path.rsplit('/').next().unwrap_or_default();
                let is_manifest = [
                    "Cargo.toml",
                    "go.mod",
                    "package.json",
                    "pyproject.toml",
                    "gpud-plugin.yaml",
                ]
                .contains(&name);
                assert!(
                    !is_manifest || !text.contains("../"),
                    "{} points out of the project",
                    found.path
                );
            }
        }
    }
}
