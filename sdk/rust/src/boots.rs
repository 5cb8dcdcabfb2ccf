//! Which boot a stored event belongs to. The boot's id, which events carry, identifies it: clocks can be set, and what
//! was logged early in a boot can bear a time before it.

use crate::incidents::fact;
use crate::{CheckContext, Event};

/// Key of the boot id in an event's extra info.
pub const BOOT: &str = "boot_id";

/// Returns the id of the boot that an event belongs to; empty if it was not known.
pub fn boot(event: &Event) -> &str {
    fact(event, BOOT).unwrap_or_default()
}

/// True when an event belongs to the running boot, or to one that is not known.
pub fn is_of_this_boot(context: &CheckContext, event: &Event) -> bool {
    let boot = boot(event);
    boot.is_empty() || context.boot_id.is_empty() || boot == context.boot_id
}
