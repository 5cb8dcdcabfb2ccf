use proptest::prelude::*;

use super::*;

#[test]
fn the_grammar_as_gpud_has_it() {
    // name, mode, tags, param; an empty mode and tags `-` are the list's own.
    for (entry, name, mode, tags, param) in [
        ("eth0", "eth0", "", "-", ""),
        ("eth0:-v 2:x", "eth0", "", "-", "-v 2:x"),
        ("eth0#manual", "eth0", "manual", "-", ""),
        ("eth0#[a, b]:p", "eth0", "", "a|b", "p"),
        ("eth0#manual[]", "eth0", "manual", "", ""),
        ("eth0#", "eth0", "", "-", ""),
        ("eth 0 #manual :p", "eth 0 ", "manual", "-", "p"),
        ("eth0[a]:p", "eth0[a]", "", "-", "p"),
        ("eth0/auto:/x", "eth0/auto", "", "-", "/x"),
        ("eth0#auto#x[t]", "eth0", "auto#x", "t", ""),
        ("eth0#auto[a,b] :p", "eth0", "auto", "a|b]", "p"),
        ("eth0#auto[a]zz", "eth0", "auto", "a]z", ""),
        ("a:b#c[", "a", "", "-", "b#c["),
        ("a# [ , x,, ]é", "a", "", "x|]", ""),
        (" ", " ", "", "-", ""),
    ] {
        let read = ListEntry::parse(entry).unwrap();
        assert_eq!(
            (read.name.as_str(), read.param.as_str()),
            (name, param),
            "{entry}"
        );
        assert_eq!(read.mode.as_deref().unwrap_or_default(), mode, "{entry}");
        assert_eq!(
            read.tags.map_or("-".to_owned(), |tags| tags.join("|")),
            tags,
            "{entry}"
        );
    }
}

#[test]
fn refused_entries() {
    for entry in ["", ":p", "#manual", "#:", "#[a]"] {
        assert_eq!(
            ListEntry::parse(entry),
            Err(ListEntryError::EmptyName),
            "{entry}"
        );
    }
    for entry in [
        "a#auto][",
        "eth0#auto[x:y]:p",
        "a#[",
        "a#]",
        "a#x]y",
        "a#m[t",
    ] {
        assert_eq!(
            ListEntry::parse(entry).unwrap_err().to_string(),
            format!("invalid tag format in component list entry: {entry}")
        );
    }
}

proptest! {
    #[test]
    fn no_entry_panics(entry in "[ab#:,é \\[\\]]{0,16}") {
        if let Ok(read) = ListEntry::parse(&entry) {
            prop_assert!(entry.starts_with(&read.name) && entry.ends_with(&read.param));
            prop_assert!(!read.name.is_empty());
        }
    }

    #[test]
    fn parts_put_together_come_out_again(
        name in "[a-z][a-z ]{0,6}", mode in "[a-z]{0,4}", tags in prop::collection::vec("[a-z]{1,4}", 0..3), param in "[a-z:#\\[\\]]{0,8}",
    ) {
        let read = ListEntry::parse(&format!("{name}#{mode}[{}]:{param}", tags.join(", "))).unwrap();
        prop_assert_eq!(read, ListEntry { name, mode: (!mode.is_empty()).then_some(mode), tags: Some(tags), param });
    }
}
