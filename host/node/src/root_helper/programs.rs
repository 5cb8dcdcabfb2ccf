//! The programs that the root helper runs for checks: each with the only arguments that it may get.
//!
//! These are the questions of the built-in checkers `disk-smart` and `ipmi`, none of which changes the machine. Whichever
//! checker asks one of them, it was granted the program, and the answer is the same.

/// In the place of an argument: a disk, such as `/dev/nvme0`.
const DISK: &str = "‹disk›";
/// The folder of disks.
const DEVICES: &str = "/dev/";
/// Longest name of a disk.
const MAX_NAME: usize = 32;

/// Names and arguments.
const PROGRAMS: &[(&str, &[&str])] = &[
    (
        "smartctl",
        &[
            "--json=c",
            "--nocheck=standby",
            "--info",
            "--health",
            "--attributes",
            "--log=error",
            "--log=defects",
            DISK,
        ],
    ),
    ("nvme", &["smart-log", "--output-format=json", DISK]),
    (
        "ipmitool",
        &["-I", "open", "-c", "sel", "list", "last", "128"],
    ),
    ("ipmitool", &["-I", "open", "-c", "sdr", "list", "full"]),
    ("ipmitool", &["-I", "open", "sdr", "type", "Power Supply"]),
];

/// Returns whether the helper runs this program with these arguments.
pub fn is_listed(name: &str, arguments: &[String]) -> bool {
    PROGRAMS.iter().any(|(program, words)| {
        *program == name
            && words.len() == arguments.len()
            && words
                .iter()
                .zip(arguments)
                .all(|(word, argument)| match *word {
                    DISK => is_disk(argument),
                    word => word == argument,
                })
    })
}

/// Returns whether this is the path of an NVMe, SCSI or SATA disk, by the kernel's name. Opening another device can do
/// something: a watchdog restarts the machine.
fn is_disk(path: &str) -> bool {
    let Some(name) = path.strip_prefix(DEVICES) else {
        return false;
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_disk_name = match (name.strip_prefix("nvme"), name.strip_prefix("sd")) {
        (Some(controller), _) => match controller.split_once('n') {
            Some((controller, namespace)) => is_number(controller) && is_number(namespace),
            None => is_number(controller),
        },
        (None, Some(letters)) => {
            !letters.is_empty() && letters.bytes().all(|byte| byte.is_ascii_lowercase())
        }
        (None, None) => false,
    };
    is_disk_name && name.len() <= MAX_NAME
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_questions_of_the_list_are_run() {
        for (line, expected) in [
            ("nvme smart-log --output-format=json /dev/nvme0", true),
            ("nvme smart-log --output-format=json /dev/nvme0n1", true),
            (
                "nvme smart-log --output-format=json /dev/../etc/shadow",
                false,
            ),
            ("nvme smart-log --output-format=json /dev/", false),
            ("nvme smart-log --output-format=json /dev/watchdog", false),
            ("nvme smart-log --output-format=json /dev/nvme", false),
            (
                "nvme smart-log --output-format=json /dev/nvme-fabrics",
                false,
            ),
            ("nvme smart-log --output-format=json /dev/nvme0n", false),
            ("nvme smart-log --output-format=json /dev/sd", false),
            ("nvme smart-log --output-format=json /dev/sda/x", false),
            ("nvme smart-log --output-format=json /dev/disk/by-id", false),
            ("nvme smart-log --output-format=json -V", false),
            ("nvme smart-log --output-format=json ‹disk›", false),
            ("nvme format /dev/nvme0", false),
            ("nvme smart-log --output-format=json", false),
            ("/tmp/nvme smart-log --output-format=json /dev/nvme0", false),
            ("ipmitool -I open -c sdr list full", true),
            ("ipmitool -I open -c sel clear", false),
            ("ipmitool", false),
            ("sh -c id", false),
            (
                "smartctl --json=c --nocheck=standby --info --health --attributes --log=error --log=defects /dev/sda",
                true,
            ),
            ("smartctl --test=long /dev/sda", false),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let (name, arguments) = words.split_first().unwrap();
            assert_eq!(is_listed(name, arguments), expected, "{line}");
        }
    }

    /// A checker that asks in other words is run as the daemon's user, and fails.
    #[test]
    fn the_words_are_those_of_the_checkers() {
        let sources = [
            include_str!("../../../../builtin-plugins/smart/src/lib.rs"),
            include_str!("../../../../builtin-plugins/ipmi/src/lib.rs"),
        ]
        .concat();
        for (program, words) in PROGRAMS {
            for word in std::iter::once(program).chain(words.iter()) {
                let is_there = *word == DISK || sources.contains(&format!("\"{word}\""));
                assert!(is_there, "{program}: {word}");
            }
        }
    }
}
