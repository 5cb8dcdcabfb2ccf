//! The interpreter of a script: a program that is run with the script, and decides what the script does.

use std::{
    env,
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

/// Bytes of a program that the kernel looks at, `BINPRM_BUF_SIZE`.
pub const HEAD: usize = 256;
/// How often an interpreter can be a script itself, as the kernel has it.
pub const MAX_DEPTH: usize = 5;

/// Bytes that `env -S` or a shell takes for something else than themselves.
const EXPANDED: &[u8] = b"$\\\"'`~*?[]{}()<>|&;!";

/// The interpreter of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interpreter {
    /// The program.
    pub path: PathBuf,
    /// What may be names of programs among its arguments: `env python3`.
    pub looked_up: Vec<PathBuf>,
    /// What may be files and folders among its arguments: `env -S PATH=/x`, `awk -f/x`. A relative one begins at `/`, the
    /// working folder of all that gpud runs, or at a folder that another argument names (`env -C /x`). Other words are
    /// among them; hardly one of these is there.
    pub named: Vec<PathBuf>,
    /// Whether an argument can stand for another text, as `${HOME}`, quotes and escapes do for `env -S`, and `~user` and
    /// `*` for a shell.
    pub is_expanded: bool,
}

/// Reads the interpreter from the first bytes of a program. `None` for one that is no script. What an interpreter does with
/// its arguments is its own: each word is taken for all that it may be.
pub fn interpreter(head: &[u8]) -> Option<Interpreter> {
    let line = head.strip_prefix(b"#!")?;
    let line = line.split(|byte| *byte == b'\n').next()?;
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\0');
    let mut words = line.split(blank).filter(|word| !word.is_empty());
    let path = PathBuf::from(OsStr::from_bytes(words.next()?));
    let words: Vec<&[u8]> = words.collect();
    let is_expanded = |word: &&[u8]| word.iter().any(|byte| EXPANDED.contains(byte));
    Some(Interpreter {
        looked_up: words.iter().copied().filter_map(program_name).collect(),
        named: paths(words.iter().copied().flat_map(texts_in)),
        is_expanded: words.iter().any(is_expanded),
        path,
    })
}

/// Returns what may be a path in an argument: `/x`, `-C/x`, `PATH=/x:y`. Which letters of an option are not of its value is
/// not known.
fn texts_in(word: &[u8]) -> impl Iterator<Item = &[u8]> {
    let parts = word.split(|byte| matches!(byte, b':' | b'='));
    parts.flat_map(|part| {
        let slash = part.iter().position(|byte| *byte == b'/');
        let starts = match part.starts_with(b"-") {
            true => 2..=slash.unwrap_or(part.len()),
            false => 0..=0,
        };
        let texts = starts.filter_map(move |start| part.get(start..));
        texts.filter(|text| !text.is_empty())
    })
}

/// Returns the paths that texts stand for.
fn paths<'a>(texts: impl Iterator<Item = &'a [u8]>) -> Vec<PathBuf> {
    let (absolute, relative): (Vec<&Path>, Vec<&Path>) = texts
        .map(|text| Path::new(OsStr::from_bytes(text)))
        .partition(|text| text.is_absolute());
    let folders = absolute.iter().copied().chain([Path::new("/")]);
    let below = folders.flat_map(|folder| relative.iter().map(|path| folder.join(path)));
    let below: Vec<PathBuf> = below.collect();
    let whole = absolute.into_iter().map(Path::to_owned);
    whole.chain(below).collect()
}

/// Returns what may be a program's name in an argument: no option, no variable and no path. The value of an option is taken for a
/// name as well; there is hardly a program of that name.
fn program_name(word: &[u8]) -> Option<PathBuf> {
    let word = match word.strip_prefix(b"-") {
        None => word,
        // `-Sperl` and `--split-string=perl`.
        Some(option) => {
            let split = |byte: &u8| matches!(byte, b'S' | b'=');
            option.splitn(2, split).nth(1)?
        }
    };
    let is_name = !word.is_empty() && !word.iter().any(|byte| b"=/".contains(byte));
    is_name.then(|| PathBuf::from(OsStr::from_bytes(word)))
}

