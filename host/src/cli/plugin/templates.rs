//! The templates of `gpud plugin new`, embedded from `sdk/templates/‹language›/` with what each includes from elsewhere.

/// Stands for the project's name in paths and texts of a template.
const NAME: &str = "{{name}}";
/// The same as a name in C, Go, Python or Rust: `-` becomes `_`.
const IDENTIFIER: &str = "{{identifier}}";

/// Laid down by the build script: language, path, content, whether placeholders are filled in.
const EMBEDDED: &[(&str, &str, &[u8], bool)] = include!(concat!(env!("OUT_DIR"), "/templates.rs"));

/// A file of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateFile {
    /// Where it goes, relative to the project's folder.
    pub path: String,
    /// What goes into it.
    pub content: Vec<u8>,
}

/// The languages that there is a template for, ascending.
pub fn languages() -> Vec<&'static str> {
    let mut languages: Vec<_> = EMBEDDED.iter().map(|(language, ..)| *language).collect();
    languages.sort_unstable();
    languages.dedup();
    languages
}

/// The files of a project in this language, with its name filled in; empty for a language that is not there.
pub fn files(language: &str, name: &str) -> Vec<TemplateFile> {
    EMBEDDED
        .iter()
        .filter(|(of, ..)| *of == language)
        .map(|(_, path, content, fill)| TemplateFile {
            path: filled(path, name),
            content: match std::str::from_utf8(content) {
                Ok(text) if *fill => filled(text, name).into_bytes(),
                _ => content.to_vec(),
            },
        })
        .collect()
}

fn filled(text: &str, name: &str) -> String {
    text.replace(NAME, name)
        .replace(IDENTIFIER, &name.replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_for_each_language_and_every_one_is_a_project() {
        assert_eq!(languages(), ["c", "go", "js", "python", "rust"]);
        for language in languages() {
            let files = files(language, "memory-check");
            let names: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
            for needed in [super::super::project::FILE, "README.md"] {
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
                    assert!(
                        !text.contains(NAME) && !text.contains(IDENTIFIER),
                        "{}",
                        file.path
                    );
                }
            }
        }
        assert!(files("cobol", "x").is_empty());
    }
}
