//! A pattern (the first line) over a text (the rest).

#![no_main]

use std::str;

use gpud_fuzz::{
    script::pattern::{LazyPattern, Pattern},
    small_stack, split,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: small_stack(), |input: &[u8]| {
    let (pattern, text) = split(input, b"\n");
    let (Ok(pattern), Ok(text)) = (str::from_utf8(pattern), str::from_utf8(text)) else {
        return;
    };
    let compiled = Pattern::compile(pattern);
    if let Err(error) = &compiled {
        assert!(pattern.contains(&error.part), "{error}");
    }
    let matched = compiled.map(|compiled| compiled.is_match(text));
    assert_eq!(LazyPattern::new(pattern).is_match(text), matched);

    // Both dialects quote alike, and a quoted text matches itself and nothing shorter.
    let quoted = Pattern::compile(&regex::escape(pattern)).expect("a quoted text");
    assert!(quoted.is_match(pattern));
    assert_eq!(quoted.is_match(text), text.contains(pattern));
});
