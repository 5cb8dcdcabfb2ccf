//! Lines in all forms, and what is no line.

use super::*;

mod extended_lines;
mod properties;

fn all(text: &str) -> Option<Line<'_>> {
    parse(text, |_| true)
}

fn general(device: &str, code: u64) -> Option<Line<'_>> {
    Some(Line {
        device: device.into(),
        instance: "",
        code,
        extended: None,
    })
}

fn extended<'a>(
    device: &'a str,
    code: u64,
    unit: &'a str,
    fatal: bool,
    words: (u32, u32),
) -> Option<Line<'a>> {
    let extended = Extended {
        unit,
        fatal,
        intrinfo: words.0,
        status: words.1,
    };
    Some(Line {
        device: device.into(),
        instance: "",
        code,
        extended: Some(extended),
    })
}

#[test]
fn general_form() {
    for (text, expected) in [
        (
            "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
            general("PCI:0000:3b:00", 79),
        ),
        (
            "NVRM: Xid (PCI:0000:c1:00): 94, pid=7741, name=python3.11, Contained: SM (0x1). RST: No, D-RST: No",
            general("PCI:0000:c1:00", 94),
        ),
        (
            "NVRM: Xid (0000:41:00): 31, Ch 00000010, intr 10000000. MMU Fault: ENGINE GRAPHICS",
            general("0000:41:00", 31),
        ),
        (
            "NVRM: Xid (PCI:0000:04:00): 63, unknown",
            general("PCI:0000:04:00", 63),
        ),
        // Kept as written; what is between is not looked at.
        (
            "NVRM: Xid (PCI:00000000:3B:00): 13, x\\x0a",
            general("PCI:00000000:3B:00", 13),
        ),
        (
            "NVRM: Xid (PCI:0000:3b:00) x: 7 y: 8, z: 9,",
            general("PCI:0000:3b:00", 8),
        ),
        (
            "NVRM: Xid (PCI:0000:3b:00): 12x, y: 13, z",
            general("PCI:0000:3b:00", 13),
        ),
        (
            "NVRM: Xid (PCI:0000:3b:00):\t12, a: 13,",
            general("PCI:0000:3b:00", 13),
        ),
        // The driver's own line counts, whatever follows.
        (
            "NVRM: Xid (3b:00): 31, pid=1, name=NVRM: Xid (4c:0, NVRM: Xid (PCI:0000:4c:00): 79, a",
            general("3b:00", 31),
        ),
    ] {
        assert_eq!(all(text), expected, "{text}");
    }
}

#[test]
fn what_gpud_drops_and_drivers_print() {
    for (text, device, instance, code) in [
        // MIG.
        (
            "NVRM: Xid (PCI:0000:3b:00 GPU-I:05): 43, pid=1, name=a, b",
            "PCI:0000:3b:00",
            "GPU-I:05",
            43,
        ),
        (
            "NVRM: Xid (PCI:0000:3b:00 GPU-I:05 GPU-CI:00): 31, pid=1, name=a, b",
            "PCI:0000:3b:00",
            "GPU-I:05 GPU-CI:00",
            31,
        ),
        // Functions: 0 is the GPU, others are virtual.
        (
            "NVRM: Xid (PCI:0000:3b:00.0): 79, x",
            "PCI:0000:3b:00",
            "",
            79,
        ),
        ("NVRM: Xid (0000:3B:00.0): 79, x", "0000:3B:00", "", 79),
        (
            "NVRM: Xid (PCI:0000:3b:00.4): 79, x",
            "PCI:0000:3b:00.4",
            "",
            79,
        ),
        // No comma.
        ("NVRM: Xid (PCI:0000:3b:00): 79", "PCI:0000:3b:00", "", 79),
        (
            "NVRM: Xid (PCI:0000:3b:00): 79\nmore",
            "PCI:0000:3b:00",
            "",
            79,
        ),
        (
            "NVRM: Xid (PCI:0000:3b:00): 79 GPU lost",
            "PCI:0000:3b:00",
            "",
            79,
        ),
        (
            "NVRM: Xid (PCI:0000:3b:00): 79 pid=1: 5, x",
            "PCI:0000:3b:00",
            "",
            79,
        ),
    ] {
        let expected = Line {
            device: device.into(),
            instance,
            code,
            extended: None,
        };
        assert_eq!(all(text), Some(expected), "{text}");
    }
}

