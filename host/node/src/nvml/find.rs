//! Where the library of the driver may be.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use super::driver::Stamp;

/// The name under which the dynamic loader knows it.
pub const LIBRARY: &str = "libnvidia-ml.so.1";

/// Debian's name for this machine's folder of libraries.
#[cfg(target_arch = "x86_64")]
const TRIPLET: &str = "x86_64-linux-gnu";
#[cfg(target_arch = "aarch64")]
const TRIPLET: &str = "aarch64-linux-gnu";
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const TRIPLET: &str = "unknown-linux-gnu";

/// Where drivers, container runtimes and node images put it, besides what the loader knows: driver packages; GPU
/// operators that keep the driver in a root of its own; images of cloud providers; WSL.
const USUAL_FOLDERS: [&str; 6] = [
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/nvidia/lib64",
    "/home/kubernetes/bin/nvidia/lib64",
    "/usr/lib/wsl/lib",
    "/usr/lib/nvidia",
];
/// Roots of drivers that are installed beside the system.
const USUAL_ROOTS: [&str; 2] = ["/run/nvidia/driver", "/opt/nvidia/driver"];

/// Where to look.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Places {
    /// This file and no other.
    pub library: Option<PathBuf>,
    /// Below this root first.
    pub driver_root: Option<PathBuf>,
}

/// One thing to try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Candidate {
    /// A file that is there.
    File(PathBuf),
    /// Whatever the loader finds.
    ByName,
}

impl Places {
    /// What to try, in this order.
    pub fn candidates(&self) -> Vec<Candidate> {
        if let Some(path) = &self.library {
            return vec![Candidate::File(path.clone())];
        }
        let below_root = self.driver_root.iter().flat_map(|root| below(root));
        if let Some(path) = below_root.into_iter().find(|path| path.exists()) {
            return vec![Candidate::File(path)];
        }
        let there = usual().into_iter().filter(|path| path.exists());
        std::iter::once(Candidate::ByName)
            .chain(there.map(Candidate::File))
            .collect()
    }

    /// Changes when a driver is installed, removed or replaced in a place that is looked at.
    pub fn stamp(&self) -> Stamp {
        let paths = match &self.library {
            Some(path) => vec![path.clone()],
            None => {
                let below_root = self.driver_root.iter().flat_map(|root| below(root));
                below_root.chain(usual()).collect()
            }
        };
        let known = paths.into_iter().filter_map(|path| {
            let file = fs::metadata(&path).ok()?;
            Some((path, file.dev(), file.ino(), file.modified().ok()))
        });
        known.collect()
    }

    /// What was looked for, when nothing was found.
    pub fn not_found(&self) -> String {
        match (&self.library, &self.driver_root) {
            (Some(path), _) => format!("{} is not there", path.display()),
            (None, Some(root)) => format!(
                "{LIBRARY} not found below {} nor in the usual places: no NVIDIA driver on this machine",
                root.display()
            ),
            (None, None) => format!("{LIBRARY} not found: no NVIDIA driver on this machine"),
        }
    }
}

/// Below a root: GPUd's order.
fn below(root: &Path) -> [PathBuf; 3] {
    [
        root.join("usr/lib").join(TRIPLET).join(LIBRARY),
        root.join("usr/lib64").join(LIBRARY),
        root.join("usr/lib").join(LIBRARY),
    ]
}

fn usual() -> Vec<PathBuf> {
    let debian = Path::new("/usr/lib").join(TRIPLET).join(LIBRARY);
    let folders = USUAL_FOLDERS.map(|folder| Path::new(folder).join(LIBRARY));
    let roots = USUAL_ROOTS.iter().flat_map(|root| below(Path::new(root)));
    std::iter::once(debian)
        .chain(folders)
        .chain(roots)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_named_is_the_only_candidate() {
        let places = Places {
            library: Some("/nowhere/libnvidia-ml.so".into()),
            driver_root: Some("/".into()),
        };
        assert_eq!(
            places.candidates(),
            [Candidate::File("/nowhere/libnvidia-ml.so".into())]
        );
        assert_eq!(places.not_found(), "/nowhere/libnvidia-ml.so is not there");
        assert!(places.stamp().is_empty());
    }

    #[test]
    fn below_a_root_the_first_that_exists_wins_else_the_usual_places_are_tried() {
        let root = tempfile::tempdir().unwrap();
        let places = Places {
            library: None,
            driver_root: Some(root.path().to_owned()),
        };
        assert_eq!(places.candidates().first(), Some(&Candidate::ByName));
        for folder in ["usr/lib", "usr/lib64"] {
            let folder = root.path().join(folder);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(LIBRARY), "").unwrap();
            assert_eq!(places.candidates(), [Candidate::File(folder.join(LIBRARY))]);
        }
    }

    #[test]
    fn a_replaced_file_changes_the_stamp() {
        let root = tempfile::tempdir().unwrap();
        let library = root.path().join("nvml.so");
        let places = Places {
            library: Some(library.clone()),
            driver_root: None,
        };
        let before = places.stamp();
        fs::write(&library, "one").unwrap();
        let first = places.stamp();
        assert_ne!(before, first);
        assert_eq!(first, places.stamp());
        let other = root.path().join("other");
        fs::write(&other, "two").unwrap();
        fs::rename(&other, &library).unwrap();
        assert_ne!(first, places.stamp());
    }
}
