//! Describes no component. The SDK does not let an author do that, so this one speaks the contract itself.

use gpud_sdk::bindings::checker::exports::gpud::plugin::checker::{Descriptor, Guest};
use gpud_sdk::types::{CheckContext, CheckError, Report};

struct NoComponents;

impl Guest for NoComponents {
    fn describe() -> Descriptor {
        Descriptor {
            version: "1".to_owned(),
            components: Vec::new(),
            extra: Vec::new(),
        }
    }

    fn check(_context: CheckContext) -> Result<Report, CheckError> {
        Err(CheckError::Failed("never asked".to_owned()))
    }
}

// As in the SDK's own macro: a native build exports nothing.
#[cfg(not(target_arch = "wasm32"))]
const _: fn() -> Descriptor = <NoComponents as Guest>::describe;
#[cfg(target_arch = "wasm32")]
gpud_sdk::bindings::checker::export_checker!(NoComponents with_types_in gpud_sdk::bindings::checker);
