//! The container runtime, by its own answer over its CRI socket (`runtime.v1.RuntimeService/Version` of Kubernetes'
//! CRI). It is a socket of this machine: nothing leaves it.

use std::{path::Path, time::Duration};

use crate::node::net::grpc::{self, UnaryCall};

const CONTAINERD: &str = "/run/containerd/containerd.sock";
const CRIO: &str = "/run/crio/crio.sock";
const METHOD: &str = "/runtime.v1.RuntimeService/Version";
/// A runtime that is well answers in milliseconds; requests wait for this.
const LIMIT: Duration = Duration::from_secs(2);
const MAX_BYTES: u64 = 4096;
/// Longest version that is shown, bytes.
const MAX_VERSION: usize = 128;
/// `runtime_version` of `VersionResponse`, whose fields are all text.
const FIELD: u8 = 3;

/// What answers, as `containerd://1.7.27` or `cri-o://1.31.0`; `None` when nothing does.
pub async fn answering() -> Option<String> {
    if let Some(version) = ask(Path::new(CONTAINERD)).await {
        return Some(named("containerd", &version));
    }
    ask(Path::new(CRIO))
        .await
        .map(|version| named("cri-o", &version))
}

/// With the runtime's name in front, once.
pub fn named(runtime: &str, version: &str) -> String {
    let prefix = format!("{runtime}://");
    match version.starts_with(&prefix) {
        true => version.to_owned(),
        false => prefix + version,
    }
}

async fn ask(socket: &Path) -> Option<String> {
    let call = UnaryCall {
        method: METHOD.to_owned(),
        message: Vec::new(),
        max_bytes: MAX_BYTES,
        deadline: LIMIT,
    };
    let reply = grpc::unary(socket, &call).await.ok()?;
    (reply.status == 0)
        .then(|| version(&reply.message))
        .flatten()
}

/// Protobuf: tag, length, bytes, again and again. Anything else is no such answer.
fn version(message: &[u8]) -> Option<String> {
    const TEXT: u8 = 2;
    let mut rest = message;
    let mut found = None;
    while let [tag, length, after @ ..] = rest {
        // Lengths from 128 on take two bytes; no version has as many.
        if tag & 7 != TEXT || length & 0x80 != 0 {
            return None;
        }
        let (value, next) = after.split_at_checked(usize::from(*length))?;
        if tag >> 3 == FIELD {
            found = Some(value);
        }
        rest = next;
    }
    let text = String::from_utf8(found?.to_vec()).ok()?;
    let is_version = (1..=MAX_VERSION).contains(&text.len()) && !text.contains(char::is_control);
    (rest.is_empty() && is_version).then_some(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_runtimes_answer() {
        // As captured for the component `containerd`.
        let captured =
            include_bytes!("../../../builtin-plugins/containerd/src/captured/cri-version.bin");
        let found = version(captured).unwrap();
        assert!(found.chars().any(|c| c.is_ascii_digit()), "{found}");
        for (message, expected) in [
            (
                &b"\x0a\x050.1.0\x12\x05cri-o\x1a\x061.31.0\x22\x02v1"[..],
                Some("1.31.0"),
            ),
            (b"\x0a\x050.1.0", None),
            (b"\x1a\x061.31.", None),
            (b"\x1a\x00", None),
            (b"\x1a\x02\xff\xfe", None),
            (b"\x1a\x021\n", None),
            (b"\x18\x01", None),
            (b"\x1a\x011\x1a", None),
            (b"", None),
        ] {
            assert_eq!(version(message).as_deref(), expected, "{message:?}");
        }
    }

    #[test]
    fn the_name_stands_in_front_once() {
        assert_eq!(named("containerd", "v1.7.27"), "containerd://v1.7.27");
        assert_eq!(
            named("containerd", "containerd://1.7.27"),
            "containerd://1.7.27"
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(message: Vec<u8>) {
            version(&message);
        }
    }
}
