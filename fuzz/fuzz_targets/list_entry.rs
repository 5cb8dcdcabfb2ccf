//! One entry of a component list.

#![no_main]

use gpud_fuzz::{small_stack, spec::ListEntry};
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: small_stack(), |entry: &str| {
    let parsed = match ListEntry::parse(entry) {
        Ok(parsed) => parsed,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    assert!(!parsed.name.is_empty());
    assert!(!parsed.name.contains(['#', ':']), "{parsed:?}");
    assert!(entry.starts_with(&parsed.name), "{parsed:?}");
    assert!(entry.ends_with(&parsed.param), "{parsed:?}");
    for text in parsed.mode.iter().chain(parsed.tags.iter().flatten()) {
        assert_eq!(text.trim(), text, "{parsed:?}");
        assert!(!text.is_empty(), "{parsed:?}");
    }

    // Written out again it is the same.
    let mode = parsed.mode.as_deref().unwrap_or_default();
    let tags = parsed.tags.as_ref();
    let tags = tags.map_or(String::new(), |tags| format!("[{}]", tags.join(",")));
    let written = format!("{}#{mode}{tags}:{}", parsed.name, parsed.param);
    assert_eq!(ListEntry::parse(&written).as_ref(), Ok(&parsed), "{written}");
});
