use super::*;

#[test]
fn news_of_a_file() {
    const MIB: u64 = 1 << 20;
    for (before, size, expected) in [
        (None, 100, (0, false)),
        (None, MIB, (MIB - (64 << 10), true)),
        (Some(100), 100, (100, false)),
        (Some(100), 250, (100, false)),
        (Some(100), 20, (0, false)),
        (Some(3 * MIB), 2 * MIB, (MIB, true)),
        (Some(0), 5 * MIB, (4 * MIB, true)),
    ] {
        assert_eq!(part(before, size), expected, "{before:?} {size}");
    }
}

#[test]
fn only_whole_lines() {
    for (bytes, cut, text, to) in [
        ("a\nb\n", false, "a\nb\n", 14),
        ("a\nb", false, "a\n", 12),
        ("a\nb\n", true, "b\n", 14),
        ("ab", false, "", 10),
        ("ab", true, "", 10),
        ("", false, "", 10),
    ] {
        let found = whole_lines(bytes.as_bytes(), 10, cut);
        assert_eq!(found, (text.to_owned(), to), "{bytes}");
    }
}
