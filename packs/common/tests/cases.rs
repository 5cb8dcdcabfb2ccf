//! The cases of every plugin try what the packs ask for, and nothing else.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

fn yaml(path: &Path) -> Result<Value, String> {
    let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = fs::read_to_string(path).map_err(|error| named(&error))?;
    serde_yaml::from_str(&text).map_err(|error| named(&error))
}

fn packs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn cases_have_the_grants_and_defaults_of_their_pack() {
    let mut tried = Vec::new();
    for pack in ["server-board", "storage"] {
        let manifest = yaml(&packs().join(pack).join("pack.yaml")).unwrap();
        for plugin in manifest["plugins"].as_array().unwrap() {
            let file = plugin["file"].as_str().unwrap();
            let folder = file.strip_suffix(".wasm").unwrap();
            let cases = yaml(&packs().join(pack).join(folder).join("cases.yaml")).unwrap();
            assert_eq!(cases["grants"], plugin["grants"], "{file}");
            assert_eq!(cases["config"], plugin["config"], "{file}");
            let component = format!("../../../target/packs/{pack}/{file}");
            assert_eq!(cases["component"], component.as_str(), "{file}");
            let project = yaml(&packs().join(pack).join(folder).join("gpud-plugin.yaml")).unwrap();
            assert_eq!(project["name"], plugin["name"], "{file}");
            assert_eq!(project["component"], component.as_str(), "{file}");
            tried.push(plugin["name"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(tried.len(), 8);
}
