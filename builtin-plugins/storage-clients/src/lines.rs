//! Kernel lines of clients of network storage. All are matched from the beginning of the line.
//!
//! | line | source |
//! |---|---|
//! | `Lustre: ‹import›: Connection to ‹target› (at ‹nid›) was lost; in progress operations …`, `LustreError: 166-1: …` | Lustre, `lustre/ptlrpc/import.c`, `ptlrpc_set_import_discon` |
//! | `Lustre: ‹import›: Connection restored to ‹target› (at ‹nid›)` | same, `ptlrpc_import_recovery_state_machine` |
//! | `LustreError: 167-0: [‹import›: ]This client was evicted by ‹target›; in progress operations …` | same |
//! | `LustreError: ‹pid›:0:(‹file›:‹line›:‹function›()) LBUG`, `… ASSERTION( ‹text› ) failed: …` | `libcfs`, `lbug_with_loc`, `LASSERTF` |
//! | `libceph: osd‹n› down`, `… up` | `net/ceph/osdmap.c`, `decode_new_up_state_weight` |
//! | `libceph: mon‹n› ‹address› session lost, hunting for new mon`, `… session established` | `net/ceph/mon_client.c` |
//! | `ceph: [‹cluster›: ]mds‹n› hung`, `caps stale`, `caps still stale`; `came back`, `caps renewed`, `recovery completed`, `reconnect success` | `fs/ceph/mds_client.c`, `check_session_state`, `renewed_caps`, `check_new_map`; with the cluster from 6.8 |
//! | `ceph: [‹cluster›: ]mds‹n› session blocklisted`, `rejected session`, `reconnect denied` | same, `handle_session` |
//! | `mmfs: [E] Disk lease period expired …`, `Unable to contact any quorum nodes …`; `[N] Disk lease reacquired …`; `Lost membership in cluster …`; `File System ‹name› unmounted by the system with return code …`, `Error=MMFS_SYSTEM_UNMOUNT, …` | `mmfsd` of IBM Storage Scale, by way of syslog: in saved logs only. Closed, so by IBM's guide and public reports. That a node `is being expelled` is said by the cluster manager of another one |
//! | `beegfs: ‹thread›(‹pid›): ‹context›: Connect failed on all available routes: ‹node›`, `… Connected: ‹node›` | BeeGFS, `client_module/source/nodes/NodeConnPool.c` |
//! | `wekafsio: … Truncated dirty-pages …`, `… total-sync-errs(…) …` | WEKA's client; closed, so by public reports |
//! | `CIFS: VFS: \\‹server› has not responded in ‹n› seconds. Reconnecting...` | `fs/smb/client/connect.c`, `server_unresponsive` |
//! | ` connection‹n›:‹n›: detected conn error (‹n›)`, ` session‹n›: session recovery timed out after ‹n› secs` | `drivers/scsi/scsi_transport_iscsi.c`, `iscsi_conn_error_event`, `session_recovery_timedout` |

use gpud_sdk::incidents::begins_with_process;
use gpud_sdk::kernel_lines::MatchedLine;

use crate::patterns::{
    STORAGE_CLIENT_BUG, STORAGE_CLIENT_EVICTED, STORAGE_CONNECTION_LOST,
    STORAGE_CONNECTION_RESTORED, STORAGE_SERVER_DOWN, STORAGE_SERVER_UP, STORAGE_SESSION_FAILED,
    STORAGE_UNMOUNTED, STORAGE_WRITE_LOST,
};

/// Longest name of a server or file system that is taken from a line, bytes.
const MAX_NAME: usize = 96;

/// Reads a line.
pub fn find(line: &str) -> Option<MatchedLine<'_>> {
    // `mmfs[‹pid›]: ` is a daemon's line.
    let found = gpfs(line).or_else(|| of_kernel(line))?;
    (found.device.len() <= MAX_NAME).then_some(found)
}

fn of_kernel(line: &str) -> Option<MatchedLine<'_>> {
    if begins_with_process(line) {
        return None;
    }
    lustre(line)
        .or_else(|| libceph(line))
        .or_else(|| ceph(line))
        .or_else(|| beegfs(line))
        .or_else(|| weka(line))
        .or_else(|| smb(line))
        .or_else(|| iscsi(line))
}

fn lost<'a>(client: &'static str, device: impl Into<String>) -> MatchedLine<'a> {
    MatchedLine::new(&STORAGE_CONNECTION_LOST, device).fact("client", client)
}

