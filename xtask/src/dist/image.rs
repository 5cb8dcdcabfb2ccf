//! A container image in the layout of OCI, made without a container engine: one layer with the C library, one with gpud.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{
    elf::{self, Program},
    options::Machine,
    sums::sha256,
    tree::{Tree, gzip},
};

/// The user that gpud runs as unless the container is started with another one; it has no rights.
const USER: u64 = 65_532;
/// The folder of gpud's state, which belongs to that user.
const DATA: &str = "var/lib/gpud";

/// Returns the C library's files that a program loads, with what it reads: users, and how names are looked up.
///
/// # Errors
/// A library is not there.
pub fn base(program: &Program, machine: &Machine, root: &Path) -> Result<Tree> {
    let mut tree = Tree::default();
    let read = |path: &str| {
        let path = root.join(path);
        fs::read(&path).with_context(|| path.display().to_string())
    };
    let loader = program.loader.as_deref().context("no dynamic loader")?;
    let loader = loader.trim_start_matches('/');
    tree.file(loader, 0o755, read(loader)?);
    let mut waiting = program.libraries.clone();
    // The C library loads them by itself when names of hosts are looked up.
    let later = ["libnss_dns.so.2", "libnss_files.so.2", "libresolv.so.2"];
    waiting.extend(later.map(str::to_owned));
    let mut seen = BTreeSet::new();
    while let Some(name) = waiting.pop() {
        if loader.ends_with(&name) || !seen.insert(name.clone()) {
            continue;
        }
        let places = places(machine);
        let found = places
            .iter()
            .map(|place| format!("{place}/{name}"))
            .find(|path| root.join(path).is_file());
        let Some(path) = found else {
            // Newer C libraries have these three inside.
            ensure!(
                later.contains(&name.as_str()),
                "there is no {name} in {} of {}",
                places.join(", "),
                root.display()
            );
            continue;
        };
        let content = read(&path)?;
        let needs = elf::read(&content).with_context(|| path.clone())?;
        ensure!(
            needs.machine == machine.elf,
            "{path} is for another machine than {}",
            machine.target
        );
        waiting.extend(needs.libraries);
        tree.file(&path, 0o644, content);
    }
    tree.file(
        "etc/passwd",
        0o644,
        format!(
            "root:x:0:0:root:/root:/sbin/nologin\ngpud:x:{USER}:{USER}:gpud:/{DATA}:/sbin/nologin\n"
        ),
    );
    tree.file("etc/group", 0o644, format!("root:x:0:\ngpud:x:{USER}:\n"));
    tree.file("etc/nsswitch.conf", 0o644, "hosts: files dns\n");
    tree.folder("tmp", 0o1777);
    Ok(tree)
}

/// The folders in which the loaders of Debian and of Red Hat look for libraries.
fn places(machine: &Machine) -> [String; 4] {
    let processor = machine.target.split('-').next().unwrap_or_default();
    [
        format!("lib/{processor}-linux-gnu"),
        format!("usr/lib/{processor}-linux-gnu"),
        "lib64".to_owned(),
        "usr/lib64".to_owned(),
    ]
}

/// Returns the layer with gpud.
pub fn own(program: &[u8], licences: &str) -> Tree {
    let mut tree = Tree::default();
    tree.file("usr/bin/gpud", 0o755, program);
    tree.file("usr/share/doc/gpud/THIRD-PARTY.txt", 0o644, licences);
    tree.folder(DATA, 0o700);
    tree
}

/// An image.
pub struct Image<'a> {
    /// The version of gpud.
    pub version: &'a str,
    /// For which machine.
    pub machine: &'a Machine,
    /// The time of all files.
    pub time: u64,
    /// From the lowest up.
    pub layers: [&'a Tree; 2],
}

