//! The environment of programs and scripts.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    sync::{PoisonError, RwLock},
};

/// The system's folders for programs. What plugins run is looked up here, not in the daemon's own `PATH`.
pub const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Parts of names of gpud's own variables that hold secrets.
const SECRET_PARTS: [&str; 7] = [
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "CREDENTIAL",
    "KEY",
    // The addresses of chat tools are secrets.
    "WEBHOOK",
];

/// Variables without gpud's prefix that hold secrets of exports, and gpud's own addresses, which can hold a password.
const SECRETS: &[&str] = &[
    "AWS_ACCESS_KEY_ID",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_TOKEN",
    "CREDENTIALS_DIRECTORY",
    "GPUD_OTLP_ENDPOINT",
    "HTTP_AUTH_TOKEN",
    "POSTGRES_PASSWORD",
];

/// Variables that the configuration names as secrets.
static WITHHELD: RwLock<BTreeSet<OsString>> = RwLock::new(BTreeSet::new());

/// Keeps variables that the configuration names as secrets out of the environment of all scripts from now on.
pub fn withhold<T: Into<OsString>>(names: impl IntoIterator<Item = T>) {
    let names = names.into_iter().map(Into::into);
    let mut withheld = WITHHELD.write().unwrap_or_else(PoisonError::into_inner);
    withheld.extend(names);
}

/// The environment of programs that plugins run. It does not depend on how the daemon was started. `LANG=C` and
/// `LC_ALL=C` have programs print what parsers expect.
pub fn fixed_env() -> Vec<(OsString, OsString)> {
    [
        ("PATH", PATH),
        ("HOME", "/"),
        ("LANG", "C"),
        ("LC_ALL", "C"),
    ]
    .map(|(name, value)| (name.into(), value.into()))
    .into()
}

/// Whether a variable of the daemon's environment is kept from script plugins: its own secrets, among them headers of
/// OpenTelemetry's exporters, where systemd put the credentials of its unit, and those given to [`withhold`].
pub fn is_secret(name: &OsStr) -> bool {
    let withheld = WITHHELD.read().unwrap_or_else(PoisonError::into_inner);
    if withheld.contains(name) {
        return true;
    }
    let name = name.to_string_lossy().to_ascii_uppercase();
    let own = name.strip_prefix("GPUD_");
    let of_exporters = name.strip_prefix("OTEL_EXPORTER_OTLP_");
    SECRETS.contains(&name.as_str())
        || of_exporters.is_some_and(|rest| rest.ends_with("HEADERS"))
        || own.is_some_and(|rest| SECRET_PARTS.iter().any(|part| rest.contains(part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_the_daemon_are_known_by_their_names() {
        for (name, secret) in [
            ("GPUD_TOKEN", true),
            ("GPUD_API_TOKEN_FILE", true),
            ("gpud_registry_password", true),
            ("GPUD_SIGNING_KEY", true),
            ("GPUD_WEBHOOK_URL", true),
            ("CREDENTIALS_DIRECTORY", true),
            ("OTEL_EXPORTER_OTLP_HEADERS", true),
            ("OTEL_EXPORTER_OTLP_METRICS_HEADERS", true),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", false),
            ("GPUD_OTLP_ENDPOINT", true),
            ("POSTGRES_PASSWORD", true),
            ("HTTP_AUTH_TOKEN", true),
            ("AWS_SECRET_ACCESS_KEY", true),
            ("AWS_SESSION_TOKEN", true),
            ("AWS_REGION", false),
            ("GPUD_NVML_LIBRARY_PATH", false),
            ("GPUD_SESSION_PROTOCOL", false),
            ("PATH", false),
            ("ACME_TOKEN", false),
        ] {
            assert_eq!(is_secret(OsStr::new(name)), secret, "{name}");
        }
    }

    #[test]
    fn variables_that_the_configuration_names_are_secrets() {
        let name = OsStr::new("A_NAME_OF_THIS_TEST");
        assert!(!is_secret(name));
        withhold([name]);
        assert!(is_secret(name));
    }
}