fn restored<'a>(client: &'static str, device: impl Into<String>) -> MatchedLine<'a> {
    MatchedLine::new(&STORAGE_CONNECTION_RESTORED, device)
        .fact("client", client)
        .ends(&[&STORAGE_CONNECTION_LOST])
}

fn evicted<'a>(client: &'static str, device: impl Into<String>) -> MatchedLine<'a> {
    MatchedLine::new(&STORAGE_CLIENT_EVICTED, device).fact("client", client)
}

fn first_word(text: &str) -> &str {
    text.split(' ').next().unwrap_or("")
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn lustre(line: &str) -> Option<MatchedLine<'_>> {
    const CLIENT: &str = "Lustre";
    let rest = line.strip_prefix("Lustre")?;
    let rest = rest
        .strip_prefix("Error")
        .unwrap_or(rest)
        .strip_prefix(": ")?;
    if let Some((place, text)) = rest.split_once("()) ") {
        // `4711:0:(file.c:123:ll_file_open`.
        let (pid, _) = place.split_once(":0:(")?;
        let stops = text == "LBUG" || text.starts_with("LBUG ") || text.starts_with("ASSERTION( ");
        return (is_number(pid) && stops)
            .then(|| MatchedLine::new(&STORAGE_CLIENT_BUG, "").fact("cause", text.trim_end()));
    }
    // `‹number›: ‹import›: ‹text›`, each of them but the text where there is one.
    let text = rest.splitn(3, ": ").find(|part| {
        [
            "Connection to ",
            "Connection restored to ",
            "This client was evicted by ",
        ]
        .iter()
        .any(|form| part.starts_with(form))
    })?;
    let text = rest.get(rest.find(text)?..)?;
    if let Some(rest) = text.strip_prefix("This client was evicted by ") {
        return Some(evicted(CLIENT, rest.split([';', ' ']).next()?));
    }
    if let Some(rest) = text.strip_prefix("Connection restored to ") {
        return Some(restored(CLIENT, first_word(rest)));
    }
    let rest = text.strip_prefix("Connection to ")?;
    // Before 1.8 `Connection to service ‹target› via nid ‹nid› was lost`.
    let target = rest.strip_prefix("service ").unwrap_or(rest);
    rest.contains(" was lost")
        .then(|| lost(CLIENT, first_word(target)))
}

fn libceph(line: &str) -> Option<MatchedLine<'_>> {
    const CLIENT: &str = "Ceph";
    let (server, text) = line.strip_prefix("libceph: ")?.split_once(' ')?;
    if let Some(number) = server.strip_prefix("osd") {
        return match text.trim_end() {
            _ if !is_number(number) => None,
            "down" => Some(MatchedLine::new(&STORAGE_SERVER_DOWN, server).fact("client", CLIENT)),
            "up" => {
                let up = MatchedLine::new(&STORAGE_SERVER_UP, server).fact("client", CLIENT);
                Some(up.ends(&[&STORAGE_SERVER_DOWN]))
            }
            _ => None,
        };
    }
    // Any monitor will do.
    if !is_number(server.strip_prefix("mon")?) {
        return None;
    }
    if text.contains("session lost") {
        return Some(lost(CLIENT, "mon"));
    }
    text.contains("session established")
        .then(|| restored(CLIENT, "mon"))
}

fn ceph(line: &str) -> Option<MatchedLine<'_>> {
    const CLIENT: &str = "CephFS";
    let rest = line.strip_prefix("ceph: ")?;
    // `[‹cluster› ‹client›]: `.
    let rest = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once("]: ")?.1,
        None => rest,
    };
    let (server, text) = rest.split_once(' ')?;
    if !is_number(server.strip_prefix("mds")?) {
        return None;
    }
    let text = text.trim_end();
    let is = |forms: &[&str]| forms.iter().any(|form| text.starts_with(form));
    // A process can be called as all of the first.
    if text == "hung" || is(&["caps stale", "caps still stale"]) {
        return Some(lost(CLIENT, server).fact("cause", text));
    }
    if is(&[
        "came back",
        "caps renewed",
        "recovery completed",
        "reconnect success",
    ]) {
        return Some(restored(CLIENT, server));
    }
    let out = [
        "session blocklisted",
        "session blacklisted",
        "rejected session",
        "reconnect denied",
    ];
    is(&out).then(|| evicted(CLIENT, server).fact("cause", text))
}

