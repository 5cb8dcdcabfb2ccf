//! Following a path by handles, and seeing who could change where it leads.
//!
//! A path is *guarded* where nobody but root and gpud's own user can change what it leads to: each folder on the way
//! belongs to one of them, and others cannot write to it (in a sticky folder such as `/tmp` they cannot replace what is
//! not theirs); the same is true of the folders of each link on the way.

use std::{
    collections::VecDeque,
    ffi::OsString,
    os::unix::ffi::OsStringExt as _,
    path::{Component, Path, PathBuf},
};

use rustix::{
    fd::OwnedFd,
    fs::{CWD, FileType, Mode, OFlags, Stat},
    io::Errno,
};

use super::error::SourceError;

/// Most links that one path may lead through, as in the kernel.
const MAX_LINKS: usize = 40;

/// Who may have made what a path leads through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Folders, links and the file itself are guarded, and the file can be changed by nobody else either.
    Guarded,
    /// Links on the way are guarded, folders may be anybody's, and the last name is no link.
    LinksGuarded,
}

/// Opens a bare handle (`O_PATH`) of an absolute path under a rule. Nothing happens to the file by that.
///
/// # Errors
/// [`SourceError::Denied`] naming the part that others can change; [`SourceError::NotFound`], and
/// [`SourceError::Invalid`] for a path that is not absolute.
pub fn open(path: &Path, rule: Rule) -> Result<OwnedFd, SourceError> {
    let shown = path.display().to_string();
    let failed = |error: Errno| SourceError::from_io(&shown, &error.into());
    if !path.is_absolute() {
        return Err(SourceError::Invalid(format!("{shown} is not absolute")));
    }
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = || rustix::fs::openat(CWD, "/", flags, Mode::empty()).map_err(failed);
    let mut folders = vec![root()?];
    let mut rest: VecDeque<Part> = parts(path).into();
    let mut links = 0;
    let mut at = String::new();
    while let Some(part) = rest.pop_front() {
        let Some(folder) = folders.last() else {
            folders.push(root()?);
            rest.push_front(part);
            continue;
        };
        let name = match part {
            Part::Root => {
                folders.truncate(1);
                at.clear();
                continue;
            }
            Part::Up => {
                if folders.len() > 1 {
                    folders.pop();
                    at.truncate(at.rfind('/').unwrap_or(0));
                }
                continue;
            }
            Part::Name(name) => name,
        };
        let folder_is = rustix::fs::fstat(folder).map_err(failed)?;
        let next = rustix::fs::openat(folder, &name, flags, Mode::empty()).map_err(failed)?;
        let next_is = rustix::fs::fstat(&next).map_err(failed)?;
        let kind = FileType::from_raw_mode(next_is.st_mode);
        let here = format!("{at}/{}", name.to_string_lossy());
        let is_last = rest.is_empty();
        if rule == Rule::Guarded || kind == FileType::Symlink {
            if is_last && rule == Rule::LinksGuarded {
                return Err(SourceError::Denied(format!(
                    "{shown}: {here} is a link; name what it leads to"
                )));
            }
            let folder_name = if at.is_empty() { "/" } else { &at };
            check_folder(&folder_is, folder_name, &shown)?;
            check_owner(&next_is, &here, &shown)?;
        }
        if kind == FileType::Symlink {
            links += 1;
            if links > MAX_LINKS {
                return Err(failed(Errno::LOOP));
            }
            let target = rustix::fs::readlinkat(&next, "", Vec::new()).map_err(failed)?;
            let target = OsString::from_vec(target.into_bytes());
            for part in parts(Path::new(&target)).into_iter().rev() {
                rest.push_front(part);
            }
            continue;
        }
        if is_last && rule == Rule::Guarded && kind == FileType::RegularFile {
            check_writers(&next_is, &here, &shown)?;
        }
        at = here;
        folders.push(next);
    }
    folders
        .pop()
        .ok_or_else(|| SourceError::Invalid(format!("{shown} names nothing")))
}

/// A folder in which root or gpud's own user alone can replace files: the named one if it is, else `/tmp`.
pub fn temporary_folder(named: &Path) -> PathBuf {
    let holds = |folder: &Path| {
        let opened = open(folder, Rule::Guarded)?;
        let facts = rustix::fs::fstat(&opened)
            .map_err(|error| SourceError::from_io(&folder.display().to_string(), &error.into()))?;
        let shown = folder.display().to_string();
        check_folder(&facts, &shown, &shown)
    };
    match holds(named) {
        Ok(()) => named.to_owned(),
        Err(_) => "/tmp".into(),
    }
}

/// A part of a path.
enum Part {
    Root,
    Up,
    Name(OsString),
}

fn parts(path: &Path) -> Vec<Part> {
    let part = |component: Component<'_>| match component {
        Component::RootDir => Some(Part::Root),
        Component::ParentDir => Some(Part::Up),
        Component::Normal(name) => Some(Part::Name(name.to_owned())),
        Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(part).collect()
}

