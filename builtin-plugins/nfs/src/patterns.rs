//! The catalogue as constants. Made by `builtin-plugins/shared/patterns.py` from `catalog/patterns.json`; do not edit.

use gpud_sdk::catalog::Action::Reboot;
use gpud_sdk::catalog::Severity::Warning;
use gpud_sdk::catalog::{Catalog, Entry, EventVerdict};

/// Version of the catalogue.
pub const VERSION: u32 = 3;

/// The patterns of the lines that the host delivers: no narrower than the parser.
pub const PATTERNS: [&str; 3] = [
    "^nfs: server [^ ]+ (not responding|OK)",
    "^(NFS: )?nfs4_reclaim_open_state: Lock reclaim failed",
    r"^.{0,40}nfs_(lock_and_join_requests|wb_all|page_async_flush|writepages_callback)\+0x[0-9a-f]",
];

/// A server has not answered for minutes; processes that use its volumes wait. (The server's name follows the message.)
pub const NFS_SERVER_NOT_RESPONDING: Entry = Entry {
    name: "nfs_server_not_responding",
    severity: Warning,
    otherwise: None,
    message: "NFS server not responding: ",
    other_message: "",
    actions: &[Reboot],
    advice: "NFS hang requires immediate reboot; drain may hang on NFS volumes",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 259_200, reboot_clears: true, ended_by: &["nfs_server_ok"] }),
};

/// A server that did not answer does again.
pub const NFS_SERVER_OK: Entry = Entry {
    name: "nfs_server_ok",
    severity: Warning,
    otherwise: None,
    message: "NFS server recovered: ",
    other_message: "",
    actions: &[],
    advice: "",
    verdict: None,
};

/// A server restarted, and the client could not get its locks back.
pub const NFS_LOCK_RECLAIM_FAILED: Entry = Entry {
    name: "nfs_lock_reclaim_failed",
    severity: Warning,
    otherwise: None,
    message: "NFS lock reclaim failed (state manager unable to recover)",
    other_message: "",
    actions: &[Reboot],
    advice: "NFS hang requires immediate reboot; drain may hang on NFS volumes",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 259_200, reboot_clears: true, ended_by: &[] }),
};

/// The stack trace of a task that waits goes through NFS's writeback.
pub const NFS_WRITEBACK_HANG: Entry = Entry {
    name: "nfs_writeback_hang",
    severity: Warning,
    otherwise: None,
    message: "NFS client stuck in kernel writeback path",
    other_message: "",
    actions: &[Reboot],
    advice: "NFS hang requires immediate reboot; drain may hang on NFS volumes",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 2, window_seconds: 259_200, reboot_clears: true, ended_by: &[] }),
};

/// All of it.
pub static CATALOG: Catalog = Catalog {
    version: VERSION,
    device: "device",
    patterns: &PATTERNS,
    entries: &[&NFS_SERVER_NOT_RESPONDING, &NFS_SERVER_OK, &NFS_LOCK_RECLAIM_FAILED, &NFS_WRITEBACK_HANG],
};
