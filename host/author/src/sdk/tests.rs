use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};

use super::{zip::tests::zipped, *};

fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        // As it is, so that a wrong path is written as well.
        let name = &mut header.as_old_mut().name;
        for (to, from) in name.iter_mut().zip(path.bytes()) {
            *to = from;
        }
        header.set_cksum();
        builder.append(&header, *content).unwrap();
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&builder.into_inner().unwrap()).unwrap();
    encoder.finish().unwrap()
}

fn file(path: &str, content: &str) -> TemplateFile {
    TemplateFile {
        path: path.to_owned(),
        content: content.as_bytes().to_vec(),
    }
}

#[test]
fn the_sdk_of_a_folder_takes_the_place_of_the_templates() {
    let folder = tempfile::tempdir().unwrap();
    let package = archive(&[
        ("gpud-sdk-9.0.0/Cargo.toml", b"new"),
        ("gpud-sdk-9.0.0/src/lib.rs", b"code"),
    ]);
    fs::write(folder.path().join("gpud-sdk-9.0.0.crate"), &package).unwrap();
    let sdk = Sdk::read(folder.path(), "rust").unwrap();
    assert_eq!(sdk.version, "9.0.0");
    let template = vec![
        file("Cargo.toml", "project"),
        file("vendor/gpud-sdk/Cargo.toml", "old"),
        file("vendor/gpud-sdk-else", "stays"),
    ];
    assert_eq!(
        sdk.fill(template),
        [
            file("Cargo.toml", "project"),
            file("vendor/gpud-sdk-else", "stays"),
            file("vendor/gpud-sdk/Cargo.toml", "new"),
            file("vendor/gpud-sdk/src/lib.rs", "code"),
        ]
    );
}

#[test]
fn crates_of_a_release_go_into_the_project() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let package = archive(&[("gpud-sdk-9.0.0/Cargo.toml", b"new")]);
    fs::write(at("gpud-sdk-9.0.0.crate"), package).unwrap();
    let paths = || {
        let sdk = Sdk::read(folder.path(), "rust").unwrap();
        let paths = sdk.fill(Vec::new()).into_iter().map(|file| file.path);
        paths.collect::<Vec<_>>()
    };
    assert_eq!(paths(), ["vendor/gpud-sdk/Cargo.toml"]);
    let crates = archive(&[(
        "gpud-sdk-rust-crates-9.0.0/serde-1.0.0/Cargo.toml",
        b"serde",
    )]);
    // Those of another version are not for this SDK.
    fs::write(at("gpud-sdk-rust-crates-8.0.0.tar.gz"), &crates).unwrap();
    assert_eq!(paths(), ["vendor/gpud-sdk/Cargo.toml"]);
    fs::write(at("gpud-sdk-rust-crates-9.0.0.tar.gz"), &crates).unwrap();
    let all = [
        "vendor/gpud-sdk/Cargo.toml",
        "vendor/crates/serde-1.0.0/Cargo.toml",
        ".cargo/config.toml",
    ];
    assert_eq!(paths(), all);
    fs::write(at("gpud-sdk-rust-crates-9.0.0.tar.gz"), "no archive").unwrap();
    let error = Sdk::read(folder.path(), "rust").unwrap_err();
    assert!(
        error.contains("crates-9.0.0.tar.gz: it is damaged"),
        "{error}"
    );
}

#[test]
fn wheels_and_modules() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let wheel = zipped(&[
        ("gpud_sdk/__init__.py", b"code"),
        ("gpud_sdk-1.0.0.dist-info/RECORD", b"x"),
    ]);
    fs::write(at("gpud_sdk-1.0.0-py3-none-any.whl"), wheel).unwrap();
    let python = Sdk::read(folder.path(), "python").unwrap();
    assert_eq!(
        python.files,
        [file("vendor/gpud-sdk/src/gpud_sdk/__init__.py", "code")]
    );

    fs::write(
        at("gpud-sdk-go-1.0.0.zip"),
        zipped(&[("gpud.internal/gpud@v1.0.0/go.mod", b"m")]),
    )
    .unwrap();
    let missing = Sdk::read(folder.path(), "go").unwrap_err();
    assert!(
        missing.ends_with("has no gpud-sdk-go-tool-VERSION.zip"),
        "{missing}"
    );
    let tool = zipped(&[("gpud.internal/gpud/cmd/gpud-go@v1.0.0/main.go", b"t")]);
    fs::write(at("gpud-sdk-go-tool-1.0.0.zip"), tool).unwrap();
    let go = Sdk::read(folder.path(), "go").unwrap();
    assert_eq!(
        go.files,
        [
            file("gpud-sdk/go.mod", "m"),
            file("gpud-sdk/cmd/gpud-go/main.go", "t")
        ]
    );
}

#[test]
fn what_is_wrong_with_a_folder_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let error = || Sdk::read(folder.path(), "js").unwrap_err();
    assert!(
        error().ends_with("has no gpud-sdk-VERSION.tgz"),
        "{}",
        error()
    );
    fs::write(at("gpud-sdk-1.0.0.tgz"), "no archive").unwrap();
    assert!(
        error().contains("gpud-sdk-1.0.0.tgz: it is damaged: "),
        "{}",
        error()
    );
    fs::write(at("gpud-sdk-1.0.0.tgz"), archive(&[("package/../x", b"x")])).unwrap();
    assert!(error().contains("leads out of its folder"), "{}", error());
    let good = archive(&[("package/package.json", b"{}")]);
    fs::write(at("gpud-sdk-1.0.0.tgz"), &good).unwrap();
    assert_eq!(Sdk::read(folder.path(), "js").unwrap().version, "1.0.0");
    fs::write(
        at("SHA256SUMS"),
        format!("{}  gpud-sdk-1.0.0.tgz\n", hex(b"else")),
    )
    .unwrap();
    assert!(
        error().contains("is not the file that SHA256SUMS lists"),
        "{}",
        error()
    );
    fs::write(
        at("SHA256SUMS"),
        format!("{}  gpud-sdk-1.0.0.tgz\n", hex(&good)),
    )
    .unwrap();
    Sdk::read(folder.path(), "js").unwrap();
    fs::write(at("gpud-sdk-2.0.0.tgz"), &good).unwrap();
    assert!(
        error().contains("of versions 1.0.0, 2.0.0; leave one there"),
        "{}",
        error()
    );
    assert!(
        Sdk::read(folder.path(), "cobol")
            .unwrap_err()
            .contains("for \"cobol\"")
    );
}
