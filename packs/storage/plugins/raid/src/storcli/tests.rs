use super::*;
use proptest::prelude::*;

pub(crate) const TEXT: &str = include_str!("../../fixtures/perc-h755-degraded.json");

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
            one.celsius,
            one.memory_errors
        ),
        (0, "PERC H755 Front", "Needs Attention", Some(58), 0)
    );
    let volumes: Vec<_> = one
        .volumes
        .iter()
        .map(|one| format!("{} {} {} {}", one.id, one.level, one.state, one.name))
        .collect();
    assert_eq!(volumes, ["0/239 RAID1 Optl os", "1/238 RAID6 Pdgd data"]);
    let disks: Vec<_> = one
        .disks
        .iter()
        .map(|one| format!("{} {} {}", one.slot, one.state, one.group))
        .collect();
    assert_eq!(
        disks,
        [
            "64:0 Onln 0",
            "64:1 Onln 0",
            "64:2 Failed 1",
            "64:3 Onln 1",
            "64:4 Rbld 1",
            "64:5 Onln 1",
            "64:6 UGood F",
            "64:7 GHS -"
        ]
    );
    assert_eq!(one.backups.len(), 1);
    assert_eq!(one.backups[0].state, "Optimal");
}

#[test]
fn none_and_trouble() {
    let none = r#"{"Controllers":[{"Command Status":{"CLI Version":"007.2707","Operating system":"Linux 6.1","Status":"Failure","Description":"No Controller found"}}]}"#;
    assert_eq!(parse(none), Ok(Answer::default()));
    let denied = r#"{"Controllers":[{"Command Status":{"Status":"Failure","Description":"Controller is in use"}}]}"#;
    assert_eq!(parse(denied), Err("Controller is in use".to_owned()));
    assert_eq!(parse(&format!("CLI\n{none}")), Ok(Answer::default()));
    assert!(parse("").is_err() && parse("{}").is_err() && parse("{").is_err());
}

#[test]
fn one_that_gives_no_data_hides_no_other() {
    let text = r#"{"Controllers":[{"Command Status":{"Controller":0},"Response Data":{"Basics":{"Model":"M"}}},
            {"Command Status":{"Controller":"1","Status":"Failure","Description":"Un-supported command"}}]}"#;
    let answer = parse(text).unwrap();
    assert_eq!(answer.controllers[0].model, "M");
    assert_eq!(answer.unread, [(1, "Un-supported command".to_owned())]);
}

#[test]
fn the_document_is_found_among_other_lines() {
    let text = r#"{"Controllers":[{"Response Data":{"Basics":{"Model":"M"}}}]}"#;
    let among = format!("WARNING: {{legacy}} mode\n{text}\nExit Code: 0x00\n");
    assert_eq!(parse(&among), parse(text));
    assert_eq!(parse(text).unwrap().controllers[0].model, "M");
    // Cut off: no part of it is the document.
    assert_eq!(
        parse(&text[..text.len() - 2]),
        Err("it gave no JSON".to_owned())
    );
}

#[test]
fn the_condition_of_version_2() {
    let disk = |state: &str, status: &str| Disk {
        state: state.to_owned(),
        status: status.to_owned(),
        ..Disk::default()
    };
    for (state, status, condition, failed) in [
        ("Onln", "", "Onln", false),
        ("UBad", "", "UBad", true),
        ("Conf", "Online", "Online", false),
        ("Conf", "Failed", "Failed", true),
        ("UConf", "Failed", "Failed", true),
        ("UConf", "Good", "Good", false),
        ("GHS", "Good", "GHS", false),
        ("GHS", "Failed", "Failed", true),
        ("Conf", "Missing", "Missing", true),
    ] {
        let disk = disk(state, status);
        assert_eq!((disk.condition(), disk.has_failed()), (condition, failed));
    }
}

#[test]
fn serial_numbers_of_both_versions() {
    for text in [
        r#"{"Controllers":[{"Command Status":{"Controller":0},"Response Data":{"Drive /c0/e64/s2 - Detailed Information":{"Drive /c0/e64/s2 Device attributes":{"SN":"  S5G1  ","Manufacturer Id":"ATA"}}}}]}"#,
        r#"{"Controllers":[{"Response Data":{"Drives List":[{"Drive Information":{"EID:Slt":"306:3"},"Drive Detailed Information":{"Serial Number":"S5G1","WWN":"5000"}}]}}]}"#,
    ] {
        assert_eq!(serial(text).as_deref(), Some("S5G1"));
    }
    assert_eq!(serial("{}"), None);
}

proptest! {
    #[test]
    fn any_text_is_survived(text in any::<String>()) {
        let _ = parse(&text);
    }

    #[test]
    fn any_damage_is_survived(at in 0usize..4_000, byte in 32u8..127) {
        let mut bytes = TEXT.as_bytes().to_vec();
        let at = at % bytes.len();
        bytes[at] = byte;
        let text = String::from_utf8_lossy(&bytes);
        serial(&text);
        if let Ok(answer) = parse(&text) {
            prop_assert!(answer.controllers.len() <= 1);
        }
    }
}