impl Image<'_> {
    /// Returns the layout as an archive of tar.
    ///
    /// # Errors
    /// A file cannot be in an archive.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let mut blobs = Blobs::default();
        let (mut layers, mut plain) = (Vec::new(), Vec::new());
        for tree in self.layers {
            let owners = BTreeMap::from([(DATA, USER)]);
            let bytes = tree.tar_with_owners(self.time, &owners)?;
            plain.push(format!("sha256:{}", sha256(&bytes)));
            let kind = "application/vnd.oci.image.layer.v1.tar+gzip";
            layers.push(blobs.add(kind, gzip(&bytes)?));
        }
        let config = serde_json::to_vec(&self.config(&plain))?;
        let config = blobs.add("application/vnd.oci.image.config.v1+json", config);
        let kind = "application/vnd.oci.image.manifest.v1+json";
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": kind,
            "config": config,
            "layers": layers,
            "annotations": self.labels(),
        });
        let mut manifest = blobs.add(kind, serde_json::to_vec(&manifest)?);
        if let Some(fields) = manifest.as_object_mut() {
            let platform = json!({"architecture": self.machine.debian, "os": "linux"});
            fields.insert("platform".to_owned(), platform);
            let name = json!({"org.opencontainers.image.ref.name": self.version});
            fields.insert("annotations".to_owned(), name);
        }
        let index = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": [manifest],
        });
        let Blobs(mut layout) = blobs;
        layout.file("index.json", 0o644, serde_json::to_vec(&index)?);
        layout.file("oci-layout", 0o644, r#"{"imageLayoutVersion":"1.0.0"}"#);
        layout.tar(self.time)
    }

    fn config(&self, layers: &[String]) -> Value {
        const SECOND: u64 = 1_000_000_000;
        let folder = format!("/{DATA}");
        let data = format!("--data-dir={folder}");
        json!({
            "architecture": self.machine.debian,
            "os": "linux",
            "config": {
                "User": format!("{USER}:{USER}"),
                "Env": [
                    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                    // What NVIDIA's container toolkit brings in: all GPUs, and NVML.
                    "NVIDIA_VISIBLE_DEVICES=all",
                    "NVIDIA_DRIVER_CAPABILITIES=utility",
                ],
                "Entrypoint": ["/usr/bin/gpud"],
                "Cmd": ["run", &data],
                "WorkingDir": "/",
                "ExposedPorts": {"15132/tcp": {}},
                "Volumes": {folder: {}},
                "Labels": self.labels(),
                // Whether the daemon answers. What it says about the machine is no reason to restart it.
                "Healthcheck": {
                    "Test": ["CMD", "/usr/bin/gpud", "status", &data],
                    "Interval": 60 * SECOND,
                    "Timeout": 40 * SECOND,
                    "StartPeriod": 60 * SECOND,
                    "Retries": 3,
                },
            },
            "rootfs": {"type": "layers", "diff_ids": layers},
            "history": [
                {"created_by": "the C library", "comment": "files of the library that gpud was packaged with"},
                {"created_by": "gpud", "comment": format!("gpud {}", self.version)},
            ],
        })
    }

    fn labels(&self) -> Value {
        json!({
            "org.opencontainers.image.title": "gpud",
            "org.opencontainers.image.description": "Health of this GPU machine",
            "org.opencontainers.image.version": self.version,
            "org.opencontainers.image.licenses": "Apache-2.0",
        })
    }
}

/// What the layout stores by digest.
#[derive(Default)]
struct Blobs(Tree);

impl Blobs {
    /// Stores bytes and returns their descriptor.
    fn add(&mut self, kind: &str, bytes: Vec<u8>) -> Value {
        let digest = sha256(&bytes);
        let size = bytes.len();
        self.0.file(&format!("blobs/sha256/{digest}"), 0o644, bytes);
        json!({"mediaType": kind, "digest": format!("sha256:{digest}"), "size": size})
    }
}

#[cfg(test)]
#[path = "image_tests.rs"]
mod tests;
