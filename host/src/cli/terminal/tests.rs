use super::*;

#[test]
fn colour_is_for_terminals_and_those_who_ask() {
    use ColorChoice::{Always, Auto, Never};
    for (choice, no_color, force, term, is_terminal, expected) in [
        (Auto, "", "", "xterm", true, true),
        (Auto, "", "", "xterm", false, false),
        (Auto, "", "", "dumb", true, false),
        (Auto, "1", "", "xterm", true, false),
        (Auto, "1", "1", "xterm", true, false),
        (Auto, "", "1", "xterm", false, true),
        (Auto, "", "0", "xterm", false, false),
        (Always, "1", "", "dumb", false, true),
        (Never, "", "1", "xterm", true, false),
    ] {
        assert_eq!(
            decide(choice, no_color, force, term, is_terminal),
            expected,
            "{choice:?} NO_COLOR={no_color} CLICOLOR_FORCE={force} TERM={term} {is_terminal}"
        );
    }
}

#[test]
fn signs_carry_escapes_only_in_colour() {
    let signs = |color| {
        let terminal = Terminal {
            color,
            ..Terminal::PLAIN
        };
        [terminal.good(), terminal.bad(), terminal.waiting()]
    };
    assert_eq!(signs(false), ["✔", "✘", "⌛"]);
    assert_eq!(
        signs(true),
        [
            "\u{1b}[32m✔\u{1b}[0m",
            "\u{1b}[31m✘\u{1b}[0m",
            "\u{1b}[33m⌛\u{1b}[0m"
        ]
    );
}

#[test]
fn marks_are_signs_on_a_terminal_and_words_elsewhere() {
    let marks = [
        Mark::Bad,
        Mark::Warning,
        Mark::Good,
        Mark::Waiting,
        Mark::Absent,
    ];
    let shown = |terminal: Terminal| marks.map(|mark| terminal.mark(mark)).concat();
    assert_eq!(
        shown(Terminal::PLAIN),
        "unhealthy  degraded   healthy    waiting    absent     "
    );
    assert_eq!(shown(Terminal::with_signs(80)), "✘ ! ✔ ⌛- ");
    let coloured = Terminal {
        color: true,
        ..Terminal::with_signs(80)
    };
    assert_eq!(coloured.mark(Mark::Bad), "\u{1b}[31m✘\u{1b}[0m ");
    assert_eq!(coloured.paint(Mark::Strong, "a"), "\u{1b}[1ma\u{1b}[0m");
    for terminal in [Terminal::PLAIN, coloured] {
        let width = |text: &str| unicode_width::UnicodeWidthStr::width(text);
        let plain = Terminal {
            color: false,
            ..terminal
        };
        for mark in marks {
            assert_eq!(width(&plain.mark(mark)), terminal.mark_width());
        }
    }
}

#[test]
fn how_wide_a_line_may_be() {
    for (columns, terminal, expected) in [
        ("", Some(80), 80),
        ("", None, PIPE_WIDTH),
        ("100", Some(80), 100),
        ("100", None, 100),
        ("0", Some(80), 80),
        ("wide", None, PIPE_WIDTH),
        ("", Some(0), PIPE_WIDTH),
    ] {
        assert_eq!(width(columns, terminal), expected, "{columns} {terminal:?}");
    }
}