fn gpfs(line: &str) -> Option<MatchedLine<'_>> {
    const CLIENT: &str = "IBM Storage Scale";
    let (who, rest) = line.strip_prefix("mmfs")?.split_once(": ")?;
    let (name, pid) = who.split_once('[').unwrap_or((who, "0]"));
    let is_name = name
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    if !is_name || !is_number(pid.strip_suffix(']')?) {
        return None;
    }
    if rest.starts_with("Error=MMFS_SYSTEM_UNMOUNT,") {
        let found = MatchedLine::new(&STORAGE_UNMOUNTED, "").fact("client", CLIENT);
        return Some(found.fact("cause", rest.trim_end()));
    }
    let (level, text) = rest.strip_prefix('[')?.split_once("] ")?;
    if level.len() != 1 || !level.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    let text = text.trim_end();
    if text.starts_with("Disk lease reacquired") {
        return Some(restored(CLIENT, "mmfs"));
    }
    // The rest is trouble: what it says for information is not.
    if !matches!(level, "E" | "X" | "W" | "N") {
        return None;
    }
    if let Some(rest) = text
        .strip_prefix("File system ")
        .or_else(|| text.strip_prefix("File System "))
    {
        let (name, rest) = rest.split_once(" unmounted by the system with return code ")?;
        let found = MatchedLine::new(&STORAGE_UNMOUNTED, name).fact("client", CLIENT);
        return Some(found.fact("cause", rest));
    }
    if text.starts_with("Lost membership in cluster") {
        return Some(evicted(CLIENT, "mmfs").fact("cause", text));
    }
    let silent = ["Disk lease period expired", "Unable to contact "];
    silent
        .iter()
        .any(|form| text.starts_with(form))
        .then(|| lost(CLIENT, "mmfs").fact("cause", text))
}

fn beegfs(line: &str) -> Option<MatchedLine<'_>> {
    const CLIENT: &str = "BeeGFS";
    let (thread, text) = line.strip_prefix("beegfs: ")?.split_once(": ")?;
    if thread.contains(' ') {
        return None;
    }
    // By the kind of server: a failure names the node, the next connection its address.
    let server = |rest: &'_ str| rest.split(['@', ' ']).next().unwrap_or("").to_owned();
    if let Some((_, node)) = text.split_once("Connect failed on all available routes: ") {
        return Some(lost(CLIENT, server(node)).fact("node", node.trim_end()));
    }
    let (_, node) = text.split_once(": Connected: ")?;
    Some(restored(CLIENT, server(node)))
}

fn weka(line: &str) -> Option<MatchedLine<'_>> {
    let text = line.strip_prefix("wekafsio: ")?;
    let is_it = text.contains("Truncated dirty-pages")
        || text.contains("total-sync-errs(") && text.contains("=> -");
    is_it.then(|| {
        MatchedLine::new(&STORAGE_WRITE_LOST, "")
            .fact("client", "WEKA")
            .fact("cause", text.trim_end())
    })
}

fn smb(line: &str) -> Option<MatchedLine<'_>> {
    let text = line.strip_prefix("CIFS: ")?;
    let text = text.strip_prefix("VFS: ").unwrap_or(text);
    let (server, rest) = text.split_once(" has not responded in ")?;
    let (seconds, rest) = rest.split_once(' ')?;
    let server = server.trim_start_matches('\\');
    let server = server.strip_prefix("Server ").unwrap_or(server);
    let is_it = is_number(seconds) && rest.starts_with("seconds") && !server.contains(' ');
    is_it.then(|| lost("SMB", server))
}

fn iscsi(line: &str) -> Option<MatchedLine<'_>> {
    const CLIENT: &str = "iSCSI";
    let (name, text) = line.strip_prefix(' ').unwrap_or(line).split_once(": ")?;
    if let Some(numbers) = name.strip_prefix("connection") {
        let (session, connection) = numbers.split_once(':')?;
        let is_it = is_number(session) && is_number(connection);
        return (is_it && text.starts_with("detected conn error"))
            .then(|| lost(CLIENT, name).fact("cause", text.trim_end()));
    }
    let is_it = is_number(name.strip_prefix("session")?);
    (is_it && text.starts_with("session recovery timed out"))
        .then(|| MatchedLine::new(&STORAGE_SESSION_FAILED, name).fact("client", CLIENT))
}
