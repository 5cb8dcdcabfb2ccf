//! Variables of the environment that gpud reads. Each has its row in docs/security.md: what it means where root was started
//! with the environment of another user.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use crate::daemon::gpud;

/// Ways to the environment; the last one is that of exports.
const READERS: [&str; 8] = [
    "env::var(",
    "env::var_os(",
    "env::vars(",
    "env::vars_os(",
    "env::temp_dir",
    "trusted::input(",
    "::from_env()",
    "variable(\"",
];

/// The files of `host/` that read the environment, and the variables that they name. A file that hands the environment to
/// programs names none here: docs/security.md has sections of its own for that. Nor do files that are given a name.
const FILES: [(&str, &[&str]); 29] = [
    ("exports/src/inventory/environment.rs", INVENTORY),
    (
        "exports/src/kubernetes/access.rs",
        &[
            "KUBERNETES_SERVICE_HOST",
            "KUBERNETES_SERVICE_PORT",
            "NODE_NAME",
        ],
    ),
    ("exports/src/otlp/environment.rs", OPEN_TELEMETRY),
    ("exports/src/s3/bucket.rs", &["AWS_…"]),
    ("exports/src/secret.rs", &[]),
    ("node/src/files/machine_mounts.rs", &["GPUD_HOST_ROOT"]),
    ("node/src/kmsg/mod.rs", &["KMSG_FILE_PATH"]),
    ("node/src/lib.rs", &[]),
    (
        "node/src/nvml/mod.rs",
        &[
            "GPUD_NVIDIA_DRIVER_ROOT",
            "GPUD_NVML_INJECT_CLOCK_EVENTS_HW_SLOWDOWN",
            "GPUD_NVML_INJECT_REMAPPED_ROWS_PENDING",
            "GPUD_NVML_LIBRARY_PATH",
            "GPUD_NVML_MOCK_ALL_SUCCESS",
        ],
    ),
    (
        "node/src/privileges.rs",
        &["HOSTALIASES", "LOCALDOMAIN", "RESOLV_", "TZ", "TZDIR"],
    ),
    ("node/src/process/child.rs", &[]),
    ("node/src/process/environment.rs", &[]),
    ("node/src/process/mod.rs", &["PATH"]),
    ("node/src/trusted/build_environment.rs", &[]),
    ("node/src/trusted/environment.rs", &[]),
    ("node/src/trusted/inputs.rs", &[]),
    ("runtime/src/capability/environment.rs", &[]),
    ("src/cli/checks.rs", &[]),
    ("src/cli/control_plane.rs", &["GPUD_SESSION_PROTOCOL"]),
    ("src/cli/data_dir.rs", &["HOME"]),
    ("src/cli/healthcheck/args.rs", &["SLURMD_NODENAME"]),
    ("src/cli/healthcheck/slurm/scontrol.rs", &["SLURM_CONF"]),
    ("src/cli/local_socket.rs", &["XDG_RUNTIME_DIR"]),
    ("src/cli/run/args.rs", &[]),
    (
        "src/cli/run/destinations.rs",
        &["GPUD_OTLP_ENDPOINT", "GPUD_WEBHOOK_URL"],
    ),
    (
        "src/cli/run/mod.rs",
        &["GPUD_WEBHOOK_SECRET", "HTTP_ENDPOINT"],
    ),
    ("src/cli/scan/mod.rs", &["HOME", "XDG_CACHE_HOME"]),
    (
        "src/cli/terminal.rs",
        &["CLICOLOR_FORCE", "COLUMNS", "NO_COLOR", "TERM"],
    ),
    (
        "src/service/notify.rs",
        &["NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC"],
    ),
];

