use super::*;
use std::cell::RefCell;

#[derive(Default)]
struct Fake {
    files: Vec<&'static str>,
    links: Vec<(&'static str, &'static str)>,
    cache: &'static [u8],
    broken: Vec<(&'static str, AccessError)>,
    asked: RefCell<Vec<String>>,
}

impl Machine for Fake {
    fn is_file(&self, path: &str) -> Result<bool, AccessError> {
        self.asked.borrow_mut().push(path.to_owned());
        if let Some((_, error)) = self.broken.iter().find(|(at, _)| *at == path) {
            return Err(error.clone());
        }
        Ok(self.files.contains(&path))
    }

    fn link(&self, path: &str) -> Option<String> {
        let found = self.links.iter().find(|(at, _)| *at == path)?;
        Some(found.1.to_owned())
    }

    fn loader_cache(&self) -> Option<Vec<u8>> {
        Some(self.cache.to_vec())
    }
}

fn paths(machine: &Fake) -> Vec<Option<String>> {
    let found = all(&Config::default(), machine);
    let names: Vec<_> = found.iter().map(|one| one.name).collect();
    assert_eq!(names, ["libcuda.so", "libnvidia-ml.so"]);
    found.into_iter().map(|one| one.path.unwrap()).collect()
}

#[test]
fn every_folder_of_the_reference_is_looked_at_under_both_names() {
    let folders = [
        "/",
        "/usr/lib64",
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib/x86_64-linux-gnu/nvidia/current",
        "/usr/lib/aarch64-linux-gnu/nvidia/current",
        "/lib64",
        "/lib/x86_64-linux-gnu",
        "/lib/aarch64-linux-gnu",
        "/lib/x86_64-linux-gnu/nvidia/current",
        "/lib/aarch64-linux-gnu/nvidia/current",
        "/cm/local/apps/cuda/libs/current/lib64",
        "/usr/lib/aarch64-linux-gnu/nvidia",
        "/lib/aarch64-linux-gnu/nvidia",
    ];
    let machine = Fake::default();
    assert_eq!(paths(&machine), [None, None]);
    let asked = machine.asked.borrow();
    for folder in folders {
        for name in [
            "libcuda.so",
            "libcuda.so.1",
            "libnvidia-ml.so",
            "libnvidia-ml.so.1",
        ] {
            let path = format!("{}/{name}", folder.trim_end_matches('/'));
            assert!(asked.contains(&path), "{path}");
        }
    }
    assert_eq!(asked[0], "/libcuda.so");
}

#[test]
fn the_main_name_comes_first_and_links_are_resolved() {
    let machine = Fake {
        files: vec![
            "/usr/lib64/libcuda.so",
            "/usr/lib64/libcuda.so.1",
            "/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
        ],
        links: vec![
            ("/usr/lib64/libcuda.so", "libcuda.so.570.133.20"),
            ("/usr/lib64/libcuda.so.1", "elsewhere"),
            ("/lib", "usr/lib"),
            (
                "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
                "/etc/alternatives/ml",
            ),
            (
                "/etc/alternatives/ml",
                "/usr/lib/x86_64-linux-gnu/nvidia/current/libnvidia-ml.so.535",
            ),
        ],
        ..Fake::default()
    };
    assert_eq!(
        paths(&machine),
        [
            Some("/usr/lib64/libcuda.so.570.133.20".to_owned()),
            Some("/usr/lib/x86_64-linux-gnu/nvidia/current/libnvidia-ml.so.535".to_owned())
        ]
    );
}

#[test]
fn what_the_loader_finds_is_found() {
    let machine = Fake {
        files: vec!["/opt/nvidia/libcuda.so.1", "/srv/libnvidia-ml.so.1"],
        cache: b"x\0/gone/libcuda.so.1\0/opt/nvidia/libcuda.so.1\0",
        ..Fake::default()
    };
    assert_eq!(
        paths(&machine),
        [Some("/opt/nvidia/libcuda.so.1".to_owned()), None]
    );
    let config = Config {
        search_directories: vec!["/srv/".into()],
    };
    let found = all(&config, &machine);
    assert_eq!(found[1].path, Ok(Some("/srv/libnvidia-ml.so.1".to_owned())));
}

#[test]
fn trouble_at_one_place_counts_only_if_the_library_is_nowhere_else() {
    let error = AccessError::Denied("/usr/lib64/libcuda.so".into());
    let broken = vec![("/usr/lib64/libcuda.so", error.clone())];
    let machine = Fake {
        broken: broken.clone(),
        ..Fake::default()
    };
    let found = all(&Config::default(), &machine);
    assert_eq!((&found[0].path, &found[1].path), (&Err(error), &Ok(None)));
    for (file, cache) in [
        ("/lib64/libcuda.so.1", &b""[..]),
        ("/opt/libcuda.so.1", b"\0/opt/libcuda.so.1\0"),
    ] {
        let machine = Fake {
            broken: broken.clone(),
            files: vec![file],
            cache,
            ..Fake::default()
        };
        assert_eq!(
            all(&Config::default(), &machine)[0].path,
            Ok(Some(file.to_owned()))
        );
    }
}

#[test]
fn a_library_that_is_loaded_is_not_missing() {
    let nowhere = all(&Config::default(), &Fake::default());
    let names = |found: Vec<FoundLibrary>| -> Vec<_> { found.iter().map(|one| one.name).collect() };
    assert_eq!(names(loaded(nowhere)), ["libcuda.so"]);
    let there = Fake {
        files: vec!["/usr/lib64/libnvidia-ml.so"],
        ..Fake::default()
    };
    let found = all(&Config::default(), &there);
    assert_eq!(names(loaded(found)), ["libcuda.so", "libnvidia-ml.so"]);
}
