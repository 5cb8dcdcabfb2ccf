//! A folder with everything in it, and with what links in it lead to.

use std::{
    collections::BTreeSet,
    fs,
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{CWD, FileType, Mode, OFlags, Stat, fstat, openat},
    io::Errno,
};

use super::{
    Opener, TrustError, TrustProblem, environment, mounts,
    walk::{WalkEnd, WalkGoal, walk},
};

/// Checks a folder whose path has no links, and which no other user can replace, with all that is in it. Returns false if
/// there are more than `max` files and folders.
///
/// # Errors
/// The first file or folder that others can change.
pub(super) fn check(folder: &Path, opener: Opener, max: usize) -> Result<bool, TrustError> {
    judge(folder, None, opener)?;
    let mut seen = BTreeSet::from([folder.to_owned()]);
    let mut pending = vec![folder.to_owned()];
    let mut entries = 0;
    while let Some(listed) = pending.pop() {
        let failed = |error| TrustError::io(&listed, error);
        // Others can put nothing into it, since it was judged. So its facts stay as they are.
        let above = judge(&listed, None, opener)?;
        for entry in fs::read_dir(&listed).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            entries += 1;
            if entries > max {
                return Ok(false);
            }
            let facts = judge(&path, Some(&above), opener)?;
            let below = match FileType::from_raw_mode(facts.st_mode) {
                FileType::Directory => Some(path),
                FileType::Symlink => follow(&path, &facts, opener)?,
                _ => None,
            };
            if let Some(below) = below
                && seen.insert(below.clone())
            {
                pending.push(below);
            }
        }
    }
    Ok(true)
}

/// Judges one file, folder or link as such. `above` is the folder that it is in: where another file system begins, its
/// server is judged.
///
/// # Errors
/// [`TrustError`].
pub(super) fn judge(path: &Path, above: Option<&Stat>, opener: Opener) -> Result<Stat, TrustError> {
    let failed = |error: Errno| TrustError::io(path, error.into());
    let rules = opener.rules;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = openat(CWD, path, flags, Mode::empty()).map_err(failed)?;
    let device = mounts::device(&handle).map_err(failed)?;
    if above.is_some_and(|above| above.st_dev != device) {
        rules.judge_server(path, path, &handle)?;
    }
    let facts = fstat(&handle).map_err(failed)?;
    match FileType::from_raw_mode(facts.st_mode) {
        FileType::Directory | FileType::RegularFile => {
            rules.judge_file(path, path, &facts)?;
            rules.judge_list(path, path, &facts, &handle)?;
        }
        // Everybody can write to `/dev/null`.
        _ => rules.judge_owner(path, path, &facts)?,
    }
    Ok(facts)
}

/// Judges what a link leads to, and returns it if it is a folder. `facts` are those of the link.
///
/// # Errors
/// [`TrustError`]; also where nothing is there, and others can put something there.
pub(super) fn follow(
    link: &Path,
    facts: &Stat,
    opener: Opener,
) -> Result<Option<PathBuf>, TrustError> {
    let missing = match walk(link, opener.rules, WalkGoal::FILE) {
        Ok(WalkEnd::Folder { path, .. }) => {
            judge(&path, None, opener)?;
            return Ok(Some(path));
        }
        Ok(WalkEnd::Entry(entry)) if entry.facts.is_some() => {
            judge(&entry.path, None, opener)?;
            return Ok(None);
        }
        Ok(WalkEnd::Entry(entry)) => Some(entry.path),
        Err(error) if error.is_not_found() => target(link),
        Err(error) => return Err(error),
    };
    match missing.is_some_and(|missing| environment::is_safe(&missing, opener)) {
        true => Ok(None),
        false => Err(opener.rules.refuse(link, link, facts, TrustProblem::Link)),
    }
}

/// Returns the path that a link holds, with `..` resolved as text.
fn target(link: &Path) -> Option<PathBuf> {
    let target = link.parent()?.join(fs::read_link(link).ok()?);
    let mut path = PathBuf::new();
    for part in target.components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            part => path.push(part),
        }
    }
    Some(path)
}

#[cfg(test)]
mod tests;
