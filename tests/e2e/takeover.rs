//! `gpud up` on a machine where GPUd runs, with a database of GPUd's schema.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, chown, symlink},
    path::Path,
};

use gpud::node::kmsg::BootClock;
use rusqlite::Connection;

use crate::{
    daemon::gpud,
    service::{Machine, is_root, said},
};

const UNIT: &str = "[Unit]\nDescription=gpud\n\n[Service]\nEnvironmentFile=/etc/default/gpud\n\
    ExecStart=/usr/local/bin/gpud run $FLAGS\nType=notify\n";

/// The database as GPUd's first start makes it, with events of an earlier boot, and one of this boot.
fn make_state_file(path: &Path, boot_seconds: u64) {
    let conn = Connection::open(path).unwrap();
    conn.execute_batch(
        "PRAGMA journal_mode = WAL;
         CREATE TABLE gpud_metadata (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
         INSERT INTO gpud_metadata VALUES ('machine_id', 'm-1'), ('token', 'very secret');
         CREATE TABLE session_states (timestamp INTEGER, success INTEGER, message TEXT);
         CREATE TABLE gpud_metrics_v0_5 (unix_milliseconds INTEGER NOT NULL, component_name TEXT NOT NULL,
             metric_name TEXT NOT NULL, metric_labels TEXT, metric_value REAL NOT NULL,
             PRIMARY KEY (unix_milliseconds, component_name, metric_name, metric_labels)) WITHOUT ROWID;",
    )
    .unwrap();
    for name in ["os", "accelerator_nvidia_error_xid"] {
        let table = format!("components_{name}_events_v0_5_0");
        conn.execute_batch(&format!(
            "CREATE TABLE {table} (timestamp INTEGER NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL, message TEXT,
                 extra_info TEXT);
             CREATE INDEX idx_{table}_timestamp ON {table}(timestamp);
             CREATE INDEX idx_{table}_name ON {table}(name);
             CREATE INDEX idx_{table}_type ON {table}(type);"
        ))
        .unwrap();
    }
    let before = boot_seconds - 1000;
    let now = boot_seconds + 100;
    conn.execute_batch(&format!(
        "INSERT INTO components_os_events_v0_5_0 VALUES
             ({before}, 'reboot', 'Warning', 'system reboot detected before', NULL),
             ({boot_seconds}, 'reboot', 'Warning', 'system reboot detected now', NULL);
         INSERT INTO components_accelerator_nvidia_error_xid_events_v0_5_0 VALUES
             ({before}, 'error_xid', 'Fatal', NULL, '{{\"data\":\"79\",\"device_uuid\":\"PCI:0000:3b:00\"}}'),
             ({now}, 'error_xid', 'Fatal', NULL, '{{\"data\":\"79\",\"device_uuid\":\"PCI:0000:3b:00\"}}');"
    ))
    .unwrap();
}

/// A user could put a link in the place of the state file, and root would write into what it leads to.
#[test]
fn up_opens_no_state_file_in_a_folder_of_another_user() {
    if !is_root() {
        return;
    }
    let machine = Machine::new();
    machine.systemctl("case $1 in is-active) echo inactive; exit 3;; esac");
    for path in ["root/etc/systemd/system", "root/etc/default", "theirs"] {
        fs::create_dir_all(machine.path(path)).unwrap();
    }
    let (theirs, precious) = (machine.path("theirs"), machine.path("precious"));
    make_state_file(&precious, BootClock::read().unix_ms(0) / 1000);
    symlink(&precious, theirs.join("gpud.state")).unwrap();
    chown(&theirs, Some(12345), None).unwrap();
    let before = fs::read(&precious).unwrap();
    let output = gpud()
        .arg("up")
        .arg(format!("--install-root={}", machine.path("root").display()))
        .arg(format!("--data-dir={}", theirs.display()))
        .env(
            "PATH",
            format!("{}:/usr/bin:/bin", machine.path("bin").display()),
        )
        .output();
    let (_, stdout, _) = said(&output.unwrap());
    assert!(!stdout.contains("imported"), "{stdout}");
    assert_eq!(fs::read(&precious).unwrap(), before);
}

