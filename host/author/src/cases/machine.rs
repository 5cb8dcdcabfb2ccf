//! The machine of a case: a copy of its folder, changed from step to step.
#![allow(
    clippy::disallowed_methods,
    reason = "files of a test, in a temporary folder of our own"
)]

use std::{
    fs,
    io::Write as _,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::document::Case;
use crate::node::{
    Boot, Node,
    files::segments_of,
    kmsg::{self, KernelMessage},
    local_file,
    simulated::Simulation,
    temporary::TemporaryFolder,
};

/// Most files, folders and links of a node folder.
const MAX_FILES: usize = 20_000;
/// Most bytes of all its files.
const MAX_BYTES: u64 = 256 << 20;
/// Deepest folder.
const MAX_DEPTH: usize = 40;

/// A made-up machine.
pub(crate) struct Machine {
    /// As checkers see it.
    pub(crate) node: Arc<Node>,
    root: PathBuf,
    kmsg: PathBuf,
    sequence: u64,
    booted: u64,
    _folder: TemporaryFolder,
}

impl Machine {
    /// With the files of a case's folder, which is relative to `base`.
    ///
    /// # Errors
    /// In words, naming the file.
    pub(crate) fn of(case: &Case, base: &Path) -> Result<Self, String> {
        let folder = TemporaryFolder::create().map_err(|error| error.to_string())?;
        let root = folder.path().join("root");
        fs::create_dir(&root).map_err(|error| error.to_string())?;
        if let Some(from) = &case.node {
            let from = base.join(from);
            let mut budget = CopyBudget {
                files: MAX_FILES,
                bytes: MAX_BYTES,
            };
            copy(&from, &root, MAX_DEPTH, &mut budget)?;
        }
        let kmsg = folder.path().join("kmsg");
        fs::write(&kmsg, "").map_err(|error| error.to_string())?;
        let booted = case.booted_ms()?;
        let node = Node::simulated(Simulation {
            root: root.clone(),
            now: case.now_ms()?,
            boot: Boot {
                id: "00000000-0000-4000-8000-000000000000".to_owned(),
                time: booted,
            },
            kmsg: kmsg.clone(),
            canned: case.canned(),
        });
        Ok(Self {
            node: Arc::new(node.map_err(|error| error.to_string())?),
            root,
            kmsg,
            sequence: 0,
            booted,
            _folder: folder,
        })
    }

    /// Writes or removes one file.
    ///
    /// # Errors
    /// In words: no plain absolute path, or it leads through a link.
    pub(crate) fn change(&self, path: &str, content: Option<&str>) -> Result<(), String> {
        let segments = segments_of(path).map_err(|error| error.to_string())?;
        let wrong = |problem: &dyn std::fmt::Display| format!("files: {path}: {problem}");
        let Some((name, folders)) = segments.split_last() else {
            return Err(wrong(&"it is the root"));
        };
        let mut folder = self.root.clone();
        for segment in folders {
            folder.push(segment);
            match fs::symlink_metadata(&folder) {
                Ok(facts) if facts.is_dir() => {}
                Ok(_) => return Err(wrong(&format!("{segment} is not a folder"))),
                Err(_) if content.is_none() => return Ok(()),
                Err(_) => fs::create_dir(&folder).map_err(|error| wrong(&error))?,
            }
        }
        let file = folder.join(name);
        let there = fs::symlink_metadata(&file);
        match there {
            Ok(facts) if facts.is_dir() => match content {
                None => fs::remove_dir_all(&file).map_err(|error| wrong(&error))?,
                Some(_) => return Err(wrong(&"it is a folder")),
            },
            // Also a link: what is written must not go where it leads.
            Ok(_) => fs::remove_file(&file).map_err(|error| wrong(&error))?,
            Err(_) => {}
        }
        match content {
            Some(content) => fs::write(&file, content).map_err(|error| wrong(&error)),
            None => Ok(()),
        }
    }

    /// A kernel message of now, with this text, of level 3.
    pub(crate) fn message(&mut self, text: &str) -> KernelMessage {
        let now = self.node.clock.now_ms();
        KernelMessage {
            sequence: 0,
            time: now,
            monotonic_micros: 0,
            level: 3,
            facility: 0,
            text: text.replace('\n', " "),
            dictionary: Vec::new(),
            fragment: false,
        }
    }

    /// Puts messages into the machine's log, where a look back finds them. They are numbered as they come.
    ///
    /// # Errors
    /// In words.
    pub(crate) fn log(
        &mut self,
        messages: Vec<KernelMessage>,
    ) -> Result<Vec<Arc<KernelMessage>>, String> {
        let mut records = String::new();
        let mut logged = Vec::with_capacity(messages.len());
        for mut message in messages {
            message.sequence = self.sequence;
            message.monotonic_micros = message
                .time
                .saturating_sub(self.booted)
                .saturating_mul(1000);
            self.sequence += 1;
            let prefix = message
                .facility
                .saturating_mul(8)
                .saturating_add(u32::from(message.level));
            records.push_str(&format!(
                "{prefix},{},{},-;{}\n",
                message.sequence,
                message.monotonic_micros,
                kmsg::escape(&message.text)
            ));
            logged.push(Arc::new(message));
        }
        let mut file = fs::File::options()
            .append(true)
            .open(&self.kmsg)
            .map_err(|error| error.to_string())?;
        file.write_all(records.as_bytes())
            .map_err(|error| error.to_string())?;
        Ok(logged)
    }
}

struct CopyBudget {
    files: usize,
    bytes: u64,
}

/// Copies a folder: regular files, folders, and links as they are. Device files and sockets are refused: what stands for
/// a machine is plain.
fn copy(from: &Path, to: &Path, depth: usize, budget: &mut CopyBudget) -> Result<(), String> {
    let wrong =
        |path: &Path, problem: &dyn std::fmt::Display| format!("{}: {problem}", path.display());
    if depth == 0 {
        return Err(wrong(from, &format!("deeper than {MAX_DEPTH} folders")));
    }
    let entries = fs::read_dir(from).map_err(|error| local_file::open_error(from, &error))?;
    for entry in entries {
        let entry = entry.map_err(|error| wrong(from, &error))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        budget.files = budget
            .files
            .checked_sub(1)
            .ok_or_else(|| wrong(&source, &format!("more than {MAX_FILES} files")))?;
        let kind = entry.file_type().map_err(|error| wrong(&source, &error))?;
        if kind.is_dir() {
            fs::create_dir(&target).map_err(|error| wrong(&source, &error))?;
            copy(&source, &target, depth - 1, budget)?;
        } else if kind.is_symlink() {
            let link = fs::read_link(&source).map_err(|error| wrong(&source, &error))?;
            symlink(link, &target).map_err(|error| wrong(&source, &error))?;
        } else if kind.is_file() {
            let size = entry
                .metadata()
                .map_err(|error| wrong(&source, &error))?
                .len();
            budget.bytes = budget.bytes.checked_sub(size).ok_or_else(|| {
                wrong(
                    &source,
                    &format!("more than {MAX_BYTES} bytes in all files"),
                )
            })?;
            fs::copy(&source, &target).map_err(|error| wrong(&source, &error))?;
        } else {
            return Err(wrong(&source, &"neither a file nor a folder nor a link"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::document::CaseFile;

    fn case(yaml: &str) -> Case {
        let text = format!("cases:\n- name: a\n  expect: {{}}\n{yaml}");
        CaseFile::parse(&text).unwrap().cases.remove(0)
    }

    #[tokio::test]
    async fn the_folder_is_copied_and_changed_without_touching_it() {
        let base = tempfile::tempdir().unwrap();
        let node = base.path().join("n/sys/a");
        fs::create_dir_all(&node).unwrap();
        fs::write(node.join("one"), "1").unwrap();
        fs::write(node.join("two"), "2").unwrap();
        symlink("/sys/a/one", node.join("link")).unwrap();
        let machine = Machine::of(&case("  node: n\n"), base.path()).unwrap();
        let read = async |path: &str| machine.node.files.read(path, 100).await.ok();
        assert_eq!(read("/sys/a/link").await.unwrap(), b"1");
        machine.change("/sys/a/one", Some("changed")).unwrap();
        machine.change("/sys/a/two", None).unwrap();
        machine.change("/proc/new/file", Some("new")).unwrap();
        machine.change("/not/there", None).unwrap();
        assert_eq!(read("/sys/a/one").await.unwrap(), b"changed");
        assert_eq!(read("/sys/a/two").await, None);
        assert_eq!(read("/proc/new/file").await.unwrap(), b"new");
        assert_eq!(fs::read(node.join("one")).unwrap(), b"1");
        assert!(node.join("two").exists());
    }

    #[test]
    fn nothing_is_written_through_a_link_or_out_of_the_folder() {
        let base = tempfile::tempdir().unwrap();
        let (node, outside) = (base.path().join("n"), base.path().join("outside"));
        fs::create_dir(&node).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("f"), "untouched").unwrap();
        symlink(&outside, node.join("way")).unwrap();
        symlink(outside.join("f"), node.join("file")).unwrap();
        let machine = Machine::of(&case("  node: n\n"), base.path()).unwrap();
        let error = machine.change("/way/f", Some("x")).unwrap_err();
        assert!(error.contains("way is not a folder"), "{error}");
        assert!(machine.change("/../x", Some("x")).is_err());
        assert!(machine.change("x", Some("x")).is_err());
        assert!(machine.change("/", Some("x")).is_err());
        machine.change("/file", Some("own")).unwrap();
        assert_eq!(fs::read(outside.join("f")).unwrap(), b"untouched");
    }

    #[test]
    fn a_folder_that_is_missing_or_holds_a_pipe_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let error = Machine::of(&case("  node: gone\n"), base.path())
            .err()
            .unwrap();
        assert!(error.contains("gone: no such file or directory"), "{error}");
        let node = base.path().join("n");
        fs::create_dir(&node).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(node.join("s")).unwrap();
        let error = Machine::of(&case("  node: n\n"), base.path())
            .err()
            .unwrap();
        assert!(
            error.contains("neither a file nor a folder nor a link"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn messages_are_numbered_and_found_by_a_look_back() {
        let mut machine =
            Machine::of(&case("  now: 2026-01-01T00:00:00Z\n"), Path::new("/")).unwrap();
        let messages = vec![machine.message("one"), machine.message("two\nlines")];
        let logged = machine.log(messages).unwrap();
        assert_eq!(logged[1].sequence, 1);
        let found = machine
            .node
            .kmsg_read_back(
                regex::RegexSet::empty(),
                10,
                std::time::Duration::from_secs(5),
            )
            .await
            .unwrap();
        let texts: Vec<_> = found
            .messages
            .iter()
            .map(|m| (m.text.as_str(), m.time))
            .collect();
        let now = 1_767_225_600_000;
        assert_eq!(texts, [("one", now), ("two lines", now)]);
    }
}
