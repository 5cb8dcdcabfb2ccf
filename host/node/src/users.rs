//! Numbers, names and homes of users, from `/etc/passwd` (passwd(5)). Users of a directory service are not in it.

use std::path::{Path, PathBuf};

use super::local_file;

const USERS: &str = "/etc/passwd";
/// Most bytes of the file that are read.
const MAX_FILE: usize = 4 << 20;

/// Returns the number of a user of this machine. Blocks.
pub fn uid_of(name: &str) -> Option<u32> {
    uid_in(&users()?, name)
}

/// Returns the name of a user of this machine. Blocks.
pub fn name_of(uid: u32) -> Option<String> {
    name_in(&users()?, uid)
}

/// Returns the home of a user of this machine. Blocks.
pub fn home_of(uid: u32) -> Option<PathBuf> {
    home_in(&users()?, uid)
}

fn users() -> Option<String> {
    let users = local_file::read(Path::new(USERS), MAX_FILE).ok()?;
    Some(String::from_utf8_lossy(&users).into_owned())
}

/// Returns the number of a user in the text of such a file.
pub(super) fn uid_in(users: &str, name: &str) -> Option<u32> {
    let mut lines = users.lines().map(|line| line.split(':'));
    lines.find_map(|mut fields| (fields.next()? == name).then(|| fields.nth(1)?.parse().ok())?)
}

/// Returns the fields of the first line of a user: name, password, number, group, comment, home.
fn line_of(users: &str, uid: u32) -> Option<Vec<&str>> {
    let mut lines = users
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>());
    lines.find(|fields| fields.get(2).and_then(|number| number.parse().ok()) == Some(uid))
}

fn name_in(users: &str, uid: u32) -> Option<String> {
    let name = *line_of(users, uid)?.first()?;
    // It is shown as part of a command.
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    (!name.is_empty() && !name.starts_with('-') && name.chars().all(fits)).then(|| name.to_owned())
}

fn home_in(users: &str, uid: u32) -> Option<PathBuf> {
    let home = PathBuf::from(*line_of(users, uid)?.get(5)?);
    home.is_absolute().then_some(home)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_name() {
        let users = "root:x:0:0:root:/root:/bin/bash\nbroken\n\npostgres:x:114:120::/var/lib/postgresql:/bin/bash\n";
        for (name, uid) in [
            ("root", Some(0)),
            ("postgres", Some(114)),
            ("broken", None),
            ("x", None),
            ("post", None),
        ] {
            assert_eq!(uid_in(users, name), uid, "{name}");
        }
    }

    #[test]
    fn names_and_homes_are_found_by_number() {
        let users = "root:x:0:0:root:/root:/bin/bash\ntoor:x:0:0::/var/root:/bin/sh\nbroken\n\n-x:x:5:5::home:/bin/sh\n\
                     a b:x:6:6\npostgres:x:114:120::/var/lib/postgresql:/bin/bash\n";
        for (uid, name, home) in [
            (0, Some("root"), Some("/root")),
            (114, Some("postgres"), Some("/var/lib/postgresql")),
            // What could be read as an option of a command, and a home that depends on the folder.
            (5, None, None),
            (6, None, None),
            (7, None, None),
        ] {
            assert_eq!(name_in(users, uid).as_deref(), name, "{uid}");
            assert_eq!(home_in(users, uid), home.map(PathBuf::from), "{uid}");
        }
    }
}
