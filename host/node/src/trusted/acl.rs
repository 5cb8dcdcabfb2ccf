//! Access control lists: who can write to something although its permissions do not show it.
//!
//! Permissions show most: with a POSIX list, those of the group are the most that any named user or group has (acl(5)), so
//! that a list that lets somebody write shows as a group that can write. They do not show who it is, which matters where a
//! group may write, and they do not show what an NFSv4 list grants to named users (RFC 7530, 6.2).

use std::os::fd::{AsFd, AsRawFd as _};

use rustix::{fs::getxattr, io::Errno};

const POSIX: &str = "system.posix_acl_access";
const NFSV4: &str = "system.nfs4_acl";
/// Bytes of most lists, and of the largest that Linux has.
const USUAL: usize = 1 << 10;
const LARGEST: usize = 64 << 10;

/// `ACL_EA_VERSION`, and the entries of `linux/posix_acl.h`.
const VERSION: u32 = 2;
const USER: u16 = 0x02;
const GROUP: u16 = 0x08;
const MASK: u16 = 0x10;
const WRITE: u16 = 0x02;

/// `ACE4_ACCESS_ALLOWED_ACE_TYPE`.
const ALLOWED: u32 = 0;
/// `ACE4_WRITE_DATA`, `APPEND_DATA` and `DELETE_CHILD`: permissions show these of owner, group and everyone.
const WRITES: u32 = 0x02 | 0x04 | 0x40;
/// `ACE4_WRITE_ACL` and `WRITE_OWNER`: permissions never show them.
const GIVES_AWAY: u32 = 0x4_0000 | 0x8_0000;

/// Returns whether a list lets a user write whom the permissions do not name. `us` is trusted, as root is.
///
/// # Errors
/// The list cannot be read.
pub fn lets_named_write(handle: impl AsFd, us: u32) -> Result<bool, Errno> {
    // A bare handle has no attributes of its own; by this name the kernel finds what it is a handle of.
    let path = format!("/proc/self/fd/{}", handle.as_fd().as_raw_fd());
    let posix = read(&path, POSIX)?;
    if posix.is_some_and(|list| posix_lets_write(&list, us).unwrap_or(true)) {
        return Ok(true);
    }
    let nfsv4 = read(&path, NFSV4)?;
    Ok(nfsv4.is_some_and(|list| nfsv4_lets_write(&list, us).unwrap_or(true)))
}

fn read(path: &str, name: &str) -> Result<Option<Vec<u8>>, Errno> {
    for size in [USUAL, LARGEST] {
        let mut list = vec![0; size];
        match getxattr(path, name, list.as_mut_slice()) {
            Ok(length) => {
                list.truncate(length);
                return Ok(Some(list));
            }
            // None, a file system without lists, and a machine without /proc, where permissions are all there is.
            Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS | Errno::NOENT) => return Ok(None),
            Err(Errno::RANGE) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Errno::RANGE)
}

/// `None` for what is no such list.
fn posix_lets_write(list: &[u8], us: u32) -> Option<bool> {
    let (version, entries) = list.split_first_chunk::<4>()?;
    let (entries, rest) = entries.as_chunks::<8>();
    if u32::from_le_bytes(*version) != VERSION || !rest.is_empty() {
        return None;
    }
    let entries = entries.iter().map(|[t0, t1, p0, p1, id @ ..]| {
        let (tag, permissions) = (
            u16::from_le_bytes([*t0, *t1]),
            u16::from_le_bytes([*p0, *p1]),
        );
        (tag, permissions, u32::from_le_bytes(*id))
    });
    let mask = entries.clone().find(|(tag, ..)| *tag == MASK);
    let mask = mask.map_or(WRITE, |(_, permissions, _)| permissions);
    let mut entries = entries;
    Some(entries.any(|(tag, permissions, id)| {
        let is_other = tag == GROUP || (tag == USER && id != 0 && id != us);
        is_other && permissions & mask & WRITE != 0
    }))
}

