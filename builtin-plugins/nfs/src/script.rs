//! The bash scripts that try a volume. Each is fixed; what differs comes as variables and always stands in quotes, so
//! that no path or content is ever read as a command.

/// One step with a time limit of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Looks at the volume, which makes an automounter mount it.
    Touch,
    /// Makes the folder.
    Create,
    /// Writes the file and waits until the server has it.
    Write,
    /// Gives the file's contents.
    Read,
    /// Removes the file.
    Remove,
}

/// Variable: where the volume is.
pub const VOLUME: &str = "GPUD_NFS_VOLUME";
/// Variable: where the folder is.
pub const FOLDER: &str = "GPUD_NFS_FOLDER";
/// Variable: where the file is.
pub const FILE: &str = "GPUD_NFS_FILE";
/// Variable: what is written.
pub const CONTENTS: &str = "GPUD_NFS_CONTENTS";

impl Step {
    /// Its script.
    pub fn script(self) -> &'static str {
        match self {
            Self::Touch => "set -eu\nstat -- \"$GPUD_NFS_VOLUME/.\" > /dev/null\n",
            Self::Create => "set -eu\numask 022\nmkdir -p -- \"$GPUD_NFS_FOLDER\"\n",
            // `nofollow`: on a volume that others can write to, a link of that name would lead root anywhere.
            Self::Write => {
                "set -eu -o pipefail\numask 022\nprintf %s \"$GPUD_NFS_CONTENTS\" | \
                 dd of=\"$GPUD_NFS_FILE\" oflag=nofollow conv=fsync bs=64k status=none\n"
            }
            Self::Read => "set -eu\ndd if=\"$GPUD_NFS_FILE\" iflag=nofollow bs=64k status=none\n",
            Self::Remove => "set -eu\nrm -f -- \"$GPUD_NFS_FILE\"\n",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::{Path, PathBuf};
    use std::process::{Command, Output, Stdio};

    /// Runs a step as the host does: the script on standard input of a bash with few variables.
    fn run(step: Step, folder: &Path, contents: &str) -> Output {
        let mut child = Command::new("bash")
            .arg("-s")
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("LC_ALL", "C")
            .env(VOLUME, folder)
            .env(FOLDER, folder)
            .env(FILE, folder.join("id"))
            .env(CONTENTS, contents)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut stdin, step.script().as_bytes()).unwrap();
        drop(stdin);
        child.wait_with_output().unwrap()
    }

    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("gpud-nfs-{}-{name}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn any_name_and_content_is_taken_as_it_is() {
        let place = Place::new("names");
        let long = "x".repeat(64 * 1024);
        for (index, name) in [
            "plain",
            "a b",
            "$(touch hacked)",
            "`touch hacked`",
            "\"; touch hacked; \"",
            "'quote'",
            "new\nline",
            "-rf",
            "*",
            "é\u{1}",
            "a\\b",
        ]
        .iter()
        .enumerate()
        {
            let folder = place.0.join(name).join("of=x");
            let all = [
                "$(touch hacked)",
                "%s%n\\n",
                "-n",
                "two\nlines\n\n",
                " \t ",
                &long,
            ];
            // Every process costs; all contents once will do.
            let contents = if index == 0 { &all[..] } else { &all[..1] };
            for contents in contents {
                for step in [Step::Create, Step::Touch, Step::Write] {
                    let output = run(step, &folder, contents);
                    assert!(output.status.success(), "{name}: {output:?}");
                }
                assert_eq!(
                    fs::read(folder.join("id")).unwrap(),
                    contents.as_bytes(),
                    "{index}"
                );
                let output = run(Step::Read, &folder, "");
                assert_eq!(output.stdout, contents.as_bytes());
            }
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&folder), mode(&folder.join("id"))), (0o755, 0o644));
            assert!(run(Step::Remove, &folder, "").status.success());
            assert!(!folder.join("id").exists());
            assert!(
                run(Step::Remove, &folder, "").status.success(),
                "gone is gone"
            );
        }
        assert!(!place.0.join("hacked").exists() && !Path::new("hacked").exists());
    }

    #[test]
    fn a_shorter_content_leaves_nothing_of_the_longer_one() {
        let place = Place::new("shorter");
        for contents in ["a long content", "short"] {
            assert!(run(Step::Write, &place.0, contents).status.success());
        }
        assert_eq!(run(Step::Read, &place.0, "").stdout, b"short");
    }

    #[test]
    fn links_are_not_followed() {
        let place = Place::new("links");
        let victim = place.0.join("victim");
        fs::write(&victim, "precious").unwrap();
        symlink(&victim, place.0.join("id")).unwrap();
        for step in [Step::Write, Step::Read] {
            let output = run(step, &place.0, "evil");
            assert!(!output.status.success() && output.stdout.is_empty());
            let told = String::from_utf8(output.stderr).unwrap();
            assert!(told.contains("Too many levels of symbolic links"), "{told}");
        }
        assert_eq!(fs::read(&victim).unwrap(), b"precious");
        assert!(run(Step::Remove, &place.0, "").status.success());
        assert!(victim.exists() && !place.0.join("id").exists());
    }

    #[test]
    fn failures_are_told() {
        let place = Place::new("failures");
        let missing = place.0.join("missing");
        for step in [Step::Touch, Step::Write, Step::Read] {
            let output = run(step, &missing, "x");
            assert!(!output.status.success(), "{step:?}");
            let told = String::from_utf8(output.stderr).unwrap();
            assert!(told.contains("No such file or directory"), "{told}");
        }
        fs::write(&missing, "a file").unwrap();
        assert!(!run(Step::Create, &missing, "x").status.success());
    }
}
