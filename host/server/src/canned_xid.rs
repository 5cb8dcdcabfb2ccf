//! Sample kernel lines for Xid errors, in the driver's manner, to test what happens on one.

/// The priority and the line for an Xid. All speak of the device `PCI:0000:04:00`, as GPUd's do.
pub fn canned_xid(id: i64) -> (&'static str, String) {
    let (priority, what) = match id {
        63 => (
            "KERN_WARNING",
            "pid='<unknown>', name=<unknown>, Row Remapper: New row marked for remapping, reset gpu to activate.",
        ),
        64 => (
            "KERN_WARNING",
            "pid='<unknown>', name=<unknown>, Row Remapper: Failed to record a row for remapping.",
        ),
        69 => (
            "KERN_WARNING",
            "pid=2477, name=python3, Graphics Exception: Class Error on channel 0x00000008",
        ),
        74 => (
            "KERN_WARNING",
            "pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 6(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
        ),
        79 => (
            "KERN_ERR",
            "pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
        ),
        _ => ("KERN_WARNING", "unknown"),
    };
    (
        priority,
        format!("NVRM: Xid (PCI:0000:04:00): {id}, {what}"),
    )
}

#[cfg(test)]
mod tests {
    use super::canned_xid;

    #[test]
    fn known_ids_look_like_the_drivers_lines_and_others_are_unknown() {
        assert_eq!(
            canned_xid(79),
            (
                "KERN_ERR",
                "NVRM: Xid (PCI:0000:04:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.".to_owned()
            )
        );
        assert_eq!(
            canned_xid(-5),
            (
                "KERN_WARNING",
                "NVRM: Xid (PCI:0000:04:00): -5, unknown".to_owned()
            )
        );
        for id in [63, 64, 69, 74] {
            let (priority, line) = canned_xid(id);
            assert_eq!(priority, "KERN_WARNING");
            assert!(
                line.starts_with(&format!("NVRM: Xid (PCI:0000:04:00): {id}, pid=")),
                "{line}"
            );
        }
    }
}
