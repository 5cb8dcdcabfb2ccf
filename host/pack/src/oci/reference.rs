//! `host[:port]/name[:tag][@sha256:digest]`: which artifact of which registry.

use std::fmt;

use crate::PackRefusal;

/// Longest reference, bytes.
const MAX: usize = 512;

/// Which artifact of which registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// `host` or `host:port`.
    pub(super) host: String,
    /// The repository.
    pub(super) name: String,
    /// The tag; `latest` where neither tag nor digest is given.
    pub(super) tag: String,
    /// `sha256:` and 64 digits: then this very manifest is meant.
    pub(super) digest: Option<String>,
}

impl Reference {
    /// Reads one.
    ///
    /// # Errors
    /// [`PackRefusal`], saying what one looks like.
    pub fn parse(text: &str) -> Result<Self, PackRefusal> {
        read(text).ok_or_else(|| {
            PackRefusal(format!(
                "{text:?} is no reference such as registry.example.com/acme/sensors:1.2.0 or …@sha256:…"
            ))
        })
    }

    /// What a manifest is asked for by.
    pub(super) fn wanted(&self) -> &str {
        self.digest.as_deref().unwrap_or(&self.tag)
    }
}

fn read(text: &str) -> Option<Reference> {
    if text.len() > MAX {
        return None;
    }
    let (host, rest) = text.split_once('/')?;
    let (rest, digest) = match rest.split_once('@') {
        Some((rest, digest)) => (rest, Some(digest)),
        None => (rest, None),
    };
    let (name, tag) = match rest.split_once(':') {
        Some((name, tag)) => (name, tag),
        None => (rest, "latest"),
    };
    let (domain, port) = host.split_once(':').unwrap_or((host, "443"));
    let domain_fits = |byte: u8| byte.is_ascii_alphanumeric() || b".-".contains(&byte);
    let well = !domain.is_empty()
        && domain.bytes().all(domain_fits)
        && !domain.starts_with(['.', '-'])
        && port.parse::<u16>().is_ok_and(|port| port > 0)
        && name.split('/').all(is_part)
        && is_tag(tag)
        && digest.is_none_or(is_digest);
    well.then(|| Reference {
        host: host.to_owned(),
        name: name.to_owned(),
        tag: tag.to_owned(),
        digest: digest.map(str::to_owned),
    })
}

fn is_part(part: &str) -> bool {
    let edge = |byte: Option<u8>| {
        byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    let inner =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
    edge(part.bytes().next())
        && edge(part.bytes().last())
        && part.bytes().all(inner)
        && !part.contains("..")
}

fn is_tag(tag: &str) -> bool {
    let begins = tag
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    begins && tag.len() <= 128 && tag.bytes().all(inner)
}

/// Whether a text is a digest that can be verified here.
pub(super) fn is_digest(text: &str) -> bool {
    let digits = text.strip_prefix("sha256:").unwrap_or_default();
    digits.len() == 64
        && digits
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

impl fmt::Display for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            host,
            name,
            tag,
            digest,
        } = self;
        match digest {
            Some(digest) => write!(formatter, "{host}/{name}@{digest}"),
            None => write!(formatter, "{host}/{name}:{tag}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn references_are_read() {
        let digest = format!("sha256:{}", "a".repeat(64));
        let read = Reference::parse("localhost:5000/acme/sensors:1.2.0").unwrap();
        assert_eq!(
            (read.host.as_str(), read.name.as_str(), read.wanted()),
            ("localhost:5000", "acme/sensors", "1.2.0")
        );
        let read = Reference::parse(&format!("r.example.com/x@{digest}")).unwrap();
        assert_eq!(
            (read.tag.as_str(), read.wanted()),
            ("latest", digest.as_str())
        );
        assert_eq!(read.to_string(), format!("r.example.com/x@{digest}"));
        for wrong in [
            "",
            "x",
            "host/",
            "/name",
            "host/UPPER",
            "host/a//b",
            "host/../x",
            "host/a:",
            "host/a:-x",
            "ho st/a",
            "host:x/a",
            "host:0/a",
            "host/a@sha256:abc",
            "host/a@md5:x",
            "host/a?x",
            "user@host/a",
            "host/a b",
            "-host/a",
        ] {
            assert!(Reference::parse(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn what_is_read_is_written_the_same(text in "[a-z0-9.:/@_-]{0,60}") {
            if let Ok(read) = Reference::parse(&text) {
                prop_assert_eq!(Reference::parse(&read.to_string()).unwrap(), read);
            }
        }
    }
}