/// `None` for what is no such list.
fn nfsv4_lets_write(list: &[u8], us: u32) -> Option<bool> {
    fn number(list: &mut &[u8]) -> Option<u32> {
        let (number, rest) = list.split_first_chunk::<4>()?;
        *list = rest;
        Some(u32::from_be_bytes(*number))
    }
    let mut rest = list;
    let count = number(&mut rest)?;
    let mut lets_write = false;
    for _ in 0..count {
        let (kind, _flags, rights) = (number(&mut rest)?, number(&mut rest)?, number(&mut rest)?);
        let length = usize::try_from(number(&mut rest)?).ok()?;
        let (who, padded) = (rest.get(..length)?, length.checked_next_multiple_of(4)?);
        rest = rest.get(padded..)?;
        let dangerous = match who {
            b"OWNER@" | b"root" | b"0" => 0,
            b"GROUP@" | b"EVERYONE@" => GIVES_AWAY,
            who if who.starts_with(b"root@") || who == us.to_string().as_bytes() => 0,
            _ => WRITES | GIVES_AWAY,
        };
        lets_write |= kind == ALLOWED && rights & dangerous != 0;
    }
    Some(lets_write)
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A POSIX list with these entries: tag, permissions, user or group.
    pub fn posix(entries: &[(u16, u16, u32)]) -> Vec<u8> {
        let mut list = VERSION.to_le_bytes().to_vec();
        for (tag, permissions, id) in entries {
            list.extend(tag.to_le_bytes());
            list.extend(permissions.to_le_bytes());
            list.extend(id.to_le_bytes());
        }
        list
    }

    fn nfsv4(entries: &[(u32, u32, &str)]) -> Vec<u8> {
        let mut list = u32::try_from(entries.len()).unwrap().to_be_bytes().to_vec();
        for (kind, rights, who) in entries {
            let length = u32::try_from(who.len()).unwrap();
            for number in [*kind, 0, *rights, length] {
                list.extend(number.to_be_bytes());
            }
            list.extend(who.as_bytes());
            list.resize(list.len().next_multiple_of(4), 0);
        }
        list
    }

    #[test]
    fn a_posix_list_lets_write_whom_it_names_within_its_mask() {
        for (entries, lets) in [
            (&[(1, 6, 0), (4, 6, 0), (0x20, 4, 0)][..], false),
            (&[(USER, 6, 1000), (MASK, 6, 0)], true),
            (&[(USER, 6, 1000), (MASK, 4, 0)], false),
            (&[(USER, 4, 1000), (MASK, 6, 0)], false),
            (&[(USER, 6, 0), (USER, 6, 12345), (MASK, 6, 0)], false),
            (&[(GROUP, 2, 12345)], true),
        ] {
            assert_eq!(
                posix_lets_write(&posix(entries), 12345),
                Some(lets),
                "{entries:?}"
            );
        }
        for nonsense in [&[][..], &[1, 0, 0, 0], &[2, 0, 0, 0, 1]] {
            assert_eq!(posix_lets_write(nonsense, 0), None);
        }
    }

    #[test]
    fn an_nfsv4_list_lets_write_whom_permissions_do_not_show() {
        for (entries, lets) in [
            (&[(0, 0x1f_01ff, "OWNER@"), (0, 0x02, "GROUP@")][..], false),
            (&[(0, 0x02, "alice@example.com")], true),
            (&[(0, 0x01, "alice@example.com")], false),
            (&[(1, 0x02, "alice@example.com")], false),
            (&[(0, 0x04_0000, "EVERYONE@")], true),
            (&[(0, 0x02, "root@example.com"), (0, 0x02, "1000")], false),
        ] {
            assert_eq!(
                nfsv4_lets_write(&nfsv4(entries), 1000),
                Some(lets),
                "{entries:?}"
            );
        }
        assert_eq!(nfsv4_lets_write(&[0, 0, 0, 9], 0), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(list in prop::collection::vec(any::<u8>(), 0..100), us: u32) {
            let _ = (posix_lets_write(&list, us), nfsv4_lets_write(&list, us));
        }
    }
}
