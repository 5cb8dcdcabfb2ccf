//! Finds the library of the driver.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use super::driver::{DriverFile, DriverStamp};

/// The name under which the dynamic loader knows it.
pub const LIBRARY: &str = "libnvidia-ml.so.1";

/// The prefix of the names of NVIDIA's library.
pub const NAME: &str = "libnvidia-ml.so";

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

/// The folders in which the library is searched.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LibraryPaths {
    /// The only file to try.
    pub library: Option<PathBuf>,
    /// A root to search first.
    pub driver_root: Option<PathBuf>,
}

/// One way to load the library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Candidate {
    /// A file that is there.
    File(PathBuf),
    /// The file that the loader finds by the library's name.
    ByName,
}

impl LibraryPaths {
    /// Returns the candidates in the order in which they are tried.
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
    pub fn stamp(&self) -> DriverStamp {
        let paths = match &self.library {
            Some(path) => vec![path.clone()],
            None => {
                let below_root = self.driver_root.iter().flat_map(|root| below(root));
                below_root.chain(usual()).collect()
            }
        };
        paths.into_iter().filter_map(identify).collect()
    }

    /// Returns the names that were looked for, for the message when nothing was found.
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

fn identify(path: PathBuf) -> Option<DriverFile> {
    let file = fs::metadata(&path).ok()?;
    Some((path, file.dev(), file.ino(), file.modified().ok()))
}

/// The file of a library that the dynamic loader chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedFile(DriverFile);

impl LoadedFile {
    /// Finds the file of a library that was just loaded by name. `None` when this process cannot see its own mappings, or the
    /// file is not at the path that they name: then nothing is known of it.
    pub fn find() -> Option<Self> {
        let mapped = mappings().into_iter().find(|it| !it.is_deleted)?;
        identify(mapped.path).map(Self)
    }

    /// Returns whether the file is still there and the same.
    pub fn is_in_place(&self) -> bool {
        identify(self.0.0.clone()).as_ref() == Some(&self.0)
    }
}

/// Returns the path of a library whose file was deleted while it is still loaded. The loader would answer the library's name
/// with it, although nobody else finds it any more.
pub fn deleted_but_loaded() -> Option<PathBuf> {
    let mut mapped = mappings().into_iter();
    mapped.find(|it| it.is_deleted).map(|it| it.path)
}

/// A mapping of the library into this process.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mapped {
    path: PathBuf,
    is_deleted: bool,
}

fn mappings() -> Vec<Mapped> {
    let maps = fs::read("/proc/self/maps").unwrap_or_default();
    mapped(&String::from_utf8_lossy(&maps))
}

/// Reads the text of `/proc/‹pid›/maps`: address, rights, offset, device, inode and path, of which only the path has slashes.
fn mapped(maps: &str) -> Vec<Mapped> {
    let mapped = maps.lines().filter_map(|line| {
        let path = line.get(line.find('/')?..)?;
        let kept = path.strip_suffix(" (deleted)");
        let file = Path::new(kept.unwrap_or(path));
        let name = file.file_name()?.to_str()?;
        name.starts_with(NAME).then(|| Mapped {
            path: file.to_owned(),
            is_deleted: kept.is_some(),
        })
    });
    let mut mapped: Vec<Mapped> = mapped.collect();
    mapped.dedup();
    mapped
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
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_file_that_was_named_is_the_only_candidate() {
        let places = LibraryPaths {
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
        let places = LibraryPaths {
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
    fn the_librarys_file_is_among_the_mappings() {
        let maps = "\
55d0c0a00000-55d0c0a2c000 r--p 00000000 08:01 131090                     /usr/bin/gpud
7f12e4000000-7f12e4021000 rw-p 00000000 00:00 0
7f12e8000000-7f12e8040000 r--p 00000000 00:2f 99    /opt/my driver/libnvidia-ml.so.570.133.20
7f12e8040000-7f12e8140000 r-xp 00040000 00:2f 99    /opt/my driver/libnvidia-ml.so.570.133.20
7f12e9000000-7f12e9040000 r-xp 00000000 08:01 77    /usr/lib64/libnvidia-ml.so.1 (deleted)
7f12ea000000-7f12ea040000 r-xp 00000000 08:01 78    /usr/lib64/libcuda.so.1
7ffd9c1f2000-7ffd9c213000 rw-p 00000000 00:00 0                          [stack]
";
        let found = |path: &str, is_deleted| Mapped {
            path: path.into(),
            is_deleted,
        };
        assert_eq!(
            mapped(maps),
            [
                found("/opt/my driver/libnvidia-ml.so.570.133.20", false),
                found("/usr/lib64/libnvidia-ml.so.1", true),
            ]
        );
        assert_eq!(mapped(""), []);
    }

    #[test]
    fn a_file_that_was_deleted_or_replaced_is_not_in_place() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join(LIBRARY);
        fs::write(&library, "one").unwrap();
        let loaded = LoadedFile(identify(library.clone()).unwrap());
        assert!(loaded.is_in_place());
        let other = folder.path().join("other");
        fs::write(&other, "two").unwrap();
        fs::rename(&other, &library).unwrap();
        assert!(!loaded.is_in_place());
        let loaded = LoadedFile(identify(library.clone()).unwrap());
        fs::remove_file(&library).unwrap();
        assert!(!loaded.is_in_place());
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn any_mappings_are_read(maps in "([0-9a-f -]{0,20}/?[a-z/. \u{e9}]{0,20}(libnvidia-ml\\.so)?( \\(deleted\\))?\n){0,5}") {
            for one in mapped(&maps) {
                let name = one.path.file_name().unwrap().to_str().unwrap();
                prop_assert!(name.starts_with(NAME));
            }
        }
    }

    #[test]
    fn a_replaced_file_changes_the_stamp() {
        let root = tempfile::tempdir().unwrap();
        let library = root.path().join("nvml.so");
        let places = LibraryPaths {
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
