use super::{
    super::{options::MACHINES, tree::Node},
    *,
};
use std::{collections::HashMap, io::Read as _};

fn files(bytes: &[u8]) -> HashMap<String, Vec<u8>> {
    let mut archive = tar::Archive::new(bytes);
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().display().to_string();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        (path, content)
    });
    entries.collect()
}

#[test]
fn every_blob_has_the_digest_by_which_it_is_named() {
    let (mut base, own) = (Tree::default(), own(b"program", "text"));
    base.file("lib/libc.so.6", 0o644, "library");
    let image = Image {
        version: "1.2.3",
        machine: &MACHINES[1],
        time: 5,
        layers: [&base, &own],
    };
    let bytes = image.encode().unwrap();
    assert_eq!(bytes, image.encode().unwrap());
    let files = files(&bytes);
    let blob = |descriptor: &Value| {
        let digest = descriptor["digest"].as_str().unwrap();
        let digest = digest.strip_prefix("sha256:").unwrap();
        let content = &files[&format!("blobs/sha256/{digest}")];
        assert_eq!(sha256(content), digest);
        assert_eq!(descriptor["size"], content.len());
        content.clone()
    };
    let json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
    let index = json(&files["index.json"]);
    let listed = &index["manifests"][0];
    assert_eq!(listed["platform"]["architecture"], "arm64");
    let manifest = json(&blob(listed));
    let config = json(&blob(&manifest["config"]));
    assert_eq!(config["config"]["User"], "65532:65532");
    assert_eq!(config["config"]["Healthcheck"]["Test"][2], "status");
    for (layer, plain) in [0, 1].map(|number| {
        (
            &manifest["layers"][number],
            &config["rootfs"]["diff_ids"][number],
        )
    }) {
        let mut content = Vec::new();
        let compressed = blob(layer);
        let mut decoder = flate2::read::GzDecoder::new(compressed.as_slice());
        decoder.read_to_end(&mut content).unwrap();
        assert_eq!(*plain, format!("sha256:{}", sha256(&content)));
    }
}

#[test]
fn libraries_are_found_with_what_they_need() {
    let this = fs::read(std::env::current_exe().unwrap()).unwrap();
    let program = elf::read(&this).unwrap();
    let machine = MACHINES
        .iter()
        .find(|machine| machine.elf == program.machine);
    let tree = base(&program, machine.unwrap(), Path::new("/")).unwrap();
    let paths: Vec<&str> = tree
        .iter()
        .filter(|(_, node)| matches!(node, Node::File(..)))
        .map(|(path, _)| path)
        .collect();
    for name in ["libc.so.6", "etc/nsswitch.conf"] {
        assert!(
            paths.iter().any(|path| path.ends_with(name)),
            "{name} in {paths:?}"
        );
    }
    let empty = tempfile::tempdir().unwrap();
    let error = base(&program, machine.unwrap(), empty.path()).unwrap_err();
    assert!(format!("{error:#}").contains("ld-linux"), "{error:#}");
}
