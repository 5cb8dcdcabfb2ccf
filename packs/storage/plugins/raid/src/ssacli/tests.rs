use super::*;
use proptest::prelude::*;

/// Composed on the form that ssacli 3 and 5 print.
const TEXT: &str = include_str!("../../fixtures/p816i-a-degraded.txt");

#[test]
fn a_controller() {
    let found = parse(TEXT).unwrap().controllers;
    assert_eq!(found.len(), 1);
    let one = &found[0];
    assert_eq!(
        (
            one.number,
            one.model.as_str(),
            one.status.as_str(),
            one.celsius
        ),
        (0, "HPE Smart Array P816i-a SR Gen10", "OK", Some(49))
    );
    let volumes: Vec<_> = one
        .volumes
        .iter()
        .map(|one| format!("{} {} {} {}", one.id, one.level, one.state, one.name))
        .collect();
    assert_eq!(volumes, ["1 RAID1 Optl /dev/sda", "2 RAID5 Dgrd /dev/sdb"]);
    let disks: Vec<_> = one
        .disks
        .iter()
        .map(|one| format!("{} {} {}", one.slot, one.condition(), one.serial))
        .collect();
    assert_eq!(
        disks,
        [
            "1I:1:1 Onln S000001",
            "1I:1:2 Predictive Failure S000002",
            "1I:1:3 Onln S000003",
            "1I:1:4 Failed S000004",
            "1I:1:5 Onln S000005",
            "2I:1:6 GHS S000006",
            "2I:1:7 UGood S000007",
        ]
    );
    assert!(one.disks[3].has_failed() && !one.disks[1].has_failed());
    assert_eq!(one.disks[0].model, "HPE EG000600JWJNP");
    let backups: Vec<_> = one.backups.iter().map(|one| one.state.as_str()).collect();
    assert_eq!(backups, ["Permanently Disabled", "Charging"]);
}

#[test]
fn states_of_logical_drives() {
    for (words, state) in [
        ("OK", "Optl"),
        ("Failed", "OfLn"),
        ("Interim Recovery Mode", "Dgrd"),
        ("Recovering, 42% complete", "Rec"),
        ("Transforming, 3% complete", "TRANS"),
        ("Something new", "Something new"),
    ] {
        let text = format!(
            "Smart Array P420i in Slot 0 (Embedded)\n      Logical Drive: 1\n         Status: {words}\n"
        );
        let found = parse(&text).unwrap().controllers;
        assert_eq!(found[0].volumes[0].state, state, "{words}");
    }
}

#[test]
fn none_and_trouble() {
    assert_eq!(
        parse("\nError: No controllers detected. Possible causes:\n   The driver is not loaded\n"),
        Err("No controllers detected. Possible causes:".to_owned())
    );
    assert!(parse("").is_err());
}

proptest! {
    #[test]
    fn any_text_is_survived(lines in proptest::collection::vec(
        "( {0,9})?(Smart Array P420i in Slot [0-9]{1,3}|Logical Drive: [0-9]|physicaldrive [0-9]I:1:[0-9]|Status: [A-Za-z ]{0,12}|[ -~é]{0,40})", 0..30,
    )) {
        if let Ok(answer) = parse(&lines.join("\n")) {
            prop_assert!(answer.controllers.len() <= MAX_CONTROLLERS);
        }
    }
}
