use super::*;

#[test]
fn no_name_stands_for_two_months() {
    let mut all: Vec<_> = NAMES.iter().flat_map(|(_, names)| names.iter()).collect();
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count);
    assert!(all.iter().all(|name| name.len() < MAX_NAME));
}

#[test]
fn months_are_known_in_several_languages() {
    for (word, month) in [
        ("Nov", Some(11)),
        ("kwi", Some(4)),
        ("Mär", Some(3)),
        ("janv.", Some(1)),
        ("ЯНВ", Some(1)),
        ("11月", Some(11)),
        ("13月", None),
        ("gpu-1", None),
        ("", None),
    ] {
        assert_eq!(number(word.as_bytes()), month, "{word}");
    }
    // Latin-1.
    assert_eq!(number(b"M\xe4r"), Some(3));
}