/// Returns where a program of this name can be: in the folders of `search_path`, or where the name says if it has a slash.
pub fn places(name: &Path, search_path: &str) -> Vec<(Option<PathBuf>, PathBuf)> {
    match name.as_os_str().as_bytes().contains(&b'/') {
        true => vec![(None, name.to_owned())],
        false => env::split_paths(search_path)
            .map(|folder| (Some(folder.clone()), folder.join(name)))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interpreter_is_what_the_kernel_takes() {
        for (head, path, looked_up) in [
            ("#!/bin/sh\necho", "/bin/sh", &[][..]),
            ("#! \t/bin/bash -eu\n", "/bin/bash", &[]),
            ("#!/usr/bin/env python3\n", "/usr/bin/env", &["python3"]),
            (
                "#!/usr/bin/env -S A=1 -u B /opt/x/python -I",
                "/usr/bin/env",
                &["B"],
            ),
            ("#!/usr/bin/nice x", "/usr/bin/nice", &["x"]),
            ("#!/usr/bin/env -Sperl -w", "/usr/bin/env", &["perl"]),
            (
                "#!/usr/bin/env --split-string=perl",
                "/usr/bin/env",
                &["perl"],
            ),
            ("#!./relative", "./relative", &[]),
            ("#!/usr/bin/env", "/usr/bin/env", &[]),
        ] {
            let found = interpreter(head.as_bytes()).unwrap();
            assert_eq!(found.path, Path::new(path), "{head}");
            let names: Vec<&Path> = looked_up.iter().map(Path::new).collect();
            assert_eq!(found.looked_up, names, "{head}");
        }
        for (arguments, named) in [
            ("python3", &["/python3"][..]),
            ("-S PATH=/a:/b evil", &["/a", "/b", "/a/evil", "/evil"]),
            ("-iSPATH=/a evil", &["/a"]),
            ("--split-string=PATH=/a evil", &["/a"]),
            ("-S -C /a ./evil", &["/a", "/a/./evil"]),
            ("-S -C/a b/evil", &["/a", "/a/b/evil", "/b/evil"]),
            ("-S -iCa ./evil", &["/a"]),
            ("-S -C a ./evil", &["/a"]),
            ("-S --chdir=/a ./evil", &["/a"]),
            ("-S PATH=a:: ./evil", &["/a"]),
            ("-f/a/x.awk", &["/a/x.awk"]),
            ("-fa/x.awk", &["/a/x.awk"]),
            ("-S LD_PRELOAD=/a/x.so /b/c", &["/a/x.so", "/b/c"]),
        ] {
            let found = interpreter(format!("#!/usr/bin/env {arguments}\n").as_bytes());
            let found = found.unwrap().named;
            for path in named {
                let path = Path::new(path);
                assert!(
                    found.iter().any(|found| found == path),
                    "{arguments}: {found:?}"
                );
            }
        }
        for (line, expanded) in [
            ("/usr/bin/env -S PATH=${HOME}x y", true),
            ("/usr/bin/env -S \"perl -w\"", true),
            (r"/usr/bin/env -S PATH=/a\_b y", true),
            ("/bin/sh -c ~user/x", true),
            ("/bin/bash -c {home/u,z}/x", true),
            ("/bin/bash -eu", false),
        ] {
            let found = interpreter(format!("#!{line}\n").as_bytes()).unwrap();
            assert_eq!(found.is_expanded, expanded, "{line}");
        }
        for other in [
            "",
            "\u{7f}ELF",
            "echo",
            "#",
            "#!",
            "#!\n/bin/sh",
            " #!/bin/sh",
        ] {
            assert_eq!(interpreter(other.as_bytes()), None, "{other:?}");
        }
    }

    #[test]
    fn a_name_without_a_slash_is_looked_up() {
        let found = places(Path::new("x"), "/a:/b");
        let found: Vec<_> = found.iter().map(|(_, file)| file.as_path()).collect();
        assert_eq!(found, [Path::new("/a/x"), Path::new("/b/x")]);
        assert_eq!(places(Path::new("/c/x"), "/a"), [(None, "/c/x".into())]);
    }
}
