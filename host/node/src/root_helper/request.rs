//! The requests of the daemon to the root helper, as bytes: the length of what follows, the kind, then fields of fixed order.
//!
//! Numbers are little-endian and have four bytes. Texts and lists have their length in front.

use std::time::Duration;

/// Largest request without its length, bytes: a script of the largest spec file, and room for the fields.
pub const MAX_REQUEST: usize = (4 << 20) + 64;
/// Most arguments of a program.
const MAX_ARGUMENTS: u32 = 64;

const OPEN_KERNEL_LOG: u8 = 1;
const RUN_PROGRAM: u8 = 2;
const RUN_SCRIPT: u8 = 3;

/// A request. There are no others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Open the kernel log that was named when the helper was started.
    OpenKernelLog,
    /// Run a program of the closed list.
    RunProgram {
        /// Its bounds.
        bounds: Bounds,
        /// Its name, without a folder.
        name: String,
        /// Its arguments.
        arguments: Vec<String>,
    },
    /// Run a script of a plugin that the operator named.
    RunScript {
        /// Its bounds.
        bounds: Bounds,
        /// Its text, byte for byte.
        script: Vec<u8>,
    },
}

/// The bounds of a run, which the helper lowers to its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Most time, milliseconds.
    pub timeout_ms: u32,
    /// Most bytes of each output stream.
    pub max_output: u32,
}

/// Bytes that are no request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a request to the root helper")]
pub struct BadRequest;

impl Bounds {
    /// Returns bounds as a request carries them; what does not fit becomes the largest number.
    pub fn new(timeout: Duration, max_output: usize) -> Self {
        Self {
            timeout_ms: u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX),
            max_output: u32::try_from(max_output).unwrap_or(u32::MAX),
        }
    }

    /// Returns the most time.
    pub fn timeout(self) -> Duration {
        Duration::from_millis(self.timeout_ms.into())
    }
}

impl Request {
    /// Returns the bytes to send, the length first.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut body = Vec::new();
        match self {
            Self::OpenKernelLog => body.push(OPEN_KERNEL_LOG),
            Self::RunProgram {
                bounds,
                name,
                arguments,
            } => {
                body.push(RUN_PROGRAM);
                put_bounds(&mut body, *bounds);
                put_bytes(&mut body, name.as_bytes());
                put_number(&mut body, length(arguments.len()));
                for argument in arguments {
                    put_bytes(&mut body, argument.as_bytes());
                }
            }
            Self::RunScript { bounds, script } => {
                body.push(RUN_SCRIPT);
                put_bounds(&mut body, *bounds);
                put_bytes(&mut body, script);
            }
        }
        let mut bytes = length(body.len()).to_le_bytes().to_vec();
        bytes.append(&mut body);
        bytes
    }

    /// Reads the bytes after the length.
    ///
    /// # Errors
    /// [`BadRequest`]: also for bytes that are left over.
    pub fn parse(body: &[u8]) -> Result<Self, BadRequest> {
        let mut rest = body;
        let request = take_request(&mut rest).ok_or(BadRequest)?;
        rest.is_empty().then_some(request).ok_or(BadRequest)
    }
}

fn take_request(rest: &mut &[u8]) -> Option<Request> {
    let kind = take(rest, 1)?;
    match *kind.first()? {
        OPEN_KERNEL_LOG => Some(Request::OpenKernelLog),
        RUN_PROGRAM => {
            let bounds = take_bounds(rest)?;
            let name = take_text(rest)?;
            let count = take_number(rest).filter(|count| *count <= MAX_ARGUMENTS)?;
            let arguments = (0..count).map(|_| take_text(rest)).collect::<Option<_>>()?;
            Some(Request::RunProgram {
                bounds,
                name,
                arguments,
            })
        }
        RUN_SCRIPT => Some(Request::RunScript {
            bounds: take_bounds(rest)?,
            script: take_bytes(rest)?.to_vec(),
        }),
        _ => None,
    }
}

fn take_bounds(rest: &mut &[u8]) -> Option<Bounds> {
    Some(Bounds {
        timeout_ms: take_number(rest)?,
        max_output: take_number(rest)?,
    })
}

fn put_bounds(bytes: &mut Vec<u8>, bounds: Bounds) {
    put_number(bytes, bounds.timeout_ms);
    put_number(bytes, bounds.max_output);
}

/// Appends a number.
pub(super) fn put_number(bytes: &mut Vec<u8>, number: u32) {
    bytes.extend(number.to_le_bytes());
}

/// Appends bytes with their length in front.
pub(super) fn put_bytes(bytes: &mut Vec<u8>, field: &[u8]) {
    put_number(bytes, length(field.len()));
    bytes.extend(field);
}

/// Returns a length as a field; what is longer than a field can say is refused as too long by the reader.
fn length(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// Takes so many bytes from the front.
pub(super) fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (front, back) = rest.split_at_checked(length)?;
    *rest = back;
    Some(front)
}

/// Takes a number from the front.
pub(super) fn take_number(rest: &mut &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(take(rest, 4)?.try_into().ok()?))
}

/// Takes bytes with their length from the front.
pub(super) fn take_bytes<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(take_number(rest)?).ok()?;
    take(rest, length)
}

/// Takes a text from the front.
pub(super) fn take_text(rest: &mut &[u8]) -> Option<String> {
    String::from_utf8(take_bytes(rest)?.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn requests() -> impl Strategy<Value = Request> {
        let bounds = || {
            (any::<u32>(), any::<u32>()).prop_map(|(timeout_ms, max_output)| Bounds {
                timeout_ms,
                max_output,
            })
        };
        let arguments = proptest::collection::vec(any::<String>(), 0..6);
        prop_oneof![
            Just(Request::OpenKernelLog),
            (bounds(), any::<String>(), arguments).prop_map(|(bounds, name, arguments)| {
                Request::RunProgram {
                    bounds,
                    name,
                    arguments,
                }
            }),
            (bounds(), any::<Vec<u8>>())
                .prop_map(|(bounds, script)| Request::RunScript { bounds, script }),
        ]
    }

    proptest! {
        #[test]
        fn a_request_is_read_as_it_was_written(request in requests()) {
            let bytes = request.to_bytes();
            let (length, body) = bytes.split_at(4);
            prop_assert_eq!(u32::from_le_bytes(length.try_into().unwrap()) as usize, body.len());
            prop_assert_eq!(Request::parse(body), Ok(request));
        }

        #[test]
        fn a_part_of_a_request_and_more_than_one_are_none(request in requests(), cut in any::<prop::sample::Index>()) {
            let bytes = request.to_bytes();
            let body = &bytes[4..];
            prop_assert_eq!(Request::parse(&body[..cut.index(body.len())]), Err(BadRequest));
            let longer = [body, b"x"].concat();
            prop_assert_eq!(Request::parse(&longer), Err(BadRequest));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in any::<Vec<u8>>()) {
            if let Ok(request) = Request::parse(&bytes) {
                let written = request.to_bytes();
                prop_assert_eq!(&written[4..], bytes.as_slice());
            }
        }
    }

    #[test]
    fn lengths_beyond_the_bytes_take_no_memory() {
        for body in [
            &b""[..],
            b"\x00",
            b"\x09",
            b"\x03\x01\x00\x00\x00\x01\x00\x00\x00\xff\xff\xff\xff",
            b"\x02\x01\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00a\xff\xff\xff\xff",
        ] {
            assert_eq!(Request::parse(body), Err(BadRequest), "{body:?}");
        }
    }
}
