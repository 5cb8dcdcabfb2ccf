//! Names of objects: folders by time, cluster and node, as Hive, Athena and their like read them as columns.

use crate::UnixMillis;

/// The folders by time, if the settings do not say otherwise.
pub(crate) const BY_HOUR: &str = "year=%Y/month=%m/day=%d/hour=%H";
/// Longest prefix or pattern, bytes.
const MAX_LENGTH: usize = 400;

/// Checks a pattern of folders by time.
pub(crate) fn check_pattern(pattern: &str) -> Result<(), String> {
    let mut plain = pattern.to_owned();
    for code in ["%Y", "%m", "%d", "%H"] {
        plain = plain.replace(code, "0");
    }
    if plain.contains('%') {
        return Err(format!(
            "partition {pattern:?} has something else than %Y, %m, %d and %H"
        ));
    }
    check_path("partition", &plain)
}

/// Checks a prefix or a pattern: folders with slashes between them.
pub(crate) fn check_path(key: &str, path: &str) -> Result<(), String> {
    let is_bad = |part: &str| part.is_empty() || part == "." || part == "..";
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.=/!+@:,".contains(c);
    if path.len() > MAX_LENGTH || !path.chars().all(fits) || path.split('/').any(is_bad) {
        return Err(format!(
            "{key} {path:?} is no path such as `a/b`: letters, digits and -_.=!+@:, in folders with names"
        ));
    }
    Ok(())
}

/// Returns the folder of something that happened at `time`, UTC.
pub(crate) fn folder(
    prefix: &str,
    pattern: &str,
    time: UnixMillis,
    cluster: &str,
    node: &str,
) -> String {
    let time = utc(time);
    let by_time = pattern
        .replace("%Y", &format!("{:04}", time.year()))
        .replace("%m", &format!("{:02}", time.month()))
        .replace("%d", &format!("{:02}", time.day()))
        .replace("%H", &format!("{:02}", time.hour()));
    let (cluster, node) = (value(cluster), value(node));
    let folder = format!("{by_time}/cluster={cluster}/node={node}");
    match prefix.is_empty() {
        true => folder,
        false => format!("{prefix}/{folder}"),
    }
}

/// Returns a file name of a time, UTC, such as `20260921-141320.123`.
pub(crate) fn file_name(time: UnixMillis) -> String {
    let time = utc(time);
    format!(
        "{:04}{:02}{:02}-{:02}{:02}{:02}.{:03}",
        time.year(),
        time.month(),
        time.day(),
        time.hour(),
        time.minute(),
        time.second(),
        time.millisecond()
    )
}

/// Returns a time in UTC. One that no calendar has becomes the last one it has.
fn utc(time: UnixMillis) -> jiff::civil::DateTime {
    let millis = i64::try_from(time).unwrap_or(i64::MAX);
    let time = jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::MAX);
    time.to_zoned(jiff::tz::TimeZone::UTC).datetime()
}

/// Returns a name with characters only that need no escape in any of the tools that read such names.
fn value(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    match name.is_empty() {
        true => "unknown".to_owned(),
        false => name.replace(|c| !fits(c), "_"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn folders_are_by_time_cluster_and_node() {
        // 2026-09-01T05:13:20Z
        let time = 1_788_239_600_000;
        assert_eq!(
            folder("", BY_HOUR, time, "c1", "node-7.example.com"),
            "year=2026/month=09/day=01/hour=05/cluster=c1/node=node-7.example.com"
        );
        assert_eq!(
            folder("gpud/x", "%Y%m%d", time, "a/b=c", ""),
            "gpud/x/20260901/cluster=a_b_c/node=unknown"
        );
    }

    #[test]
    fn patterns_and_prefixes_are_checked() {
        check_pattern(BY_HOUR).unwrap();
        check_path("prefix", "a/b-c").unwrap();
        for pattern in ["%M", "year=%", "%Y//x", "/x", "x/", "", "%é"] {
            assert!(check_pattern(pattern).is_err(), "{pattern}");
        }
        for prefix in ["../x", "a/./b", "a\nb", "a//b", "a%20b"] {
            assert!(check_path("prefix", prefix).is_err(), "{prefix}");
        }
    }

    proptest! {
        #[test]
        fn no_name_leaves_its_folder(cluster in ".{0,20}", node in ".{0,20}", time in any::<u64>()) {
            let folder = folder("p", BY_HOUR, time, &cluster, &node);
            prop_assert_eq!(folder.split('/').count(), 7);
            prop_assert!(folder.is_ascii());
        }
    }
}
