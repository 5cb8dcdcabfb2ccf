//! Base64 with line breaks in it, as GPUd takes it.

use ::base64::{
    Engine as _, alphabet,
    engine::{GeneralPurpose, GeneralPurposeConfig},
};

/// Padding is mandatory. Left-over bits of the last group are ignored, as Go does.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// Text that is not base64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "not base64: the standard alphabet, padded with = to a multiple of four characters, is expected"
)]
pub struct InvalidBase64;

/// Decodes the standard alphabet. CR and LF are skipped wherever they are.
///
/// # Errors
/// [`InvalidBase64`].
pub fn decode(text: &str) -> Result<Vec<u8>, InvalidBase64> {
    let bytes = text.bytes();
    let line: Vec<u8> = bytes
        .filter(|byte| !matches!(byte, b'\r' | b'\n'))
        .collect();
    LENIENT.decode(line).map_err(|_| InvalidBase64)
}
