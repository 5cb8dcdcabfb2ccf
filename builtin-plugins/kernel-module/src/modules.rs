//! Names of modules: loaded ones from `/proc/modules` (`m_show` in `kernel/module/procfs.c`), built-in ones from
//! `modules.builtin` (kernel: `Documentation/kbuild/kbuild.rst`).

use std::collections::BTreeSet;

/// States of a module as `/proc/modules` has them; one that goes away is not loaded.
const STATES: [&str; 2] = ["Live", "Loading"];

/// Names in `/proc/modules`:
///
/// ```text
/// ‹name› ‹bytes› ‹use count› ‹user›,‹user›, ‹state› ‹address›
/// ```
///
/// Lines that do not look like that are left out.
pub fn loaded(text: &str) -> BTreeSet<&str> {
    text.lines().filter_map(loaded_name).collect()
}

fn loaded_name(line: &str) -> Option<&str> {
    let mut fields = line.split_ascii_whitespace();
    let (name, bytes) = (fields.next()?, fields.next()?);
    bytes.parse::<u64>().ok()?;
    let state = fields.nth(2)?;
    STATES.contains(&state).then_some(name)
}

/// Names in `modules.builtin`, one path each (`kernel/fs/ext4/ext4.ko`), as [`plain`] gives them.
pub fn built_in(text: &str) -> BTreeSet<String> {
    text.lines()
        .filter_map(|line| {
            let file = line.trim().rsplit('/').next()?;
            Some(plain(file.strip_suffix(".ko")?))
        })
        .collect()
}

/// The name as the kernel has it: dash and underscore mean the same.
pub fn plain(name: &str) -> String {
    name.replace('-', "_")
}

/// Where the built-in modules of a kernel are listed; nothing when its release is no plain name.
pub fn builtin_path(release: &str) -> Option<String> {
    let release = release.trim();
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"._+-~".contains(&b);
    let is_plain = !release.is_empty() && release.bytes().all(fits) && !release.starts_with('.');
    is_plain.then(|| format!("/lib/modules/{release}/modules.builtin"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn loaded_modules() {
        let text = "nvidia_uvm 4956160 2 - Live 0xffffffffc3a00000 (POE)\n\
            nvidia 56000000 3 nvidia_uvm,nvidia_modeset, Live 0x0000000000000000 (POE)\n\
            loading 16384 1 - Loading 0x0\n\
            leaving 16384 -1 - Unloading 0x0\n\
            forever 16384 - - Live 0x0\n\
            \n\
            short 16384 1 -\n\
            Module Size Used by x y\n\
            \u{fffd}\u{1}\u{fffd} x\n";
        let names: Vec<_> = loaded(text).into_iter().collect();
        assert_eq!(names, ["forever", "loading", "nvidia", "nvidia_uvm"]);
    }

    #[test]
    fn built_in_modules() {
        let text = "kernel/fs/ext4/ext4.ko\nkernel/drivers/block/virtio-blk.ko\r\nkernel/x\n\n\u{fffd}\0.ko\n";
        let names: Vec<_> = built_in(text).into_iter().collect();
        assert_eq!(names, ["ext4", "virtio_blk", "\u{fffd}\0"]);
    }

    #[test]
    fn releases() {
        for (release, path) in [
            (
                "6.8.0-60-generic\n",
                Some("/lib/modules/6.8.0-60-generic/modules.builtin"),
            ),
            (
                "6.1.0+deb~1",
                Some("/lib/modules/6.1.0+deb~1/modules.builtin"),
            ),
            ("", None),
            ("..", None),
            ("../etc", None),
            ("a b", None),
            ("6/*", None),
        ] {
            assert_eq!(builtin_path(release).as_deref(), path);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "([a-z_-]{1,9} [0-9]{1,9} [0-9-] [a-z,-]{1,9} (Live|Unloading) 0x0\n|kernel/[a-z/-]{0,9}[.]ko\n|\\PC{0,40}\n){0,9}") {
            prop_assert!(loaded(&text).iter().all(|name| !name.is_empty()));
            prop_assert!(built_in(&text).iter().all(|name| !name.contains(['-', '/'])));
        }
    }
}
