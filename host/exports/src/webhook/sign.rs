//! Signatures of requests, as the Standard Webhooks specification has them.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::secret::SecretValue;

/// The beginning of keys in the specification's own form; the rest is base64.
const PREFIX: &str = "whsec_";

/// Returns the header `webhook-signature` of a request.
///
/// A key that begins with `whsec_` is base64 behind that; any other key is taken as it is. Two keys, one a line, give two
/// signatures, so that a key can be replaced while the receiver has only one of them.
///
/// # Errors
/// The text after `whsec_` is not base64.
pub fn signature(
    keys: &SecretValue,
    id: &str,
    timestamp: &str,
    body: &[u8],
) -> Result<String, &'static str> {
    let lines = keys.expose().lines().filter(|line| !line.is_empty());
    let signatures = lines.map(|key| {
        let key = match key.strip_prefix(PREFIX) {
            Some(encoded) => BASE64
                .decode(encoded)
                .map_err(|_| "what follows whsec_ is no base64")?,
            None => key.as_bytes().to_vec(),
        };
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).map_err(|_| "the key is no key")?;
        for part in [id.as_bytes(), b".", timestamp.as_bytes(), b".", body] {
            mac.update(part);
        }
        Ok(format!("v1,{}", BASE64.encode(mac.finalize().into_bytes())))
    });
    let signatures: Result<Vec<String>, &'static str> = signatures.collect();
    Ok(signatures?.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sign(keys: &str) -> Result<String, &'static str> {
        let body = br#"{"test": 2432232314}"#;
        signature(
            &SecretValue::new(keys),
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            "1614265330",
            body,
        )
    }

    /// The example of the specification's libraries.
    #[test]
    fn the_signature_is_that_of_the_specification() {
        let expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        let key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        assert_eq!(sign(key).unwrap(), expected);
        let both = sign(&format!("{key}\nplain text")).unwrap();
        assert!(both.starts_with(&format!("{expected} v1,")), "{both}");
        assert!(sign("whsec_%").is_err());
    }
}
