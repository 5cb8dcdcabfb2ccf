//! Small conveniences over the raw capabilities.

/// Files of sysfs and procfs; see [`crate::bindings::gpud::plugin::sysfs`] for all of it.
pub mod sysfs {
    pub use crate::bindings::gpud::plugin::sysfs::*;

    /// A file as text, with [`text`] where it is not UTF-8.
    ///
    /// # Errors
    /// As [`read`].
    pub fn read_to_string(path: &str, max_bytes: u32) -> Result<String, AccessError> {
        read(path, max_bytes).map(text)
    }

    /// Bytes as text. One that is no part of UTF-8 becomes `\xff`: gpud shows names so, and opens a path that is written so.
    pub fn text(bytes: Vec<u8>) -> String {
        use std::fmt::Write as _;
        let bytes = match String::from_utf8(bytes) {
            Ok(text) => return text,
            Err(error) => error.into_bytes(),
        };
        let mut text = String::with_capacity(bytes.len() + 16);
        for chunk in bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            for byte in chunk.invalid() {
                // Writing to a string never fails.
                let _ = write!(text, "\\x{byte:02x}");
            }
        }
        text
    }

    #[cfg(test)]
    mod tests {
        #[test]
        fn bytes_that_are_no_text_are_escaped() {
            assert_eq!(
                super::text(b"/d\xffta \xc3\xa4".to_vec()),
                "/d\\xffta \u{e4}"
            );
            assert_eq!(super::text(b"plain".to_vec()), "plain");
        }
    }
}

/// Values that survive from call to call.
pub mod state {
    pub use crate::bindings::gpud::plugin::state::*;

    /// A value as text, if it is there and is UTF-8.
    ///
    /// # Errors
    /// As [`get`].
    pub fn get_string(key: &str) -> Result<Option<String>, AccessError> {
        Ok(get(key)?.and_then(|bytes| String::from_utf8(bytes).ok()))
    }

    /// Stores a text, unless it is the one that was there.
    ///
    /// # Errors
    /// As [`set`].
    pub fn set_changed(key: &str, before: Option<&str>, now: &str) -> Result<(), AccessError> {
        match before {
            Some(before) if before == now => Ok(()),
            _ => set(key, now.as_bytes()),
        }
    }
}

/// Services on this machine; see [`crate::bindings::gpud::plugin::net`] for all of it.
pub mod net {
    pub use crate::bindings::gpud::plugin::net::*;

    /// gRPC's status code of a method that the service does not have.
    pub const GRPC_UNIMPLEMENTED: u32 = 12;

    /// The answer to a GET request without further headers.
    ///
    /// # Errors
    /// As [`http_get`].
    pub fn get(
        endpoint: Endpoint,
        path: &str,
        max_body_bytes: u32,
        timeout_ms: u32,
    ) -> Result<Response, AccessError> {
        http_get(&Request {
            endpoint,
            path: path.to_owned(),
            headers: Vec::new(),
            max_body_bytes,
            timeout_ms,
        })
    }

    /// The answer to a gRPC request over a unix socket; `message` is encoded already.
    ///
    /// # Errors
    /// As [`grpc_unary`].
    pub fn grpc(
        socket: &str,
        method: &str,
        message: &[u8],
        max_message_bytes: u32,
        timeout_ms: u32,
    ) -> Result<GrpcResponse, AccessError> {
        grpc_unary(&GrpcRequest {
            socket: socket.to_owned(),
            method: method.to_owned(),
            message: message.to_vec(),
            max_message_bytes,
            timeout_ms,
        })
    }

    impl Response {
        /// What an answer that is not 200 says, for a person: its status, and of its body the first line.
        pub fn refusal(&self) -> String {
            let body = String::from_utf8_lossy(self.body.get(..512).unwrap_or(&self.body));
            match body.lines().map(str::trim).find(|line| !line.is_empty()) {
                Some(line) => format!("HTTP status {}: {line}", self.status),
                None => format!("HTTP status {}", self.status),
            }
        }
    }
}
