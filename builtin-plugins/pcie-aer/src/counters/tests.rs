use super::*;

#[test]
fn totals_of_devices_that_counted() {
    let at = |path: &str| format!("{ROOT}{path}");
    let files = [
        (
            at("0000:3b:00.0/aer_dev_correctable"),
            "RxErr 12\nBadTLP 3\nTimeout 0\nTOTAL_ERR_COR 15\n",
        ),
        (
            at("0000:3b:00.0/aer_dev_fatal"),
            "Undefined 0\nTOTAL_ERR_FATAL 0\n",
        ),
        (
            at("0000:3b:00.0/aer_dev_nonfatal"),
            "CmpltTO 2\nTOTAL_ERR_NONFATAL 2\n",
        ),
        (
            at("0000:17:00.0/aer_dev_correctable"),
            "RxErr 0\nTOTAL_ERR_COR 0\n",
        ),
        (at("0000:18:00.0/aer_dev_fatal"), "TOTAL_ERR_FATAL 1"),
        (at("0000:19:00.0/aer_dev_fatal"), "TOTAL_ERR_FATAL x\n"),
        (at("0000:19:00.0/aer_dev_correctable"), ""),
        ("/elsewhere".to_owned(), "TOTAL_ERR_COR 1"),
    ];
    let counters = read(
        files
            .iter()
            .map(|(path, content)| (path.as_str(), content.as_bytes())),
    );
    let gpu = Totals {
        corrected: 15,
        nonfatal: 2,
        fatal: 0,
    };
    let other = Totals {
        corrected: 0,
        nonfatal: 0,
        fatal: 1,
    };
    let devices = BTreeMap::from([
        ("0000:18:00.0".to_owned(), other),
        ("0000:3b:00.0".to_owned(), gpu),
    ]);
    assert_eq!(
        counters,
        Counters {
            exist: true,
            devices
        }
    );
    assert_eq!(gpu.uncorrected(), 2);
    assert_eq!(
        read([("/elsewhere", b"TOTAL_ERR_COR 1".as_slice())]),
        Counters::default()
    );
}
