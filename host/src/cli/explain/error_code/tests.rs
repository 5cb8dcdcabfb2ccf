use super::*;

fn read(text: &str) -> Option<Result<ErrorCode, String>> {
    let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    ErrorCode::read(&words)
}

#[test]
fn a_family_and_a_number_are_a_code() {
    for (text, shown) in [
        ("xid 79", "Xid 79"),
        ("SXID 12028", "SXid 12028"),
        ("xid 9999", "Xid 9999"),
        ("xid 149.4", "Xid 149.4"),
        ("xid 144.0", "Xid 144.0"),
    ] {
        assert_eq!(read(text).unwrap().unwrap().to_string(), shown);
    }
    for text in [
        "xid many",
        "xid 0",
        "xid 149.",
        "xid 149.64",
        "xid 149.x",
        "xid 79.1",
        "sxid 12028.1",
    ] {
        let error = read(text).unwrap().unwrap_err();
        assert!(error.contains("is not the number of an error"), "{error}");
    }
    for text in ["xid", "nvme 1", "xid 79 80"] {
        assert_eq!(read(text), None, "{text}");
    }
}

#[test]
fn the_sample_of_a_row_remapping_names_no_kind_of_gpu() {
    for code in ["63", "64"] {
        let line = read(&format!("xid {code}")).unwrap().unwrap().sample_line();
        assert!(line.contains(&format!("): {code}, ")), "{line}");
        assert!(!line.contains("Row Remapper"), "{line}");
    }
}

#[test]
fn the_sample_of_a_sub_code_has_it_in_its_first_word() {
    let line = read("xid 149.4").unwrap().unwrap().sample_line();
    assert!(line.contains("(0x00400000 0x00000000 "), "{line}");
    let line = read("xid 149.63").unwrap().unwrap().sample_line();
    assert!(line.contains("(0x03f00000 0x00000000 "), "{line}");
}