#[test]
fn up_takes_the_place_of_gpud() {
    if !is_root() {
        return;
    }
    let machine = Machine::new();
    machine.systemctl("case $1 in is-active) echo active;; esac");
    let data = machine.path("data");
    for path in [
        "root/etc/systemd/system",
        "root/etc/default",
        "root/usr/local/share/gpud",
    ] {
        fs::create_dir_all(machine.path(path)).unwrap();
    }
    let environment = format!(
        "FLAGS=\"--log-level=info --endpoint=e --data-dir={} --session-protocol=auto\"\n",
        data.display()
    );
    fs::write(machine.path("root/etc/default/gpud"), &environment).unwrap();
    fs::write(machine.path("root/etc/default/gpud.plugins.yaml"), "[]\n").unwrap();
    fs::write(machine.path("root/etc/systemd/system/gpud.service"), UNIT).unwrap();
    let program = machine.path("root/usr/local/share/gpud/gpud.before");
    fs::write(&program, "#!/bin/sh\necho gpud version v0.9.0\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    make_state_file(
        &data.join("gpud.state"),
        BootClock::read().unix_ms(0) / 1000,
    );
    // The kernel log begins five seconds after the start of the machine.
    fs::write(machine.path("kmsg"), "6,1,5000000,-;first\n").unwrap();

    let up = || {
        let path = format!("{}:/usr/bin:/bin", machine.path("bin").display());
        let output = gpud()
            .arg("up")
            .arg(format!("--install-root={}", machine.path("root").display()))
            .env("PATH", path)
            .env("KMSG_FILE_PATH", machine.path("kmsg"))
            .output();
        said(&output.unwrap())
    };
    let (code, stdout, stderr) = up();
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    for line in [
        "GPUd runs here and was stopped; gpud takes its place:\n",
        "\n  left out  --endpoint, --session-protocol: there is no control plane\n",
        "gpud.plugins.yaml is read as it is",
        "gpud.state: 1 event and 1 reboot imported, 1 event left to the kernel log, which still has them\n",
        "\n  settings  machine_id, token stay in the file and are not used",
        "/from-GPUd has gpud.service, gpud.default, gpud; GPUd's tables stay in ",
        "\n✔ gpud.service runs\n",
    ] {
        assert!(stdout.contains(line), "{line}: {stdout}");
    }
    assert!(!stdout.contains("very secret"), "{stdout}");
    assert_eq!(
        machine.calls(),
        "is-active gpud.service\nstop gpud.service\nenable gpud.service\ndaemon-reload\nrestart gpud.service\n"
    );
    assert!(
        machine
            .read("etc/systemd/system/gpud.service")
            .contains("# gpud as a service of systemd")
    );
    let flags = machine.read("etc/default/gpud");
    assert!(
        flags.contains(&format!("--data-dir={}", data.display())) && !flags.contains("endpoint"),
        "{flags}"
    );

    let retained = |name: &str| fs::read_to_string(data.join("from-GPUd").join(name)).unwrap();
    assert_eq!(retained("gpud.service"), UNIT);
    assert_eq!(retained("gpud.default"), environment);
    assert!(retained("gpud").contains("v0.9.0"));
    let conn = Connection::open(data.join("gpud.state")).unwrap();
    let count = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(
        count("SELECT count(*) FROM event WHERE component = 'accelerator-nvidia-error-xid'"),
        1
    );
    assert_eq!(
        count("SELECT count(*) FROM event WHERE component = 'os' AND name = 'reboot'"),
        1
    );
    assert_eq!(count("SELECT count(*) FROM components_os_events_v0_5_0"), 2);

    // The second time there is nothing to take over.
    let (code, stdout, _) = up();
    assert_eq!((code, stdout.as_str()), (Some(0), "✔ gpud.service runs\n"));
}

#[test]
fn a_gpud_that_does_not_stop_is_left_alone() {
    if !is_root() {
        return;
    }
    let machine = Machine::new();
    machine.systemctl("case $1 in is-active) echo active;; stop) echo no >&2; exit 1;; esac");
    let unit = machine.path("root/etc/systemd/system/gpud.service");
    fs::create_dir_all(unit.parent().unwrap()).unwrap();
    fs::write(&unit, UNIT).unwrap();
    let (code, stdout, stderr) = said(&machine.up(&[]));
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert_eq!(
        stderr,
        "✘ failed to stop GPUd: systemctl stop: exit status 1: no\n"
    );
    assert_eq!(fs::read_to_string(&unit).unwrap(), UNIT);
}
