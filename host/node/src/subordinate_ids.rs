//! Finds the user that owns a subordinate user id. With user namespaces one user acts as tens of thousands of ids,
//! those that `/etc/subuid` gives to it (subuid(5)).

use std::{
    path::Path,
    sync::{Mutex, PoisonError},
};

use super::{
    local_file::{self, FileStamp},
    users::uid_in,
};

const RANGES: &str = "/etc/subuid";
const USERS: &str = "/etc/passwd";
/// Most bytes of either file that are read.
const MAX_FILE: usize = 4 << 20;

/// Numbers of one user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    start: u32,
    count: u32,
    owner: u32,
}

type Stamps = [Option<FileStamp>; 2];

/// The content of the files when they had these stamps.
static READ: Mutex<Option<(Stamps, Vec<Range>)>> = Mutex::new(None);

/// Returns the user that a number was given to; the number itself where it is nobody's subordinate. Reads the files again
/// when they have changed. Blocks.
pub fn owner(uid: u32) -> u32 {
    let files = [RANGES, USERS].map(Path::new);
    let stamps = files.map(local_file::stamp);
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if read.as_ref().is_none_or(|(of, _)| *of != stamps) {
        // Without such a file nobody has subordinate numbers.
        let [ranges, users] =
            files.map(|file| local_file::read(file, MAX_FILE).unwrap_or_default());
        let ranges = parse(
            &String::from_utf8_lossy(&ranges),
            &String::from_utf8_lossy(&users),
        );
        *read = Some((stamps, ranges));
    }
    let ranges = read.as_ref().map_or(&[][..], |(_, ranges)| ranges);
    owner_in(ranges, uid)
}

fn owner_in(ranges: &[Range], uid: u32) -> u32 {
    let found = ranges.iter().find(|range| {
        uid.checked_sub(range.start)
            .is_some_and(|at| at < range.count)
    });
    found.map_or(uid, |range| range.owner)
}

/// Reads lines `USER:FIRST:COUNT`, the user by name or number. A name that `users` does not have stands for its first
/// number: its numbers count together all the same.
fn parse(ranges: &str, users: &str) -> Vec<Range> {
    let range = |line: &str| {
        let mut fields = line.trim().split(':');
        let user = fields.next()?;
        let start = fields.next()?.parse().ok()?;
        let count = fields.next()?.parse().ok()?;
        let owner = user.parse().ok().or_else(|| uid_in(users, user));
        Some(Range {
            start,
            count,
            owner: owner.unwrap_or(start),
        })
    };
    ranges.lines().filter_map(range).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_number_is_that_of_the_user_it_was_given_to() {
        let ranges = parse(
            "# nobody\nalice:100000:65536\n1001:165536:10\ngone:300000:5\nbroken:1\n:::\nbob:4294967290:100",
            "root:x:0:0:root:/root:/bin/bash\nalice:x:1000:1000::/home/alice:/bin/sh\nbob:x:1002:1002",
        );
        for (uid, owner) in [
            (0, 0),
            (1000, 1000),
            (99_999, 99_999),
            (100_000, 1000),
            (165_535, 1000),
            (165_536, 1001),
            (165_546, 165_546),
            (300_004, 300_000),
            (u32::MAX, 1002),
        ] {
            assert_eq!(owner_in(&ranges, uid), owner, "{uid}");
        }
        assert_eq!(owner(0), 0);
    }

    proptest! {
        #[test]
        fn any_text_is_read(ranges in "[a-z0-9:\n]{0,200}", users in "[a-z0-9:\n]{0,200}", uid: u32) {
            owner_in(&parse(&ranges, &users), uid);
        }
    }
}
