//! `inodes`: filesystems that have space left and no room for another file.

pub mod evaluate;

use gpud_builtin_shared::mounts;
use gpud_sdk::findings;
use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, Report, log, sysfs};

use evaluate::{Config, Filesystem, SCHEMA};

/// Filesystems that are looked at.
const MAX_FILESYSTEMS: usize = 128;

/// The checker.
pub struct Inodes;

impl Checker for Inodes {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        let mounts = mounts::parse(&mounts::read()?);
        let mut found = Vec::new();
        let (mut unread, mut not_visible) = (Vec::new(), Vec::new());
        let mut chosen = evaluate::chosen(&mounts);
        chosen.truncate(MAX_FILESYSTEMS);
        let points: Vec<String> = chosen.iter().map(|mount| mount.point.clone()).collect();
        for (mount, usage) in chosen.into_iter().zip(sysfs::statvfs_all(&points)?) {
            match usage {
                Ok(usage) => found.extend(Filesystem::new(mount, &usage)),
                // Unmounted in the meantime, or of another mount namespace.
                Err(AccessError::NotFound(_)) => {}
                Err(AccessError::Other(why)) => not_visible.push(why),
                Err(error) => {
                    log!(warn, "{}: {}", mount.point, error.text());
                    unread.push(mount.point.clone());
                }
            }
        }
        let mut report = findings::check(|before| {
            Ok(evaluate::judge(context, &config, &found, &unread, before))
        })?;
        mounts::say_not_visible(&mut report, &not_visible);
        Ok(report)
    }
}

gpud_sdk::member!("inodes" => Inodes: Descriptor::new("inodes", "Room for more files on local filesystems")
    .metric(evaluate::TOTAL, "Inodes of the filesystem")
    .metric(evaluate::FREE, "Free inodes of the filesystem")
    .metric(evaluate::PERCENT, "Used inodes in percent")
    .config_schema(SCHEMA));
