use super::*;
use proptest::prelude::*;
use regex::Regex;
use std::sync::LazyLock;

static DELIVERED: LazyLock<Regex> = LazyLock::new(|| Regex::new(&PATTERNS.join("|")).unwrap());
/// The expression that GPUd's behaviour implies; nothing else is read but the other two forms.
static SEGFAULT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"segfault at.*in libnccl\.so").unwrap());
/// The other two forms.
static OTHERS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
            r"\] general protection(?: fault)? ip:.* in libnccl\.so|\]: unhandled exception: .*(?:translation|permission|access flag) fault in libnccl\.so",
        )
        .unwrap()
});

#[test]
fn crashes() {
    for line in [
        "python3[88121]: segfault at 7f00a1c00000 ip 00007f03b2a41c10 sp 00007efe5cdf7b90 error 6 in libnccl.so.2.21.5[7f03b1a00000+e1a4000]",
        "pt_main_thread[2536443]: segfault at 7f797fe00000 ip 00007f7c7ac69996 sp 00007f7c12fd7c30 error 4 in libnccl.so.2[7f7c7ac00000+d3d3000]",
        "python3[88121]: segfault at 0 ip 00007f03b2a41c10 sp 00007efe5cdf7b90 error 6 in libnccl.so.2.26.2[41c10,7f03b1a00000+e1a4000] likely on CPU 17 (core 17, socket 0)",
        "test[1234]: segfault at 0x12345678 ip 0x87654321 sp 0x7fff12345678 error 4 in libnccl.so.2.19.3",
        "segfault at 123 in libnccl.so.2",
        "traps: python3[88121] general protection fault ip:7f03b2a41c10 sp:7efe5cdf7b90 error:0 in libnccl.so.2.21.5[7f03b1a00000+e1a4000]",
        "traps: python3[88121] general protection ip:7f03b2a41c10 sp:7efe5cdf7b90 error:0 in libnccl.so.2.8.4[7f03b1a00000+e1a4000]",
        "python3[4411]: unhandled exception: DABT (lower EL), ESR 0x0000000092000006, level 2 translation fault in libnccl.so.2.25.1[ffff9c000000+f1e0000]",
        "python3[4411]: unhandled exception: DABT (lower EL), ESR 0x000000009200004f, level 3 permission fault in libnccl.so.2.25.1[ffff9c000000+f1e0000]",
    ] {
        assert!(is_crash(line), "{line}");
        assert!(DELIVERED.is_match(line), "{line}");
    }
}

#[test]
fn lookalikes() {
    for line in [
        "",
        "python3[88121]: segfault at 0 ip 00007f03b2a41c10 sp 00007efe5cdf7b90 error 6 in libc.so.6[7f03b1a00000+195000]",
        "python3[88121]: segfault at 0 ip 0 sp 00007efe5cdf7b90 error 14 in python3.11[400000+1000]",
        "python3[88121]: segfault at 0 ip 0 sp 00007efe5cdf7b90 error 4 in libnccl-net.so[7f03b1a00000+1000]",
        "python3[88121]: segfault at 0\nx in libnccl.so.2",
        "x in libnccl.so.2: segfault at 0 ip 0",
        "x[1]: segfault at 0 ip 0 sp 0 error 4 in y in libnccl.so.2[7f+1]",
        "x[1]: segfault at 0 ip 0 sp 0 error 4 in y[2]: segfault at 0 in libnccl.so.2[7f+1]",
        "tmpfs: Unknown parameter 'x[1]: segfault at 0 ip 0 sp 0 error 4 in libnccl.so.2'",
        "python3[88121]: Segfault at 0 ip 0 in libnccl.so.2",
        "traps: python3[88121] trap invalid opcode ip:7f03b2a41c10 sp:7efe5cdf7b90 error:0 in libnccl.so.2[7f03b1a00000+e1a4000]",
        "traps: python3[88121] general protection fault ip:7f03b2a41c10 sp:7efe5cdf7b90 error:0 in libc.so.6[7f03b1a00000+e1a4000]",
        "general protection fault, probably for non-canonical address 0xdead: 0000 [#1] SMP in libnccl.so",
        "python3[4411]: unhandled exception: SP/PC alignment in libnccl.so.2[ffff9c000000+f1e0000]",
        "python3[4411]: unhandled exception: DABT (lower EL), ESR 0x92000006, level 2 translation fault in libc.so.6[ffff9c000000+f1e0000]",
        "NCCL WARN Failed to open libnccl.so",
    ] {
        assert!(!is_crash(line), "{line}");
    }
}

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "python3[1]: ",
        "traps: x[2]",
        "]",
        ": ",
        " ",
        "segfault at",
        " 0 ip 1",
        "in libnccl",
        " in libnccl.so",
        "in libnccl.so.2[7f+1]",
        "] general protection",
        " fault",
        " ip:7f",
        "]: unhandled exception: ",
        "level 1 translation fault",
        "permission fault in libnccl.so",
        "access flag",
        "\n",
        "é",
    ]);
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

#[test]
fn each_pattern_has_a_line_and_a_lookalike() {
    let lines = [
        (
            "python3[311]: segfault at 0 ip 00007f sp 00007f error 4 in libnccl.so.2.19.3[7f+1]",
            "python3[311]: segfault at 0 ip 00007f sp 00007f error 4 in libc.so.6[7f+1]",
        ),
        (
            "traps: python3[311] general protection fault ip:7f sp:7f error:0 in libnccl.so.2[7f+1]",
            "traps: python3[311] general protection fault ip:7f sp:7f error:0 in libcuda.so.1[7f+1]",
        ),
        (
            "python3[311]: unhandled exception: DABT (lower EL), ESR 0x92000006, level 2 translation fault in libnccl.so.2[ffff+1]",
            "python3[311]: unhandled exception: DABT (lower EL), ESR 0x92000006, level 2 translation fault in libc.so.6[ffff+1]",
        ),
    ];
    assert_eq!(lines.len(), PATTERNS.len());
    for (pattern, (line, lookalike)) in PATTERNS.iter().zip(lines) {
        let regex = Regex::new(pattern).unwrap();
        assert!(regex.is_match(line), "{pattern}: {line}");
        assert!(!regex.is_match(lookalike), "{pattern}: {lookalike}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn agrees_with_the_reference(text in pieces()) {
        if is_crash(&text) {
            prop_assert!(SEGFAULT.is_match(&text) || OTHERS.is_match(&text));
        }
    }

    #[test]
    fn every_line_that_matters_is_delivered(text in pieces()) {
        let first = text.split('\n').next().unwrap();
        if is_crash(first) {
            prop_assert!(DELIVERED.is_match(first), "{first:?}");
        }
    }

    #[test]
    fn any_text_is_survived(text in "\\PC{0,200}") {
        is_crash(&text);
    }
}
