//! The source of records: `/dev/kmsg`, or a file with records in it, behind one non-blocking `next`.

use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
};

use rustix::{
    fs::{FileType, Mode, OFlags, SeekFrom, Stat, fstat, major, minor, open, seek},
    io::{Errno, read, retry_on_intr},
};

use super::{DEVICE, lines::LineSplitter, record::MAX_RECORD};
use crate::{error::SourceError, root_helper};

/// Major and minor number of the kernel log's device: `Documentation/admin-guide/devices.txt` of Linux.
const NUMBERS: (u32, u32) = (1, 11);

/// An opened source, positioned at its oldest record.
pub(super) struct Source {
    fd: OwnedFd,
    kind: SourceKind,
    buffer: Box<[u8]>,
}

enum SourceKind {
    /// A character device: one read is one record.
    Device,
    /// Anything else: records are lines.
    File { splitter: LineSplitter, offset: u64 },
}

/// The result of [`Source::next`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// A record was appended.
    Record,
    /// Records were overwritten; reading goes on with the oldest that is left.
    Overrun,
    /// Nothing more for now.
    Idle,
    /// Nothing more for ever (`/dev/null`).
    End,
    /// The file became shorter: it is another log, read from its beginning.
    Restarted,
}

impl Source {
    /// Opens without ever waiting (not even for the writer of a FIFO), by the root helper where there is one. Some containers
    /// have another device at `/dev/kmsg`, such as the console or `/dev/null`; it is not read.
    pub(super) fn open(path: &Path) -> Result<Self, SourceError> {
        let trouble =
            |errno: Errno| SourceError::from_io(path.display().to_string(), &errno.into());
        let fd = match root_helper::connection() {
            Some(helper) if helper.kernel_log() == path => helper.open_kernel_log()?,
            Some(_) | None => open_source(path)?,
        };
        let status = fstat(&fd).map_err(trouble)?;
        let kind = match FileType::from_raw_mode(status.st_mode) {
            FileType::CharacterDevice => {
                check_device(path, &status)?;
                SourceKind::Device
            }
            FileType::Directory => {
                return Err(SourceError::Invalid(format!(
                    "{}: is a directory",
                    path.display()
                )));
            }
            _ => SourceKind::File {
                splitter: LineSplitter::default(),
                offset: 0,
            },
        };
        Ok(Self {
            fd,
            kind,
            buffer: vec![0; MAX_RECORD].into_boxed_slice(),
        })
    }

    /// Whether unread records disappear after a while (the ring) or stay (a file).
    pub(super) fn overwrites(&self) -> bool {
        matches!(self.kind, SourceKind::Device)
    }

    /// Appends the next record to `out`, if there is one. After an error the source can be asked again.
    pub(super) fn next(&mut self, out: &mut Vec<u8>) -> Result<Step, Errno> {
        match &mut self.kind {
            SourceKind::Device => match retry_on_intr(|| read(&self.fd, &mut *self.buffer)) {
                Ok(0) => Ok(Step::End),
                Ok(length) => {
                    out.extend_from_slice(self.buffer.get(..length).unwrap_or_default());
                    Ok(Step::Record)
                }
                Err(Errno::PIPE) => Ok(Step::Overrun),
                Err(Errno::AGAIN) => Ok(Step::Idle),
                Err(errno) => Err(errno),
            },
            SourceKind::File { splitter, offset } => loop {
                if splitter.take(out) {
                    return Ok(Step::Record);
                }
                match retry_on_intr(|| read(&self.fd, &mut *self.buffer)) {
                    Ok(0) => {
                        if splitter.take_at_end(out) {
                            return Ok(Step::Record);
                        }
                        if u64::try_from(fstat(&self.fd)?.st_size).is_ok_and(|size| size < *offset)
                        {
                            seek(&self.fd, SeekFrom::Start(0))?;
                            *offset = 0;
                            *splitter = LineSplitter::default();
                            return Ok(Step::Restarted);
                        }
                        return Ok(Step::Idle);
                    }
                    Ok(length) => {
                        *offset += length as u64;
                        splitter.feed(self.buffer.get(..length).unwrap_or_default());
                    }
                    Err(Errno::AGAIN) => return Ok(Step::Idle),
                    Err(errno) => return Err(errno),
                }
            },
        }
    }
}

/// Opens a source as this process, for reading and without waiting.
///
/// # Errors
/// The system's.
pub(crate) fn open_source(path: &Path) -> Result<OwnedFd, SourceError> {
    open(
        path,
        OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY,
        Mode::empty(),
    )
    .map_err(|errno| SourceError::from_io(path.display().to_string(), &errno.into()))
}

/// Refuses another device than the kernel log's at its place. A source that the operator names may be any.
pub(super) fn check_device(path: &Path, status: &Stat) -> Result<(), SourceError> {
    let (major, minor) = (major(status.st_rdev), minor(status.st_rdev));
    let is_device = FileType::from_raw_mode(status.st_mode) == FileType::CharacterDevice;
    if path != Path::new(DEVICE) || !is_device || (major, minor) == NUMBERS {
        return Ok(());
    }
    Err(SourceError::NotFound(format!(
        "{DEVICE} (here the device {major}:{minor}, not the kernel log)"
    )))
}

impl AsFd for Source {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn steps(source: &mut Source) -> (Vec<String>, Step) {
        let mut records = Vec::new();
        loop {
            let mut out = Vec::new();
            match source.next(&mut out).unwrap() {
                Step::Record => records.push(String::from_utf8(out).unwrap()),
                other => return (records, other),
            }
        }
    }

    #[test]
    fn follows_a_file_and_notices_a_new_one_in_its_place() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut source = Source::open(file.path()).unwrap();
        assert!(!source.overwrites());
        assert_eq!(steps(&mut source), (vec![], Step::Idle));
        file.write_all(b"6,1,1,-;a\n K=v\n6,2,2,-;b\n6,3,3,-;un")
            .unwrap();
        assert_eq!(
            steps(&mut source),
            (
                vec!["6,1,1,-;a\n K=v\n".into(), "6,2,2,-;b\n".into()],
                Step::Idle
            )
        );
        file.write_all(b"finished\n").unwrap();
        assert_eq!(steps(&mut source).0, vec!["6,3,3,-;unfinished\n"]);
        file.as_file().set_len(0).unwrap();
        assert_eq!(steps(&mut source), (vec![], Step::Restarted));
        std::fs::write(file.path(), "6,0,1,-;new\n").unwrap();
        assert_eq!(steps(&mut source).0, vec!["6,0,1,-;new\n"]);
    }

    #[test]
    fn dev_null_is_at_its_end() {
        assert_eq!(
            steps(&mut Source::open(Path::new("/dev/null")).unwrap()),
            (vec![], Step::End)
        );
    }

    #[test]
    fn another_device_at_the_place_of_the_log_is_refused() {
        let null = rustix::fs::stat("/dev/null").unwrap();
        assert_eq!(check_device(Path::new("/dev/null"), &null), Ok(()));
        let error = check_device(Path::new(DEVICE), &null);
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("here the device 1:3, not the kernel log"),
            "{error}"
        );
    }

    #[test]
    fn the_trouble_is_named() {
        let error = Source::open(Path::new("/nonexistent/kmsg")).err().unwrap();
        assert_eq!(error, SourceError::NotFound("/nonexistent/kmsg".into()));
        assert!(matches!(
            Source::open(Path::new("/tmp")),
            Err(SourceError::Invalid(_))
        ));
    }
}
