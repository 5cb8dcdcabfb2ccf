//! How full the event log is: `ipmitool sel info` (ipmitool(1)), lines `‹what› : ‹value›`.

/// What it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Info {
    /// Entries in the log.
    pub entries: Option<u64>,
    /// How full it is, percent; some controllers do not know.
    pub used_percent: Option<u64>,
    /// Entries were lost for lack of room.
    pub overflow: bool,
}

/// Reads it; what is not there is not known.
pub fn parse(text: &str) -> Info {
    let mut info = Info::default();
    for (key, value) in text.lines().filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        match key.trim() {
            "Entries" => info.entries = value.parse().ok(),
            "Percent Used" => {
                let percent = value
                    .strip_suffix('%')
                    .and_then(|number| number.parse().ok());
                info.used_percent = percent.filter(|percent| *percent <= 100);
            }
            "Overflow" => info.overflow = value == "true",
            _ => {}
        }
    }
    info
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_ipmitool_says() {
        let text = "SEL Information\nVersion          : 1.5 (v1.5, v2 compliant)\nEntries          : 37\n\
            Free Space       : 15792 bytes \nPercent Used     : 3%\nLast Add Time    : 03/04/2024 10:11:12\n\
            Overflow         : true\nSupported Cmds   : 'Delete' 'Reserve' \n";
        let info = Info {
            entries: Some(37),
            used_percent: Some(3),
            overflow: true,
        };
        assert_eq!(parse(text), info);
        assert_eq!(
            parse("Percent Used     : unknown\nOverflow : false"),
            Info::default()
        );
        assert_eq!(parse("Percent Used : 900%").used_percent, None);
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[ -~:%\n]{0,200}") {
            let info = parse(&text);
            prop_assert!(info.used_percent.is_none_or(|percent| percent <= 100));
        }
    }
}
