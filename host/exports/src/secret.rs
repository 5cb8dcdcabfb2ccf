//! Secrets, which the file of exports names but does not hold.

use std::{
    fmt,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, Unexpected},
};

/// Largest file with a secret, bytes.
pub const MAX_BYTES: usize = 64 << 10;

/// Where secrets are read.
pub trait SecretSource: fmt::Debug + Send + Sync {
    /// Reads a file of at most [`MAX_BYTES`]. It may block.
    ///
    /// # Errors
    /// Why not, naming the file.
    fn file(&self, path: &Path) -> Result<Vec<u8>, String>;

    /// Returns true if a program that runs as this user of this machine may have a secret that is meant for `owner`, a
    /// user by name or number. Root may, and the daemon's own user. It may block.
    fn may_receive(&self, uid: u32, owner: &str) -> bool {
        uid == 0 || owner.parse::<u32>() == Ok(uid)
    }

    /// Checks that the program which serves a TCP connection of this process may have what is sent without TLS: on another
    /// machine any, on this one a program of root, of the daemon's own user, and of the user that is named, by name or
    /// number; with [`ANY_USER`](crate::peer::ANY_USER) any. `local` is our end. It may block.
    ///
    /// # Errors
    /// Whose program it is, and what to do.
    fn check_server(
        &self,
        local: SocketAddr,
        remote: SocketAddr,
        named: Option<&str>,
    ) -> Result<(), String>;

    /// Returns a variable of the environment.
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}

/// The place of a secret: `env:NAME` or `file:/path`. It is read at each use.
#[derive(Clone, PartialEq, Eq)]
pub enum Secret {
    /// A variable of the daemon's environment.
    Variable(String),
    /// A file, without the line break at its end.
    File(PathBuf),
}

/// A secret's value. Neither `Debug` nor `Display` shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretValue(String);

/// Why a secret cannot be used. The secret is not in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// There is no such variable.
    #[error("the environment variable {0} is not set; set it for the daemon, or name a file")]
    NoVariable(String),
    /// The file cannot be read.
    #[error("the secret cannot be read: {0}")]
    File(String),
    /// There is nothing in it.
    #[error("{0} is empty; write the secret into it")]
    Empty(Secret),
    /// It is binary.
    #[error("{0} is not text in UTF-8 without control characters")]
    NotText(Secret),
}

impl Secret {
    /// Reads a reference. `None` for anything else, which may be a secret itself.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(name) = text.strip_prefix("env:") {
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let fits = !name.is_empty() && name.chars().all(is_name);
            return fits.then(|| Self::Variable(name.to_owned()));
        }
        let path = Path::new(text.strip_prefix("file:")?);
        path.is_absolute().then(|| Self::File(path.to_owned()))
    }

    /// Returns the file that it is in, if it is in one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Variable(_) => None,
            Self::File(path) => Some(path),
        }
    }

    /// Returns the name of the variable that it is in, if it is in one.
    pub fn variable(&self) -> Option<&str> {
        match self {
            Self::Variable(name) => Some(name),
            Self::File(_) => None,
        }
    }

    /// Returns the names of variables that a text mentions as `env:NAME`, for a file of exports with an error.
    pub fn variables_in(text: &str) -> impl Iterator<Item = &str> {
        text.split("env:").skip(1).filter_map(|rest| {
            let name = rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            name.take(1).find(|name| !name.is_empty())
        })
    }

    /// Reads the secret.
    ///
    /// # Errors
    /// [`SecretError`].
    pub async fn read(&self, source: &Arc<dyn SecretSource>) -> Result<SecretValue, SecretError> {
        let text = match self {
            Self::Variable(name) => source
                .variable(name)
                .ok_or_else(|| SecretError::NoVariable(name.clone()))?,
            Self::File(path) => {
                let (source, path) = (Arc::clone(source), path.clone());
                let read = tokio::task::spawn_blocking(move || source.file(&path)).await;
                let bytes = read
                    .unwrap_or_else(|error| Err(error.to_string()))
                    .map_err(SecretError::File)?;
                String::from_utf8(bytes).map_err(|_| SecretError::NotText(self.clone()))?
            }
        };
        let text = text.trim_end_matches(['\r', '\n']);
        if text.is_empty() {
            return Err(SecretError::Empty(self.clone()));
        }
        if text.contains(|c: char| c.is_control() && c != '\n') {
            return Err(SecretError::NotText(self.clone()));
        }
        Ok(SecretValue(text.to_owned()))
    }
}