/// Those of `--inventory-from-env`.
const INVENTORY: &[&str] = &[
    "CLUSTER_NAME",
    "EXPORTER_TYPE",
    "HTTP_AUTH_TOKEN",
    "HTTP_ENDPOINT",
    "HTTP_TIMEOUT",
    "NODE_NAME",
    "POD_NAME",
    "POD_NAMESPACE",
    "POSTGRES_AUTO_MIGRATE",
    "POSTGRES_DB",
    "POSTGRES_HOST",
    "POSTGRES_PASSWORD",
    "POSTGRES_PORT",
    "POSTGRES_SSLMODE",
    "POSTGRES_TABLE",
    "POSTGRES_USER",
    "S3_BUCKET",
    "S3_PARTITION_PATTERN",
    "S3_PREFIX",
    "S3_REGION",
];
/// Those that `--otlp-endpoint` reads as well.
const OPEN_TELEMETRY: &[&str] = &[
    "OTEL_EXPORTER_OTLP_CERTIFICATE",
    "OTEL_EXPORTER_OTLP_COMPRESSION",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_PROTOCOL",
    "OTEL_EXPORTER_OTLP_TIMEOUT",
    "OTEL_METRIC_EXPORT_INTERVAL",
    "OTEL_RESOURCE_ATTRIBUTES",
    "OTEL_SERVICE_NAME",
];

/// The code of a file without comments and without the tests at its end.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let code = text.split("\nmod tests {").next().unwrap_or_default();
    let lines = code.lines().filter(|line| {
        let line = line.trim_start();
        !line.starts_with("//")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The texts in a file's code that look like names of variables.
fn names(code: &str) -> BTreeSet<String> {
    let lines = code.lines().filter(|line| !line.contains("value_name"));
    let texts = lines.flat_map(|line| line.split('"').skip(1).step_by(2));
    let fits = |text: &&str| {
        let plain = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
        text.len() > 2 && text.contains('_') && text.bytes().all(plain)
    };
    texts.filter(fits).map(str::to_owned).collect()
}

/// Files below a folder that read the environment, with the names in them.
fn read_by(folder: &Path, root: &Path, found: &mut BTreeMap<String, BTreeSet<String>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !["tests", "benches", "target"].contains(&&*name) {
                read_by(&path, root, found);
            }
            continue;
        }
        let is_test = name == "tests.rs" || name == "build.rs" || name.ends_with("_tests.rs");
        if !name.ends_with(".rs") || is_test {
            continue;
        }
        let code = code(&path);
        if name == "environment.rs" || READERS.iter().any(|reader| code.contains(reader)) {
            let path = path.strip_prefix(root).unwrap().display().to_string();
            found.insert(path, names(&code));
        }
    }
}

#[test]
fn each_variable_that_is_read_is_classified() {
    let host = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = BTreeMap::new();
    read_by(host, host, &mut found);
    let listed: Vec<&str> = FILES.iter().map(|(file, _)| *file).collect();
    let reading: Vec<&str> = found.keys().map(String::as_str).collect();
    assert_eq!(
        reading, listed,
        "these files read the environment; classify what they read in docs/security.md, Variables of gpud"
    );
    let text = include_str!("../../docs/security.md");
    let (_, section) = text.split_once("\n## Variables of gpud\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    for (file, names) in FILES {
        for name in names {
            assert!(
                section.contains(&format!("`{name}`")),
                "{file} reads {name}, which has no row"
            );
        }
        // Files whose names are not listed hand the environment on, or are given a name.
        let others = found[file].iter().filter(|_| !names.is_empty());
        for name in others.filter(|name| !names.contains(&name.as_str())) {
            let is_elsewhere = FILES.iter().any(|(_, all)| all.contains(&name.as_str()));
            assert!(
                is_elsewhere || section.contains(&format!("`{name}`")),
                "{file} names {name}, which has no row"
            );
        }
    }
}

#[test]
fn a_command_says_that_the_gpus_it_shows_are_made_up() {
    for (value, is_said) in [("true", true), ("false", false)] {
        let output = gpud()
            .args(["scan", "--components=cpu"])
            .env("GPUD_NVML_MOCK_ALL_SUCCESS", value)
            .env("KMSG_FILE_PATH", "/dev/null")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let names_it = said.contains("made up") && said.contains("GPUD_NVML_MOCK_ALL_SUCCESS");
        assert_eq!(names_it, is_said, "{said}");
    }
}
