use super::*;

#[test]
fn the_kernels_escapes_are_decoded_once() {
    for (raw, decoded) in [
        (&b"rcu: \\x097-....: (x)"[..], "rcu: \t7-....: (x)"),
        (b"\\x09md: raid", "\tmd: raid"),
        (b"a\\x5cb caf\\xc3\\xa9", "a\\b caf\u{e9}"),
        // Decoded once: what was a backslash and three characters stays that.
        (b"\\x5cx41", "\\x41"),
        // What would break the line or drive a terminal, and what is no UTF-8.
        (
            b"one\\x0atwo \\x1b[31m \\x00 \\xff",
            "one\\x0atwo \\x1b[31m \\x00 \\xff",
        ),
        (b"\\xc2\\x85 \\x7f", "\\xc2\\x85 \\x7f"),
        (b"raw \xff and \xc3\xa9", "raw \\xff and \u{e9}"),
        // No escapes.
        (b"\\ \\x \\xg0 \\x0", "\\ \\x \\xg0 \\x0"),
        (b"", ""),
    ] {
        assert_eq!(text(raw, Escapes::Decode), decoded);
    }
    assert_eq!(text(b"C:\\x41\n", Escapes::None), "C:\\x41\\x0a");
    for text_of in ["\ta\\b caf\u{e9} \\x0a", ""] {
        assert_eq!(text(escape(text_of).as_bytes(), Escapes::Decode), text_of);
    }
}

#[test]
fn tabs_at_the_beginning_are_layout() {
    assert_eq!(without_layout("\t\tNVRM: a\tb\t"), "NVRM: a\tb\t");
    assert_eq!(without_layout(" \tx"), " \tx");
    assert_eq!(without_layout("\t"), "");
}

#[test]
fn most_texts_are_not_copied() {
    let plain = b"NVRM: Xid (PCI:0000:3b:00): 79\tx";
    assert!(matches!(text(plain, Escapes::Decode), Cow::Borrowed(_)));
    assert!(matches!(text(b"a\\b", Escapes::None), Cow::Borrowed(_)));
}
