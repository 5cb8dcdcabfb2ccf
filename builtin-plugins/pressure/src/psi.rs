//! A file of `/proc/pressure`: `‹some or full› avg10=‹percent› avg60=‹percent› avg300=‹percent› total=‹microseconds›`.

/// The resources that can be short.
pub const RESOURCES: [&str; 3] = ["cpu", "memory", "io"];

/// Its file.
pub fn path(resource: &str) -> String {
    format!("/proc/pressure/{resource}")
}

/// One line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// All tasks that were not idle waited; else, at least one did.
    pub full: bool,
    /// Share of the last five minutes, percent.
    pub percent: f64,
    /// Since boot, microseconds.
    pub total: u64,
}

/// The lines that can be read.
pub fn parse(text: &str) -> Vec<Line> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Line> {
    let mut words = line.split_ascii_whitespace();
    let full = match words.next()? {
        "some" => false,
        "full" => true,
        _ => return None,
    };
    let (mut percent, mut total) = (None, None);
    for (key, value) in words.filter_map(|word| word.split_once('=')) {
        match key {
            "avg300" => {
                percent = value
                    .parse()
                    .ok()
                    .filter(|p: &f64| (0.0..=100.0).contains(p))
            }
            "total" => total = value.parse().ok(),
            _ => {}
        }
    }
    Some(Line {
        full,
        percent: percent?,
        total: total?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines() {
        let text = "some avg10=1.00 avg60=2.00 avg300=3.50 total=123456\nfull avg10=0.00 avg60=0.00 avg300=0.25 total=99\n";
        let line = |full, percent, total| Line {
            full,
            percent,
            total,
        };
        for (text, expected) in [
            (text, vec![line(false, 3.5, 123_456), line(true, 0.25, 99)]),
            (
                "some avg10=0.00 avg60=0.00 avg300=0.00 total=0",
                vec![line(false, 0.0, 0)],
            ),
            ("half avg300=1 total=1", vec![]),
            ("some avg300=101 total=1", vec![]),
            ("some avg300=nan total=1", vec![]),
            ("some avg300=1", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in ".{0,80}", value in "[-+.0-9einfa]{0,12}") {
            parse(&text);
            for line in parse(&format!("some avg300={value} total={value}")) {
                prop_assert!(line.percent.is_finite());
            }
        }
    }
}
