use std::{io::Read as _, path::PathBuf, process::Command};

use flate2::read::GzDecoder;

use super::*;

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn made() -> BTreeMap<String, Vec<u8>> {
    packages(&workspace(), VERSION, 1_700_000_000).unwrap()
}

/// Paths and contents of a `.tar.gz`.
fn unpacked(bytes: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut archive = tar::Archive::new(GzDecoder::new(bytes));
    let files = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().display().to_string();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        (path, content)
    });
    files.collect()
}

fn files_of_contract() -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(workspace().join("wit")).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "wit"));
    let files = files.map(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, fs::read(path).unwrap())
    });
    files.collect()
}

#[test]
fn copies_of_the_contract_are_the_contract() {
    let contract = files_of_contract();
    assert!(contract.contains_key("types.wit"), "{:?}", contract.keys());
    for copy in ["sdk/rust/wit", "sdk/js/wit", "sdk/python/src/gpud_sdk/wit"] {
        let folder = workspace().join(copy);
        let names = fs::read_dir(&folder).unwrap();
        let names: Vec<_> = names
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .filter(|name| Path::new(name).extension().is_some_and(|end| end == "wit"))
            .collect();
        assert_eq!(names.len(), contract.len(), "{copy}: {names:?}");
        for (name, content) in &contract {
            let found = fs::read(folder.join(name)).unwrap_or_default();
            assert!(
                found == *content,
                "{copy}/{name} differs: cp wit/*.wit {copy}/"
            );
        }
    }
}

#[test]
fn generated_bindings_are_those_of_the_contract() {
    let contract: Vec<u8> = files_of_contract().into_values().flatten().collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(&file, contract).unwrap();
    let output = Command::new("cksum")
        .stdin(fs::File::open(&file).unwrap())
        .output()
        .unwrap();
    let expected = String::from_utf8(output.stdout).unwrap();
    for (sdk, made) in [
        ("c", "generated"),
        ("go", "internal/wit"),
        ("rust", "src/bindings"),
    ] {
        let folder = workspace().join("sdk").join(sdk);
        let checksum = fs::read_to_string(folder.join(made).join("contract.cksum")).unwrap();
        assert_eq!(checksum, expected, "run sdk/{sdk}/generate.sh");
    }
}

#[test]
fn each_package_stands_alone() {
    let packages = made();
    assert!(packages == made(), "the same bytes twice");
    for (name, needed) in [
        (
            format!("gpud-sdk-{VERSION}.crate"),
            ["Cargo.toml", "src/lib.rs", "wit/types.wit", "LICENSE"],
        ),
        (
            format!("gpud-sdk-{VERSION}.tgz"),
            ["package.json", "src/index.ts", "wit/types.wit", "LICENSE"],
        ),
        (
            format!("gpud-sdk-c-{VERSION}.tar.gz"),
            ["gpud.mk", "include/gpud.h", "wit/types.wit", "LICENSE"],
        ),
    ] {
        let files = unpacked(&packages[&name]);
        let folder = match name.ends_with(".tgz") {
            true => "package",
            false => name.trim_end_matches(".tar.gz").trim_end_matches(".crate"),
        };
        for path in needed {
            let path = format!("{folder}/{path}");
            assert!(files.contains_key(&path), "{path} in {:?}", files.keys());
        }
        for (path, content) in &files {
            assert!(path.starts_with(&format!("{folder}/")), "{path}");
            assert!(
                !path.contains("node_modules") && !path.contains("conformance"),
                "{path}"
            );
            let text = String::from_utf8_lossy(content);
            assert!(
                !text.contains("path: \"../../wit\""),
                "{path} points out of the package"
            );
        }
    }
}

/// What Python's own tools make of the wheel and of the modules.
#[test]
fn zip_files_have_what_their_languages_ask_for() {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in made() {
        fs::write(folder.path().join(name), content).unwrap();
    }
    let program = "import base64, glob, hashlib, sys, zipfile\n\
        version = sys.argv[1]\n\
        wheel = zipfile.ZipFile(glob.glob('*.whl')[0])\n\
        about = f'gpud_sdk-{version}.dist-info'\n\
        metadata = wheel.read(f'{about}/METADATA').decode()\n\
        assert f'Name: gpud-sdk\\nVersion: {version}\\n' in metadata, metadata\n\
        assert 'Requires-Dist: componentize-py==' in metadata, metadata\n\
        names = set(wheel.namelist())\n\
        assert {'gpud_sdk/__init__.py', 'gpud_sdk/py.typed', 'gpud_sdk/wit/types.wit'} <= names, names\n\
        for line in wheel.read(f'{about}/RECORD').decode().splitlines():\n    \
            path, sum, size = line.split(',')\n    \
            names.remove(path)\n    \
            if sum:\n        \
                content = wheel.read(path)\n        \
                digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b'=').decode()\n        \
                assert (sum, size) == (f'sha256={digest}', str(len(content))), path\n\
        assert not names, names\n\
        module = zipfile.ZipFile(f'gpud-sdk-go-{version}.zip').namelist()\n\
        tool = zipfile.ZipFile(f'gpud-sdk-go-tool-{version}.zip').namelist()\n\
        place = 'gpud.internal/gpud'\n\
        assert all(name.startswith(f'{place}@v{version}/') for name in module), module\n\
        assert all(name.startswith(f'{place}/cmd/gpud-go@v{version}/') for name in tool), tool\n\
        for name in ['go.mod', 'sysfs/', 'wit/types.wit', 'internal/wit/']:\n    \
            assert any(found.startswith(f'{place}@v{version}/{name}') for found in module), name\n\
        assert not any('cmd/gpud-go/' in name for name in module), module\n\
        assert f'{place}/cmd/gpud-go@v{version}/go.mod' in tool, tool\n";
    let output = Command::new("python3")
        .args(["-c", program, VERSION])
        .current_dir(folder.path())
        .output();
    let Ok(output) = output else {
        eprintln!("left out: no python3");
        return;
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
}

#[test]
fn another_version_is_refused() {
    let error = packages(&workspace(), "99.0.0", 0).unwrap_err().to_string();
    assert!(error.contains("the SDKs have gpud's version"), "{error}");
}
