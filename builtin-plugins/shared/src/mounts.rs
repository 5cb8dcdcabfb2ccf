//! Reads the mount points. Source: `/proc/‹pid›/mountinfo` (kernel: `Documentation/filesystems/proc.rst` §3.5).

use gpud_sdk::{AccessError, Health, Report, sysfs};

/// A node with a thousand containers has some 5,000 mounts of 150 bytes.
const MAX_BYTES: u32 = 4 << 20;

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Where.
    pub point: String,
    /// Filesystem type.
    pub fstype: String,
    /// `major:minor`; the same for all mounts of one filesystem.
    pub device: String,
}

/// The text: of process 1, or where it cannot be looked at, of the daemon. Grants: both paths.
///
/// # Errors
/// As [`sysfs::read_to_string`].
pub fn read() -> Result<String, AccessError> {
    sysfs::read_to_string("/proc/1/mountinfo", MAX_BYTES)
        .or_else(|_| sysfs::read_to_string("/proc/self/mountinfo", MAX_BYTES))
}

/// Reads it: `‹id› ‹parent› ‹major›:‹minor› ‹root› ‹point› ‹options› [‹tags›…] - ‹type› ‹source› ‹options›`. Lines that
/// cannot be read are left out. Of several mounts at one place the last is seen, and kept.
pub fn parse(text: &str) -> Vec<Mount> {
    let mut at = std::collections::BTreeMap::new();
    let mut mounts: Vec<Mount> = Vec::new();
    for mount in text.lines().filter_map(parse_line) {
        let place = *at.entry(mount.point.clone()).or_insert(mounts.len());
        match mounts.get_mut(place) {
            Some(hidden) => *hidden = mount,
            None => mounts.push(mount),
        }
    }
    mounts
}

fn parse_line(line: &str) -> Option<Mount> {
    let (before, after) = line.split_once(" - ")?;
    let mut fields = before.split(' ').skip(2);
    let device = fields.next()?.to_owned();
    let point = unescape(fields.nth(1)?);
    let fstype = after.split(' ').next()?.to_owned();
    Some(Mount {
        point,
        fstype,
        device,
    })
}

/// Says in a report that mounts of the machine are not visible from here: what is healthy so far is unknown then. `why`: what
/// the host said of each.
pub fn say_not_visible(report: &mut Report, why: &[String]) {
    let (Some(first), Some(state)) = (why.first(), report.states.first_mut()) else {
        return;
    };
    let more = match why.len() {
        1 => String::new(),
        count => format!("; and {} more", count - 1),
    };
    let text = format!("cannot be judged: {first}{more}");
    if state.health == Health::Healthy {
        state.health = Health::Degraded;
        state.reason = text;
    } else {
        state.reason.push_str(&format!("; {text}"));
    }
    report.supported = true;
}

/// Whether a filesystem is stored on a server or the host.
pub fn is_network(fstype: &str) -> bool {
    matches!(fstype, "wekafs" | "virtiofs" | "lustre") || fstype.starts_with("nfs")
}

/// Space, tab, newline and backslash stand as `\` with three octal digits.
pub fn unescape(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut plain = parts.next().unwrap_or("").to_owned();
    for part in parts {
        let code = part
            .get(..3)
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match (code.filter(u8::is_ascii), part.get(3..)) {
            (Some(code), Some(rest)) => {
                plain.push(char::from(code));
                plain.push_str(rest);
            }
            _ => {
                plain.push('\\');
                plain.push_str(part);
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines() {
        let text = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n\
            30 22 0:25 / /a\\040b rw - tmpfs tmpfs rw,size=1k\n\
            31 22 8:2 / / rw - xfs /dev/sdb rw\nbad\n1 2 3 - x\n";
        let found: Vec<_> = parse(text)
            .into_iter()
            .map(|mount| (mount.point, mount.fstype, mount.device))
            .collect();
        let expected = [("/", "xfs", "8:2"), ("/a b", "tmpfs", "0:25")];
        assert_eq!(
            found,
            expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned()))
        );
    }

    #[test]
    fn a_mount_with_a_name_that_is_not_utf8_is_not_dropped() {
        let text = sysfs::text(b"22 1 8:1 / /d\xffta\\040b rw - ext4 /dev/sda1 rw\n".to_vec());
        let points: Vec<_> = parse(&text).into_iter().map(|mount| mount.point).collect();
        assert_eq!(points, [r"/d\xffta b"]);
    }

    #[test]
    fn what_is_not_visible_is_unknown() {
        let context = gpud_sdk::testing::test_context("disk", 0);
        let mut report = Report::of(gpud_sdk::HealthState::healthy(&context, "ok"));
        say_not_visible(&mut report, &[]);
        assert_eq!(report.states[0].reason, "ok");
        let why = ["/data is not visible from here (x)", "/b"].map(str::to_owned);
        say_not_visible(&mut report, &why);
        assert_eq!(report.states[0].health, Health::Degraded);
        assert_eq!(
            report.states[0].reason,
            "cannot be judged: /data is not visible from here (x); and 1 more"
        );
    }

    #[test]
    fn odd_escapes_stay() {
        for (text, plain) in [
            (r"a\040b", "a b"),
            (r"\134", r"\"),
            (r"a\9", r"a\9"),
            (r"a\", r"a\"),
            (r"\377", r"\377"),
        ] {
            assert_eq!(unescape(text), plain);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in ".{0,200}") {
            parse(&text);
            parse(&format!("1 2 8:1 / {text} rw - ext4 x rw"));
        }
    }
}
