//! Numbered errors of NVIDIA's driver in words: what an Xid or SXid says of its device.

/// What a GPU did, for the codes that operators meet; NVIDIA's catalogue has the sources.
const PHRASES: &[(u32, &str)] = &[
    (8, "stopped responding"),
    (13, "met an exception of an application"),
    (31, "met a memory access fault of an application"),
    (32, "got a corrupted command buffer"),
    (38, "met a firmware error of the driver"),
    (43, "stopped processing an application"),
    (44, "met a hardware fault"),
    (45, "had applications ended"),
    (46, "stopped processing"),
    (48, "met an uncorrectable memory error"),
    (54, "lacks auxiliary power"),
    (61, "stopped its microcontroller"),
    (62, "halted its microcontroller"),
    (63, "remapped memory"),
    (64, "failed to remap memory"),
    (68, "met a video processor exception"),
    (69, "met an exception of its graphics engine"),
    (74, "met an NVLink error"),
    (79, "fell off the bus"),
    (92, "has a high rate of corrected memory errors"),
    (94, "met a contained memory error"),
    (95, "met an uncontained memory error"),
    (109, "timed out on a context switch"),
    (110, "met a security fault"),
    (119, "did not get an answer from its system processor (GSP)"),
    (120, "met an error of its system processor (GSP)"),
    (121, "met a corrected error of its link to the CPU (C2C)"),
    (122, "met an error of its serial flash"),
    (123, "met an error of its power management unit"),
    (136, "failed to train a link"),
    (137, "got an NVLink fault from another GPU"),
    (140, "met uncorrected memory errors"),
    (143, "failed to start"),
    (154, "asks for a recovery action"),
    (156, "met resource retirement"),
    (158, "met a fatal time-out"),
];

/// Codes of NVLink 5 units.
const NVLINK: std::ops::RangeInclusive<u32> = 144..=150;

/// A numbered error that a text reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Code<'t> {
    /// `Xid` or `SXid`.
    family: &'static str,
    number: u32,
    /// The driver's or catalogue's short text; may be empty.
    label: &'t str,
}

impl<'t> Code<'t> {
    /// Reads `XID 79 MNEMONIC label detected on GPU …` or `SXID 12028(name) detected on …`.
    pub(super) fn read(text: &'t str) -> Option<Self> {
        let (family, rest) = match text.strip_prefix("SXID ") {
            Some(rest) => ("SXid", rest),
            None => ("Xid", text.strip_prefix("XID ")?),
        };
        let (head, _) = rest.split_once(" detected on ")?;
        let end = head.find(|c: char| !c.is_ascii_digit());
        let (digits, label) = head.split_at_checked(end.unwrap_or(head.len()))?;
        Some(Self {
            family,
            number: digits.parse().ok()?,
            label: label_of(label),
        })
    }

    /// The code.
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// What the device did: `fell off the bus: Xid 79`.
    pub(super) fn phrase(&self) -> String {
        let Self {
            family,
            number,
            label,
        } = self;
        let mut known = PHRASES.iter().filter(|_| *family == "Xid");
        let phrase = known.find(|(code, _)| code == number);
        let phrase = match phrase {
            Some((_, phrase)) => Some(*phrase),
            None if *family == "Xid" && NVLINK.contains(number) => Some("met an NVLink error"),
            None => None,
        };
        match phrase {
            Some(phrase) => format!("{phrase}: {family} {number}"),
            None if label.is_empty() => format!("reported {family} {number}"),
            None => format!("reported {family} {number}: {label}"),
        }
    }
}

/// The short text without the mnemonic in capitals, the sub-code and parentheses around it all.
fn label_of(text: &str) -> &str {
    let mut label = text.trim();
    if let Some(sub) = label.strip_prefix('.') {
        label = sub.trim_start_matches(|c: char| c.is_ascii_digit()).trim();
    }
    if label.starts_with("(err status") {
        label = label.split_once(')').map_or("", |(_, rest)| rest).trim();
    }
    if let Some((first, rest)) = label.split_once(' ')
        && is_mnemonic(first)
    {
        label = rest.trim();
    }
    match label
        .strip_prefix('(')
        .and_then(|inner| inner.strip_suffix(')'))
    {
        Some(inner) => inner,
        None => label,
    }
}

fn is_mnemonic(word: &str) -> bool {
    word.contains('_')
        && word
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_names_its_device() {
        for (text, expected) in [
            (
                "XID 79 ROBUST_CHANNEL_GPU_HAS_FALLEN_OFF_THE_BUS GPU has fallen off the bus detected on GPU PCI:0000:4b:00 UUID:GPU-1",
                Some("fell off the bus: Xid 79"),
            ),
            (
                "XID 145.5 (err status 0x00000004) RLW_CTRL x detected on GPU PCI:0000:4b:00",
                Some("met an NVLink error: Xid 145"),
            ),
            (
                "XID 7 A_B Odd thing detected on GPU PCI:0000:4b:00",
                Some("reported Xid 7: Odd thing"),
            ),
            ("XID 7 detected on GPU x", Some("reported Xid 7")),
            (
                "SXID 12028(egress non-posted PRIV error) detected on PCI:0000:c4:00.0",
                Some("reported SXid 12028: egress non-posted PRIV error"),
            ),
            ("SXID 79(x) detected on y", Some("reported SXid 79: x")),
            ("XID x detected on y", None),
            ("XID 99999999999 detected on y", None),
            ("XID 79", None),
            ("XIDComponent is healthy", None),
        ] {
            let phrase = Code::read(text).map(|code| code.phrase());
            assert_eq!(phrase.as_deref(), expected, "{text}");
        }
    }
}
