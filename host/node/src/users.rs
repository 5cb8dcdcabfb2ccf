//! The numbers of users, from `/etc/passwd` (passwd(5)). Users of a directory service are not in it.

use std::path::Path;

use super::local_file;

const USERS: &str = "/etc/passwd";
/// Most bytes of the file that are read.
const MAX_FILE: usize = 4 << 20;

/// Returns the number of a user of this machine. Blocks.
pub fn uid_of(name: &str) -> Option<u32> {
    let users = local_file::read(Path::new(USERS), MAX_FILE).ok()?;
    uid_in(&String::from_utf8_lossy(&users), name)
}

/// Returns the number of a user in the text of such a file.
pub(super) fn uid_in(users: &str, name: &str) -> Option<u32> {
    let mut lines = users.lines().map(|line| line.split(':'));
    lines.find_map(|mut fields| (fields.next()? == name).then(|| fields.nth(1)?.parse().ok())?)
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
}
