use super::*;
use proptest::prelude::*;

const NVME: &str = r#"{"smartctl":{"exit_status":0},"model_name":"X","serial_number":"S1","smart_status":{"passed":true},
        "nvme_smart_health_information_log":{"critical_warning":0,"temperature":41,"available_spare":100,"available_spare_threshold":10,"percentage_used":3,"media_errors":0},"temperature":{"current":41}}"#;
const SATA: &str = r#"{"smart_status":{"passed":false},"ata_smart_attributes":{"table":[{"id":5,"raw":{"value":4}},{"id":197,"raw":{"value":4294967298}},{"id":198,"raw":{"value":1}}]}}"#;
const DENIED: &str = r#"{"smartctl":{"messages":[{"string":"Smartctl open device: /dev/sda failed: Permission denied","severity":"error"}],"exit_status":2}}"#;

#[test]
fn answers() {
    let nvme = smartctl(NVME).unwrap();
    assert_eq!(
        (nvme.passed, nvme.used, nvme.spare),
        (Some(true), Some(3.0), Some(100.0))
    );
    let sata = smartctl(SATA).unwrap();
    assert_eq!((sata.passed, sata.pending), (Some(false), Some(2)));
    let beyond = NVME.replace(
        "\"percentage_used\":3",
        "\"percentage_used\":99999999999999999999",
    );
    assert_eq!(smartctl(&beyond).unwrap().used, None);
    assert!(smartctl(r#"{"nvme_smart_health_information_log":{}}"#).is_err());
    let error = smartctl(DENIED).unwrap_err();
    assert_eq!(
        error,
        "Smartctl open device: /dev/sda failed: Permission denied"
    );
    assert!(smartctl("x").is_err());
    assert_eq!(smartctl("{}").unwrap_err(), "it does not report its health");
    for text in [
        r#"{"critical_warning":4,"temperature":300,"avail_spare":90,"percent_used":5,"media_errors":7}"#,
        r#"{"critical_warning":{"value":4,"degraded":1},"temperature":300,"avail_spare":90,"percent_used":5,"media_errors":7}"#,
        // Numbers as text, among other lines.
        "Warning: {option} is old\n{\"critical_warning\":\"4\",\"temperature\":\"300\",\"media_errors\":\"7\"}\nended\n",
    ] {
        let log = nvme_cli(text).unwrap();
        assert_eq!(
            (log.passed, log.celsius, log.errors),
            (Some(false), Some(27.0), Some(7))
        );
        assert_eq!(warnings(log.warning), ["reliability degraded"]);
    }
    assert!(nvme_cli("[]").is_err());
}

#[test]
fn sas() {
    let sas = |asc: u8, ascq: u8, words: &str| {
        smartctl(&format!(
            r#"{{"smart_status":{{"passed":false,"scsi":{{"asc":{asc},"ascq":{ascq},"ie_string":"{words}"}}}},"scsi_percentage_used_endurance_indicator":4}}"#
        ))
        .unwrap()
    };
    let hot = sas(0x0b, 0x01, "WARNING - SPECIFIED TEMPERATURE EXCEEDED");
    assert_eq!((hot.warning, hot.used), (HEAT, Some(4.0)));
    let words = "DATA CHANNEL IMPENDING FAILURE GENERAL HARD DRIVE FAILURE";
    let failing = sas(0x5d, 0x30, words);
    assert_eq!((failing.passed, failing.warning), (Some(false), 0));
    assert_eq!(failing.failing, [words]);
    let test = sas(0x5d, 0xff, "FAILURE PREDICTION THRESHOLD EXCEEDED (FALSE)");
    assert_eq!((test.passed, test.failing.len()), (Some(true), 0));
}

#[test]
fn a_worn_disk_is_not_a_failing_one() {
    let with = |more: &str| {
        smartctl(&format!(
            r#"Warning: old firmware
                {{"smart_status":{{"passed":false}},"nvme_smart_health_information_log":{{"critical_warning":4,"available_spare":100,"available_spare_threshold":10,"percentage_used":100,"media_errors":0{more}}}}}"#
        ))
        .unwrap()
    };
    assert_eq!((with("").is_only_worn(), with("").failure()), (true, None));
    for more in [
        r#","media_errors":1"#,
        r#","percentage_used":99"#,
        r#","available_spare":10"#,
        r#","critical_warning":12"#,
    ] {
        assert!(with(more).failure().is_some(), "{more}");
    }
    let hot = with(r#","critical_warning":6"#);
    assert_eq!((hot.warning & HEAT, hot.failure()), (HEAT, None));
}

#[test]
fn errors_that_were_not_corrected() {
    for (text, errors, pending) in [
        (
            r#"{"smart_status":{"passed":true},"scsi_error_counter_log":{"read":{"total_uncorrected_errors":1},"write":{"total_uncorrected_errors":535}},"scsi_pending_defects":{"count":3}}"#,
            Some(536),
            Some(3),
        ),
        (
            r#"{"smart_status":{"passed":true},"ata_smart_attributes":{"table":[{"id":187,"name":"Reported_Uncorrect","raw":{"value":4294967298}}]},"ata_pending_defects_log":{"size":100,"count":2}}"#,
            Some(2),
            Some(2),
        ),
        (
            r#"{"smart_status":{"passed":true},"ata_smart_attributes":{"table":[{"id":187,"name":"Total_Reads_GiB","raw":{"value":7}}]}}"#,
            None,
            None,
        ),
    ] {
        let health = smartctl(text).unwrap();
        assert_eq!((health.errors, health.pending), (errors, pending), "{text}");
    }
    let sas = smartctl(r#"{"smart_status":{"passed":true},"scsi_model_name":"SEAGATE ST373453LC","serial_number":"S1"}"#).unwrap();
    assert_eq!(sas.who("sdb"), "sdb (SEAGATE ST373453LC, serial S1)");
    let in_a_bay = Health {
        bay: "bay Slot 03".to_owned(),
        ..sas
    };
    assert_eq!(
        in_a_bay.who("sdb"),
        "sdb (SEAGATE ST373453LC, serial S1, bay Slot 03)"
    );
}

#[test]
fn attributes_by_their_names() {
    let of = |name: &str, when: &str| {
        smartctl(&format!(
            r#"{{"smart_status":{{"passed":true}},"ata_smart_attributes":{{"table":[{{"id":198,"name":"{name}","when_failed":"{when}","raw":{{"value":7}}}}]}}}}"#
        ))
        .unwrap()
    };
    for (name, expected) in [
        ("Current_Pending_Sector", Some(7)),
        ("Offline_Uncorrectable", Some(7)),
        ("Total_Offl_Uncorrectabl", Some(7)),
        ("Bogus_Current_Pend_Sect", None),
        ("Host_Reads_GiB", None),
        ("Uncor_Read_Error_Ct", None),
    ] {
        assert_eq!(of(name, "").pending, expected, "{name}");
    }
    assert_eq!(of("Not_In_Use", "now").failing, ["Not_In_Use"]);
    assert!(of("Not_In_Use", "past").failing.is_empty());
}

/// What smartctl 7.3 of Debian 12 printed, as root and not; and what others were seen to print.
#[test]
fn silences() {
    let message = |text: &str| {
        format!(
            r#"{{"json_format_version":[1,0],"smartctl":{{"version":[7,3],"messages":[{{"string":"{text}","severity":"error"}}],"exit_status":2}},"local_time":{{"time_t":1795358662}}}}"#
        )
    };
    for (text, expected) in [
        (
            message("Smartctl open device: /dev/nvme9 failed: Permission denied"),
            NoHealthReason::Unread,
        ),
        (
            message("/dev/vda: Unable to detect device type"),
            NoHealthReason::Nothing,
        ),
        (
            message("Smartctl open device: /dev/sda failed: No such device or address"),
            NoHealthReason::Nothing,
        ),
        (
            message("/dev/sdb: Unknown USB bridge [0x0781:0x5581 (0x100)]"),
            NoHealthReason::Nothing,
        ),
        (
            message(
                "Smartctl open device: /dev/sda failed: DELL or MegaRaid controller, please try adding '-d megaraid,N'",
            ),
            NoHealthReason::Nothing,
        ),
        (
            message("Device is in STANDBY mode, exit(2)"),
            NoHealthReason::Asleep,
        ),
        (
            message("Device is in STANDBY (OS) mode, exit(2)"),
            NoHealthReason::Asleep,
        ),
        (
            r#"{"smart_support":{"available":false}}"#.to_owned(),
            NoHealthReason::Nothing,
        ),
        (
            r#"{"smart_support":{"available":true,"enabled":false}}"#.to_owned(),
            NoHealthReason::Nothing,
        ),
        (
            r#"{"smart_support":{"available":true,"enabled":true}}"#.to_owned(),
            NoHealthReason::Unread,
        ),
        (
            "=======> UNRECOGNIZED OPTION: json=c".to_owned(),
            NoHealthReason::Unread,
        ),
    ] {
        assert!(smartctl(&text).is_err());
        assert_eq!(silence(&text), expected, "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_is_survived(text in "[ -~]{0,100}", number in any::<u64>()) {
        let _ = (smartctl(&text), nvme_cli(&text), silence(&text));
        let _ = smartctl(&SATA.replace("4294967298", &number.to_string()));
        warnings(number);
    }
}
