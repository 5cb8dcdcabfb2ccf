//! Likely causes of Xids and SXids, and where NVIDIA describes them. Those of Xids are as NVIDIA's table of Xid errors names
//! them (<https://docs.nvidia.com/deploy/xid-errors/>, release r555). Codes for which it names none are absent.

/// The component of Xids.
pub(super) const XID: &str = "accelerator-nvidia-error-xid";
/// The component of SXids.
pub(super) const SXID: &str = "accelerator-nvidia-error-sxid";

/// A cause, by its letter in [`TABLE`].
static CAUSES: [(char, &str); 7] = [
    ('h', "hardware"),
    ('d', "driver"),
    ('a', "the application"),
    ('m', "corrupted system memory"),
    ('b', "the bus"),
    ('t', "heat"),
    ('f', "corrupted GPU memory"),
];

/// Codes with the same causes.
static TABLE: [(&str, &[i64]); 19] = [
    ("hdambtf", &[13, 109]),
    ("dambtf", &[24]),
    ("dambf", &[25]),
    ("dmbtf", &[32]),
    ("dmbf", &[20, 21, 22]),
    ("dmb", &[37]),
    ("hda", &[31]),
    ("da", &[43, 66, 67, 93]),
    (
        "d",
        &[
            16, 18, 19, 26, 27, 28, 29, 30, 33, 34, 35, 36, 38, 42, 44, 45, 46, 47, 59, 60, 78,
        ],
    ),
    ("h", &[48, 81, 110]),
    (
        "hd",
        &[
            56, 58, 64, 65, 68, 69, 70, 71, 72, 73, 75, 76, 77, 82, 83, 84, 85, 86, 88, 89, 92, 96,
            97, 98, 99, 100, 101, 102, 103, 104, 105, 112, 113, 115, 116, 117, 118, 122, 123, 124,
            125,
        ],
    ),
    ("hdf", &[57, 63, 94, 95, 114]),
    ("hdt", &[62]),
    ("hdb", &[74, 111]),
    ("hdmbt", &[79]),
    ("hdmbf", &[80]),
    ("hdmbtf", &[119, 120]),
    ("hb", &[121]),
    ("a", &[106, 107]),
];

/// Returns the likely causes of an error of a component by its code; empty where NVIDIA names none.
pub fn of(component: &str, code: i64) -> Vec<&'static str> {
    match component {
        XID => of_xid(code),
        SXID => vec!["an NVSwitch", "one of its NVLinks"],
        _ => Vec::new(),
    }
}

/// Returns where NVIDIA describes the codes of a component; empty for a component without codes.
pub fn reference(component: &str) -> &'static str {
    match component {
        XID => "https://docs.nvidia.com/deploy/xid-errors/",
        SXID => "https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/ (SXid errors)",
        _ => "",
    }
}

/// Returns the likely causes of an Xid; empty where NVIDIA names none.
fn of_xid(code: i64) -> Vec<&'static str> {
    let letters = TABLE.iter().find(|(_, codes)| codes.contains(&code));
    let letters = letters.map_or("", |(letters, _)| *letters);
    let named = |letter: char| {
        let found = CAUSES.iter().find(|(known, _)| *known == letter);
        found.map(|(_, words)| *words)
    };
    letters.chars().filter_map(named).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_code_is_there_once_and_each_letter_is_a_cause() {
        let mut seen = BTreeSet::new();
        for (letters, codes) in &TABLE {
            assert!(codes.iter().all(|code| seen.insert(*code)), "{letters}");
            let causes = codes.first().map(|code| of_xid(*code).len());
            assert_eq!(causes, Some(letters.len()), "{letters}");
        }
    }

    #[test]
    fn causes_are_those_of_the_table() {
        assert_eq!(of_xid(48), ["hardware"]);
        assert_eq!(
            of_xid(79),
            [
                "hardware",
                "driver",
                "corrupted system memory",
                "the bus",
                "heat"
            ]
        );
        assert!(of_xid(9999).is_empty());
        assert_eq!(of(XID, 48), ["hardware"]);
        assert_eq!(of(SXID, 12028).len(), 2);
        assert!(of("disk", 48).is_empty() && reference("disk").is_empty());
    }
}
