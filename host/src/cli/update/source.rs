//! The place of a release: a folder, an archive in a folder, or a URL of either. No other place is asked.

use std::{fmt, path::PathBuf};

use http::Uri;

use super::fetch;
use crate::node::local_file;

/// The end of an archive's name.
const ARCHIVE: &str = ".tar.gz";

/// Where a release is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleaseSource {
    place: ReleasePlace,
    archive: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ReleasePlace {
    Folder(PathBuf),
    /// Without a slash at its end.
    Url(String),
}

impl ReleaseSource {
    /// Reads what the operator named.
    ///
    /// # Errors
    /// Nothing is named, or a URL that is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() {
            return Err(
                "--from names the folder, the archive or the URL of the release; nothing else is asked for one"
                    .to_owned(),
            );
        }
        if !text.starts_with("http://") && !text.starts_with("https://") {
            let path = PathBuf::from(text);
            let name = path.file_name().and_then(|name| name.to_str());
            let archive = name
                .filter(|name| name.ends_with(ARCHIVE))
                .map(str::to_owned);
            let place = match archive {
                Some(_) => path.parent().map(PathBuf::from).unwrap_or_default(),
                None => path,
            };
            return Ok(Self {
                place: ReleasePlace::Folder(place),
                archive,
            });
        }
        // Not repeated: an address may hold a secret.
        let wrong = || {
            "--from is no URL such as https://host/path, without user, query and fragment"
                .to_owned()
        };
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        let authority = uri.authority().ok_or_else(wrong)?;
        let is_plain = !authority.as_str().contains('@') && !text.contains(['?', '#']);
        if !is_plain || authority.host().is_empty() {
            return Err(wrong());
        }
        let text = text.trim_end_matches('/');
        let (folder, archive) = match text.rsplit_once('/') {
            Some((folder, name)) if name.ends_with(ARCHIVE) => (folder, Some(name.to_owned())),
            _ => (text, None),
        };
        Ok(Self {
            place: ReleasePlace::Url(folder.to_owned()),
            archive,
        })
    }

    /// Returns the named archive, if one is named.
    pub fn archive(&self) -> Option<&str> {
        self.archive.as_deref()
    }

    /// Reads a file of the release of up to `max` bytes.
    ///
    /// # Errors
    /// It cannot be read, or is larger.
    pub async fn read(&self, name: &str, max: usize) -> Result<Vec<u8>, String> {
        match &self.place {
            ReleasePlace::Folder(folder) => {
                let path = folder.join(name);
                let shown = path.display().to_string();
                let reading = tokio::task::spawn_blocking(move || local_file::read(&path, max));
                reading
                    .await
                    .map_err(|error| error.to_string())?
                    .map_err(|error| format!("cannot read {shown}: {error}"))
            }
            ReleasePlace::Url(folder) => {
                let url = format!("{folder}/{name}");
                fetch::get(&url, max)
                    .await
                    .map_err(|why| format!("cannot fetch {url}: {why}"))
            }
        }
    }
}

impl fmt::Display for ReleaseSource {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            ReleasePlace::Folder(folder) if folder.as_os_str().is_empty() => {
                to.write_str("this folder")
            }
            ReleasePlace::Folder(folder) => folder.display().fmt(to),
            ReleasePlace::Url(url) => to.write_str(url),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn folders_archives_and_urls() {
        for (text, folder, archive) in [
            ("/srv/gpud", "/srv/gpud", None),
            ("./gpud-1.0.0-x.tar.gz", ".", Some("gpud-1.0.0-x.tar.gz")),
            (
                "gpud-1.0.0-x.tar.gz",
                "this folder",
                Some("gpud-1.0.0-x.tar.gz"),
            ),
            ("https://host:8443/gpud/", "https://host:8443/gpud", None),
            ("http://host/a/b.tar.gz", "http://host/a", Some("b.tar.gz")),
        ] {
            let source = ReleaseSource::parse(text).unwrap();
            assert_eq!(
                (source.to_string().as_str(), source.archive()),
                (folder, archive),
                "{text}"
            );
        }
        for text in [
            "",
            " ",
            "https://",
            "http://u:p@host/x",
            "https://host/x?token=y",
            "https://host/#x",
        ] {
            let error = ReleaseSource::parse(text).unwrap_err();
            assert!(error.starts_with("--from "), "{text}: {error}");
            assert!(
                !error.contains("u:p") && !error.contains("token"),
                "{error}"
            );
        }
    }

    #[tokio::test]
    async fn files_are_read_within_a_bound() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("f"), "12345").unwrap();
        let source = ReleaseSource::parse(folder.path().to_str().unwrap()).unwrap();
        assert_eq!(source.read("f", 5).await.unwrap(), b"12345");
        assert!(
            source
                .read("f", 4)
                .await
                .unwrap_err()
                .contains("larger than 4 bytes")
        );
        assert!(
            source
                .read("g", 4)
                .await
                .unwrap_err()
                .starts_with("cannot read /")
        );
    }

    proptest! {
        #[test]
        fn any_text_is_a_place_or_refused(text in "(https?://)?[ -~]{0,60}") {
            if let Ok(source) = ReleaseSource::parse(&text) {
                prop_assert!(source.archive().is_none_or(|name| !name.contains('/')));
            }
        }
    }
}
