//! The JSON object in what a script printed, and its values as text.

#![no_main]

use gpud_fuzz::{
    script::{json::find_object, text},
    small_stack,
};
use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value};

fuzz_target!(init: small_stack(), |output: &[u8]| {
    let found = find_object(output);
    match &found {
        Ok(Some(object)) => {
            let members = object.as_object().expect("an object");
            for value in members.values() {
                text::of(value);
            }
            let written = text::of(object);
            assert_eq!(
                find_object(written.as_bytes()).as_ref(),
                Ok(&Some(object.clone())),
                "written out again it is the same: {written}"
            );
        }
        Ok(None) => assert!(!output.contains(&b'{')),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    // What a strict decoder takes for an object is one.
    if let Ok(object) = serde_json::from_slice::<Map<String, Value>>(output) {
        let object = Value::Object(object).to_string();
        assert_eq!(found, find_object(object.as_bytes()), "{object}");
        assert!(matches!(found, Ok(Some(_))), "{object}");
    }
});