#[test]
fn off_the_bus() {
    for (text, device) in [
        (
            "NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.",
            "PCI:0000:3b:00",
        ),
        (
            "NVRM:GPU 3b:00.0:GPU has fallen off the bus",
            "PCI:0000:3b:00",
        ),
        (
            "NVRM:  GPU 0018:C1:00.0: \t GPU has fallen off the bus",
            "PCI:0018:C1:00",
        ),
        (
            "NVRM: GPU 00000018:c1:00.0: GPU has fallen off the bus",
            "PCI:00000018:c1:00",
        ),
        (
            "NVRM: The NVIDIA GPU 0000:9b:00.0\\x0aNVRM: (PCI ID: 10de:2330) installed in this system has\\x0aNVRM: fallen off the bus and is not responding to commands.",
            "PCI:0000:9b:00",
        ),
        (
            "NVRM: The NVIDIA GPU 0000:9b:00.0\nNVRM: has\nNVRM: fallen off the bus and is not responding to commands.",
            "PCI:0000:9b:00",
        ),
        // The GPU that the message is about, whatever other devices it names.
        (
            "NVRM: The NVIDIA GPU 0000:01:00.0 NVRM: GPU 02:00.0: GPU has fallen off the bus and fallen off the bus and is not responding to commands.",
            "PCI:0000:01:00",
        ),
    ] {
        assert_eq!(all(text), general(device, 79), "{text}");
    }
}

#[test]
fn other_lines_are_ignored() {
    let long = format!("NVRM: Xid (PCI:{}): 79, x", "0".repeat(100));
    for text in [
        "",
        "NVRM: Xid",
        "NVRM: Xid (",
        "NVRM: Xid (PCI:0000:3b:00",
        "NVRM: Xid (PCI:0000:3b:00)",
        "NVRM: Xid (PCI:0000:3b:00): , x",
        "NVRM: Xid (PCI:0000:3b:00): x",
        "NVRM: Xid (PCI:0000:3b:00):79, x",
        "NVRM: Xid (PCI:0000:3b:00): -79, x",
        "NVRM: Xid (PCI:0000:3b:00): 0, x",
        "NVRM: Xid (PCI:0000:3b:00): 0, x: 79, y",
        "NVRM: Xid (PCI:0000:3b:00): 79.5",
        "NVRM: Xid (PCI:0000:3b:00): \u{663}, x",
        "NVRM: Xid (PCI:0000:3b:00)\n: 79, x",
        "NVRM: Xid (): 79, x",
        // Within other lines.
        "[ 12.5] NVRM: Xid (PCI:0000:3b:00): 79, x",
        "x NVRM: Xid (PCI:0000:3b:00): 79, x",
        "NVRM: NVRM: Xid (PCI:0000:3b:00): 79, x",
        "NVRM: Xid (PCI:0000:01:00)\nNVRM: Xid (PCI:0000:02:00): 31, a",
        "NVRM: Xid (PCI:0000:01:00): 0, NVRM: GPU 3b:00.0: GPU has fallen off the bus",
        "NVRM: Xid (PCI:0000:01:00): 99999999999999999999, NVRM: GPU 3b:00.0: GPU has fallen off the bus",
        "x NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus",
        "x NVRM: The NVIDIA GPU 0000:9b:00.0 has fallen off the bus and is not responding to commands.",
        // Too short for the id of a GPU: what the name of a process has room for.
        "NVRM: Xid (3b): 79, x",
        "NVRM: Xid (3b):[311]: segfault at 0 ip 0 sp 0 error 4 in x: 79, y[400000+1000]",
        "NVRM: Xid (PCI:): 79, x",
        "NVRM: Xid (PCI:0000:3g:00): 79, x",
        "NVRM: Xid (pci:0000:3b:00): 79, x",
        "NVRM: Xid (PCI:0000:3b:00.): 79, x",
        "NVRM: Xid(PCI:0000:3b:00): 79, x",
        "NVRM: xid (PCI:0000:3b:00): 79, x",
        "NVRM:  Xid (PCI:0000:3b:00): 79, x",
        "nvidia-nvswitch3: SXid (PCI:0000:c3:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
        "NVRM: GPU 0000:3b:00.1: GPU has fallen off the bus",
        "NVRM: GPU 000:3b:00.0: GPU has fallen off the bus",
        "NVRM: GPU 0000:0000:3b:00.0: GPU has fallen off the bus",
        "NVRM: GPU 0000:3b:00: GPU has fallen off the bus",
        "NVRM: GPU 0000:3b:00.0: GPU is not lost",
        "NVRM: GPU at 0000:3b:00.0: GPU has fallen off the bus",
        "GPU 0000:3b:00.0: GPU has fallen off the bus",
        "NVRM: The NVIDIA GPU 0000:9b:00.0",
        "NVRM: fallen off the bus and is not responding to commands.",
        "NVRM: The NVIDIA GPU 0000:9b:00.0 has fallen off the bus and is not responding to commands!",
        long.as_str(),
    ] {
        assert_eq!(all(text), None, "{text}");
    }
}