/// Whether a user is root or the one that gpud runs as.
fn is_ours(uid: u32) -> bool {
    uid == 0 || uid == rustix::process::geteuid().as_raw()
}

/// Whether others than the owner and root's group can write.
fn others_write(facts: &Stat) -> bool {
    let mode = facts.st_mode;
    mode & 0o002 != 0 || (mode & 0o020 != 0 && facts.st_gid != 0)
}

fn check_owner(facts: &Stat, here: &str, whole: &str) -> Result<(), SourceError> {
    if is_ours(facts.st_uid) {
        return Ok(());
    }
    Err(SourceError::Denied(format!(
        "{whole}: {here} belongs to user {}, who can change it",
        facts.st_uid
    )))
}

fn check_folder(facts: &Stat, here: &str, whole: &str) -> Result<(), SourceError> {
    check_owner(facts, here, whole)?;
    // In a sticky folder others can add names, but not replace those of others.
    match others_write(facts) && facts.st_mode & 0o1000 == 0 {
        true => Err(writable(facts, here, whole)),
        false => Ok(()),
    }
}

fn check_writers(facts: &Stat, here: &str, whole: &str) -> Result<(), SourceError> {
    match others_write(facts) {
        true => Err(writable(facts, here, whole)),
        false => Ok(()),
    }
}

fn writable(facts: &Stat, here: &str, whole: &str) -> SourceError {
    SourceError::Denied(format!(
        "{whole}: others can write to {here} (mode {:04o}, group {}); chmod go-w {here}",
        facts.st_mode & 0o7777,
        facts.st_gid
    ))
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{PermissionsExt as _, chown, symlink},
    };

    use super::*;

    fn refusal(path: &Path, rule: Rule) -> String {
        match open(path, rule) {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        }
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_program_that_others_can_change_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let (bin, program) = (folder.join("bin"), folder.join("bin/tool"));
        fs::create_dir(&bin).unwrap();
        fs::write(&program, "#!/bin/sh\n").unwrap();
        set_mode(&bin, 0o755);
        set_mode(&program, 0o755);
        assert_eq!(refusal(&program, Rule::Guarded), "");
        // The file, its folder, and the folder above.
        set_mode(&program, 0o757);
        assert!(refusal(&program, Rule::Guarded).contains("others can write"));
        set_mode(&program, 0o755);
        for open_to_all in [&bin, &folder] {
            set_mode(open_to_all, 0o777);
            let problem = refusal(&program, Rule::Guarded);
            assert!(problem.contains("others can write to"), "{problem}");
            set_mode(open_to_all, 0o1777);
            assert_eq!(refusal(&program, Rule::Guarded), "");
            set_mode(open_to_all, 0o755);
        }
        // A link is as good as its folder and what it leads to.
        let link = folder.join("link");
        symlink("bin/../bin/tool", &link).unwrap();
        assert_eq!(refusal(&link, Rule::Guarded), "");
        set_mode(&bin, 0o777);
        assert!(refusal(&link, Rule::Guarded).contains("bin"));
        set_mode(&bin, 0o755);
        let circle = folder.join("circle");
        symlink("circle", &circle).unwrap();
        assert!(!refusal(&circle, Rule::Guarded).is_empty());
        assert!(refusal(Path::new("tool"), Rule::Guarded).contains("not absolute"));
    }

    #[test]
    fn what_belongs_to_another_user_is_refused() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("left out: needs root");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let program = folder.join("tool");
        fs::write(&program, "#!/bin/sh\n").unwrap();
        set_mode(&program, 0o755);
        chown(&program, Some(65534), None).unwrap();
        assert!(refusal(&program, Rule::Guarded).contains("belongs to user 65534"));
        chown(&program, Some(0), None).unwrap();
        chown(&folder, Some(65534), None).unwrap();
        assert!(refusal(&program, Rule::Guarded).contains("belongs to user 65534"));
        // Folders of others may lead to a socket, their links may not.
        assert_eq!(refusal(&program, Rule::LinksGuarded), "");
        let own = folder.join("own");
        fs::create_dir(&own).unwrap();
        fs::write(own.join("tool"), "").unwrap();
        symlink(&own, folder.join("linked")).unwrap();
        let linked = refusal(&folder.join("linked/tool"), Rule::LinksGuarded);
        assert!(linked.contains("belongs to user 65534"), "{linked}");
    }

    #[test]
    fn the_last_name_of_a_socket_is_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        fs::write(folder.join("real"), "").unwrap();
        symlink("real", folder.join("link")).unwrap();
        symlink(&folder, folder.join("way")).unwrap();
        assert_eq!(refusal(&folder.join("way/real"), Rule::LinksGuarded), "");
        let problem = refusal(&folder.join("link"), Rule::LinksGuarded);
        assert!(problem.contains("is a link"), "{problem}");
    }
}
