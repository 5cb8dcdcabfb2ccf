//! The catalogue as constants. Made by `builtin-plugins/shared/patterns.py` from `catalog/patterns.json`; do not edit.

use gpud_sdk::catalog::Action::{CheckApp, Inspect, Reboot};
use gpud_sdk::catalog::Severity::{Critical, Fatal, Info, Warning};
use gpud_sdk::catalog::{Catalog, Entry, EventVerdict};

/// Version of the catalogue.
pub const VERSION: u32 = 3;

/// The patterns of the lines that the host delivers: no narrower than the parser.
pub const PATTERNS: [&str; 9] = [
    "^Lustre(Error)?: .*(Connection to .* was lost|Connection restored to |This client was evicted by )",
    r"^Lustre(Error)?: .*(LBUG$|LBUG |ASSERTION\( )",
    "^libceph: (osd[0-9]+ (down|up)|mon[0-9]+ .*session (lost|established))",
    "^ceph: .*mds[0-9]+ (hung|came back|caps (stale|still stale|renewed)|recovery completed|reconnect (denied|success)|rejected session|session (block|black)listed)",
    r"^mmfs[a-z0-9]*(\[[0-9]+\])?: (\[[A-Z]\] |Error=MMFS_)",
    "^beegfs: [^ ]+: .*(Connect failed on all available routes: |Connected: )",
    r"^wekafsio: .*(Truncated dirty-pages|total-sync-errs\()",
    "^CIFS: (VFS: )?.* has not responded in [0-9]+ seconds",
    "^ ?(connection[0-9]+:[0-9]+: detected conn error|session[0-9]+: session recovery timed out)",
];

/// A client of network storage lost its server. Programs that use it wait until it is back.
pub const STORAGE_CONNECTION_LOST: Entry = Entry {
    name: "storage_connection_lost",
    severity: Warning,
    otherwise: None,
    message: "Storage server does not answer",
    other_message: "",
    actions: &[CheckApp],
    advice: "Look whether other machines lost the server, too; else look at this machine's network.",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 1, window_seconds: 3_600, reboot_clears: true, ended_by: &["storage_connection_restored"] }),
};

/// A client of network storage reached a server that it had lost.
pub const STORAGE_CONNECTION_RESTORED: Entry = Entry {
    name: "storage_connection_restored",
    severity: Info,
    otherwise: None,
    message: "Storage server answers again",
    other_message: "",
    actions: &[],
    advice: "",
    verdict: None,
};

/// A server of network storage evicted this client: data that the client had not written yet are lost, and programs that used it get errors.
pub const STORAGE_CLIENT_EVICTED: Entry = Entry {
    name: "storage_client_evicted",
    severity: Critical,
    otherwise: None,
    message: "Storage server threw this client out",
    other_message: "",
    actions: &[CheckApp],
    advice: "Jobs that wrote at that time must be started again. Look at this machine's network and load, and at the server's log.",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 1, window_seconds: 3_600, reboot_clears: true, ended_by: &[] }),
};

/// The client of a parallel file system met an error that it cannot go on after, and unmounted it: its files are gone from this machine until it is mounted again.
pub const STORAGE_UNMOUNTED: Entry = Entry {
    name: "storage_unmounted",
    severity: Critical,
    otherwise: None,
    message: "File system was unmounted by its client",
    other_message: "",
    actions: &[Reboot],
    advice: "Drain the machine, mount the file system again (mmmount) or reboot; the log of the client says why.",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 86_400, reboot_clears: true, ended_by: &[] }),
};

/// The client of Lustre found itself in a state that must not be (LBUG): the thread that met it hangs for ever, and more will follow.
pub const STORAGE_CLIENT_BUG: Entry = Entry {
    name: "storage_client_bug",
    severity: Fatal,
    otherwise: None,
    message: "Storage client hangs at an error of its own",
    other_message: "",
    actions: &[Reboot],
    advice: "Drain the machine and reboot; look for a newer version of the client.",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// The client of WEKA could not write data of a file to its servers (no space left, or an I/O error) and dropped it: the file is damaged.
pub const STORAGE_WRITE_LOST: Entry = Entry {
    name: "storage_write_lost",
    severity: Critical,
    otherwise: None,
    message: "Storage client dropped what was to be written",
    other_message: "",
    actions: &[CheckApp],
    advice: "Look at the space and quota of the file system; files that were written at that time must be written again.",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 1, window_seconds: 3_600, reboot_clears: true, ended_by: &[] }),
};

/// The connection to an iSCSI target was not repaired in time: requests to its disks fail from now on.
pub const STORAGE_SESSION_FAILED: Entry = Entry {
    name: "storage_session_failed",
    severity: Critical,
    otherwise: None,
    message: "iSCSI session did not come back",
    other_message: "",
    actions: &[Inspect],
    advice: "Look at the network and the target; log in again (iscsiadm -m node --login), then check the filesystems on it.",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 1, window_seconds: 86_400, reboot_clears: true, ended_by: &[] }),
};

/// The cluster of Ceph says that one of its storage servers (OSD) is down. Its data has copies; requests wait for a moment.
pub const STORAGE_SERVER_DOWN: Entry = Entry {
    name: "storage_server_down",
    severity: Info,
    otherwise: None,
    message: "Storage cluster lost a server",
    other_message: "",
    actions: &[],
    advice: "",
    verdict: None,
};

/// A storage server (OSD) of Ceph that was down is up again.
pub const STORAGE_SERVER_UP: Entry = Entry {
    name: "storage_server_up",
    severity: Info,
    otherwise: None,
    message: "Storage cluster has a server again",
    other_message: "",
    actions: &[],
    advice: "",
    verdict: None,
};

/// All of it.
pub static CATALOG: Catalog = Catalog {
    version: VERSION,
    device: "device",
    patterns: &PATTERNS,
    entries: &[&STORAGE_CONNECTION_LOST, &STORAGE_CONNECTION_RESTORED, &STORAGE_CLIENT_EVICTED, &STORAGE_UNMOUNTED, &STORAGE_CLIENT_BUG, &STORAGE_WRITE_LOST, &STORAGE_SESSION_FAILED, &STORAGE_SERVER_DOWN, &STORAGE_SERVER_UP],
};
