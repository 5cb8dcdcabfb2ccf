//! Numbers, names and homes of users, from `/etc/passwd` (passwd(5)). Users of a directory service are not in it.

use std::path::{Path, PathBuf};

use super::local_file;

const USERS: &str = "/etc/passwd";
const GROUPS: &str = "/etc/group";
/// Most bytes of each file that are read.
const MAX_FILE: usize = 4 << 20;

/// The facts that a process needs to become a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Name.
    pub name: String,
    /// Number.
    pub uid: u32,
    /// Number of the first group.
    pub gid: u32,
    /// Numbers of the further groups.
    pub groups: Vec<u32>,
    /// Home.
    pub home: PathBuf,
}

/// Returns the user of this name or number of this machine, with the groups of `/etc/group`. Blocks.
pub fn find(asked: &str) -> Option<User> {
    let groups = local_file::read(Path::new(GROUPS), MAX_FILE).unwrap_or_default();
    user_in(&users()?, &String::from_utf8_lossy(&groups), asked)
}

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

/// Returns a user in the texts of such files.
fn user_in(users: &str, groups: &str, asked: &str) -> Option<User> {
    // The largest number means "no user" to the kernel.
    let number = |text: &str| {
        let number = text.parse::<u32>().ok();
        number.filter(|number| *number != u32::MAX)
    };
    let mut lines = users
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>());
    let is_asked = |field: Option<&&str>| field.is_some_and(|field| *field == asked);
    let fields = lines.find(|fields| is_asked(fields.first()) || is_asked(fields.get(2)))?;
    let [name, _, uid, gid, _, home, ..] = fields.as_slice() else {
        return None;
    };
    let of_user = |line: &str| {
        let fields: Vec<&str> = line.split(':').collect();
        let [_, _, gid, members, ..] = fields.as_slice() else {
            return None;
        };
        let is_member = members.split(',').any(|member| member == *name);
        number(gid).filter(|_| is_member)
    };
    Some(User {
        name: (*name).to_owned(),
        uid: number(uid)?,
        gid: number(gid)?,
        groups: groups.lines().filter_map(of_user).collect(),
        home: PathBuf::from(*home),
    })
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
    fn users_have_their_groups() {
        let users = "root:x:0:0:root:/root:/bin/bash\nbroken:x\ngpud:x:990:985::/var/lib/gpud:/bin/false\nodd:x:4294967295:1::/:/\n";
        let groups =
            "root:x:0:\ndocker:x:998:alice,gpud\nvideo:x:44:gpudx\nbroken\nrender:x:105:gpud\n";
        let gpud = User {
            name: "gpud".to_owned(),
            uid: 990,
            gid: 985,
            groups: vec![998, 105],
            home: PathBuf::from("/var/lib/gpud"),
        };
        for asked in ["gpud", "990"] {
            assert_eq!(user_in(users, groups, asked).as_ref(), Some(&gpud));
        }
        for asked in ["", "gpu", "broken", "odd", "4294967295", "x"] {
            assert_eq!(user_in(users, groups, asked), None, "{asked}");
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
