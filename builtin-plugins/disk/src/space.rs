//! Filesystems that fill up.

use gpud_sdk::Health;
use gpud_sdk::files::percent;

use crate::config::Config;
use crate::humanize;
use crate::mounts::Partition;

/// A filesystem with little space left.
#[derive(Debug, Clone, PartialEq)]
pub struct Shortage {
    /// How bad it is.
    pub health: Health,
    /// The reason in words.
    pub reason: String,
}

/// Returns the filesystems that are nearly or entirely full, in the order of `partitions`. What is mounted read-only
/// cannot fill up, and one with enough free bytes is never short, however large it is.
pub fn shortages(config: &Config, partitions: &[Partition]) -> Vec<Shortage> {
    partitions
        .iter()
        .filter_map(|partition| shortage(config, partition))
        .collect()
}

fn shortage(config: &Config, partition: &Partition) -> Option<Shortage> {
    let usage = partition.usage.filter(|_| !partition.read_only)?;
    let ignored = config.ignored_mounts.contains(&partition.mount_point);
    if usage.total_bytes == 0 || ignored || usage.free_bytes >= config.enough_free_mib << 20 {
        return None;
    }
    // As df counts: root's reserve is in neither.
    let used = percent(
        usage.used_bytes,
        usage.used_bytes.saturating_add(usage.free_bytes),
    );
    let (health, word) = if used >= f64::from(config.unhealthy_percent) {
        (Health::Unhealthy, "full")
    } else if used >= f64::from(config.degraded_percent) {
        (Health::Degraded, "nearly full")
    } else {
        return None;
    };
    // Rounded down: 99.9 % is not 100 %.
    let reason = format!(
        "{} is {word}: {:.0} % used, {} of {} free ({})",
        partition.mount_point,
        used.floor(),
        humanize::bytes(usage.free_bytes),
        humanize::bytes(usage.total_bytes),
        partition.fstype,
    );
    Some(Shortage { health, reason })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mounts::Usage;

    const GIB: u64 = 1 << 30;

    fn partition(point: &str, used: u64, free: u64) -> Partition {
        Partition {
            device: "/dev/vda".into(),
            fstype: "ext4".into(),
            mount_point: point.into(),
            mounted: true,
            stat_timed_out: false,
            read_only: false,
            // Five percent are root's.
            usage: Some(Usage {
                total_bytes: (used + free) / 19 * 20,
                free_bytes: free,
                used_bytes: used,
            }),
        }
    }

    #[test]
    fn shares_and_free_bytes_decide() {
        let config = Config::default();
        for (used, free, expected) in [
            (100 * GIB, 0, Some(Health::Unhealthy)),
            (100 * GIB, GIB, Some(Health::Unhealthy)),
            (100 * GIB, 2 * GIB, Some(Health::Degraded)),
            (95 * GIB, 5 * GIB, Some(Health::Degraded)),
            (94 * GIB, 6 * GIB, None),
            // One percent of 30 TB is enough for everybody.
            (30_000 * GIB, 300 * GIB, None),
            (0, 0, None),
        ] {
            let found = shortages(&config, &[partition("/data", used, free)]);
            let health = found.first().map(|found| found.health.clone());
            assert_eq!(health, expected, "{used} {free}: {found:?}");
        }
        let found = shortages(&config, &[partition("/data", 100 * GIB, 0)]);
        assert_eq!(
            found[0].reason,
            "/data is full: 100 % used, 0 B of 105 GiB free (ext4)"
        );
    }

    #[test]
    fn read_only_ignored_and_unread_ones_are_not_judged() {
        let mut image = partition("/image", 100 * GIB, 0);
        image.read_only = true;
        let mut unread = partition("/unread", 0, 0);
        unread.usage = None;
        let config = Config {
            ignored_mounts: vec!["/scratch".into()],
            ..Config::default()
        };
        let scratch = partition("/scratch", 100 * GIB, 0);
        assert_eq!(shortages(&config, &[image, unread, scratch]), []);
    }

    #[test]
    fn thresholds_are_the_sites() {
        let config = Config {
            degraded_percent: 50,
            unhealthy_percent: 60,
            enough_free_mib: 1 << 30,
            ..Config::default()
        };
        let judged = |used, free| {
            let found = shortages(&config, &[partition("/data", used * GIB, free * GIB)]);
            found.first().map(|found| found.health.clone())
        };
        assert_eq!(judged(49, 51), None);
        assert_eq!(judged(50, 50), Some(Health::Degraded));
        assert_eq!(judged(60, 40), Some(Health::Unhealthy));
    }
}