impl SecretValue {
    /// Takes a value that is known already.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Gives the secret out, to be sent and nothing else.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "env:{name}"),
            Self::File(path) => write!(f, "file:{}", path.display()),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        // The text is not repeated: it may be the secret.
        let wanted = &"the name of a secret, env:NAME or file:/absolute/path";
        Self::parse(&text)
            .ok_or_else(|| D::Error::invalid_value(Unexpected::Other("a text"), wanted))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Reads any file, as tests need it.
    #[derive(Debug)]
    pub struct AnyFile;

    impl SecretSource for AnyFile {
        fn file(&self, path: &Path) -> Result<Vec<u8>, String> {
            std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
        }

        fn check_server(
            &self,
            _local: SocketAddr,
            _remote: SocketAddr,
            _named: Option<&str>,
        ) -> Result<(), String> {
            Ok(())
        }

        fn variable(&self, name: &str) -> Option<String> {
            (name == "GPUD_TEST_TOKEN").then(|| "from the environment".to_owned())
        }
    }

    #[test]
    fn a_reference_is_no_secret() {
        assert_eq!(
            Secret::parse("env:A_1"),
            Some(Secret::Variable("A_1".into()))
        );
        assert_eq!(Secret::parse("file:/a"), Some(Secret::File("/a".into())));
        for text in ["hunter2", "env:", "env:a b", "file:a", "", "vault:x"] {
            assert_eq!(Secret::parse(text), None, "{text}");
        }
        let problem = serde_json::from_str::<Secret>("\"hunter2\"").unwrap_err();
        assert!(!problem.to_string().contains("hunter2"), "{problem}");
        assert!(
            problem.to_string().contains("file:/absolute/path"),
            "{problem}"
        );
    }

    #[test]
    fn variables_are_found_in_a_file_that_cannot_be_read() {
        let text = "exports: [{url: env:A_1, \"env:\", token: 'env:TOKEN'}, env:LAST";
        let found: Vec<_> = Secret::variables_in(text).collect();
        assert_eq!(found, ["A_1", "TOKEN", "LAST"]);
        assert_eq!(Secret::Variable("A".to_owned()).variable(), Some("A"));
        assert_eq!(Secret::File("/a".into()).variable(), None);
    }

    #[tokio::test]
    async fn it_is_read_at_each_use_and_never_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let source: Arc<dyn SecretSource> = Arc::new(AnyFile);
        let secret = Secret::File(path.clone());
        let problem = secret.read(&source).await.unwrap_err();
        assert!(problem.to_string().contains("token"), "{problem}");
        for text in ["one\n", "two\r\n"] {
            std::fs::write(&path, text).unwrap();
            let value = secret.read(&source).await.unwrap();
            assert_eq!(value.expose(), text.trim_end());
            assert_eq!(format!("{value:?}"), "[secret]");
        }
        std::fs::write(&path, "\n").unwrap();
        assert_eq!(
            secret.read(&source).await,
            Err(SecretError::Empty(secret.clone()))
        );
        std::fs::write(&path, "a\0b").unwrap();
        assert_eq!(
            secret.read(&source).await,
            Err(SecretError::NotText(secret))
        );
        let known = Secret::Variable("GPUD_TEST_TOKEN".into());
        assert_eq!(
            known.read(&source).await.unwrap().expose(),
            "from the environment"
        );
        let problem = Secret::Variable("NOT_SET".into())
            .read(&source)
            .await
            .unwrap_err();
        assert!(
            problem.to_string().contains("NOT_SET is not set"),
            "{problem}"
        );
    }
}
