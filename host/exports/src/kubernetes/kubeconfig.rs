//! Reads a kubeconfig: the address of the API server, whom to trust, and who we are.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use base64::Engine as _;
use serde::Deserialize;

/// How to reach a cluster. It may hold secrets, so it has no `Debug`.
#[derive(Clone, PartialEq)]
pub struct Cluster {
    /// Base address of the API server.
    pub server: String,
    /// Certificates of the API server's authority; the system's if there are none.
    pub authority: Option<InlineOrFile>,
    /// Token for the header `Authorization`.
    pub token: Option<InlineOrFile>,
    /// Certificate chain and key of the client.
    pub identity: Option<(InlineOrFile, InlineOrFile)>,
}

/// A credential: its bytes, or the file that holds them.
#[derive(Clone, PartialEq)]
pub enum InlineOrFile {
    /// In the kubeconfig.
    Inline(Vec<u8>),
    /// In a file, which may be replaced at any time.
    File(PathBuf),
}

impl Cluster {
    /// Returns the files that hold secrets.
    pub fn secret_files(&self) -> Vec<PathBuf> {
        let key = self.identity.as_ref().map(|(_, key)| key);
        let named = [self.token.as_ref(), key];
        named
            .into_iter()
            .flatten()
            .filter_map(|value| match value {
                InlineOrFile::File(path) => Some(path.clone()),
                InlineOrFile::Inline(_) => None,
            })
            .collect()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Document {
    #[serde(default)]
    current_context: String,
    #[serde(default)]
    clusters: Vec<NamedCluster>,
    #[serde(default)]
    contexts: Vec<NamedContext>,
    #[serde(default)]
    users: Vec<NamedUser>,
}

#[derive(Deserialize)]
struct NamedCluster {
    name: String,
    cluster: ClusterEntry,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct ClusterEntry {
    server: String,
    certificate_authority: Option<PathBuf>,
    certificate_authority_data: Option<String>,
    #[serde(default)]
    insecure_skip_tls_verify: bool,
    proxy_url: Option<String>,
    tls_server_name: Option<String>,
}

#[derive(Deserialize)]
struct NamedContext {
    name: String,
    context: ContextEntry,
}

#[derive(Deserialize)]
struct ContextEntry {
    cluster: String,
    #[serde(default)]
    user: String,
}

#[derive(Deserialize)]
struct NamedUser {
    name: String,
    #[serde(default)]
    user: Option<UserEntry>,
}

#[derive(Default, Clone, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct UserEntry {
    token: Option<String>,
    // The only key in this style.
    #[serde(rename = "tokenFile")]
    token_file: Option<PathBuf>,
    client_certificate: Option<PathBuf>,
    client_certificate_data: Option<String>,
    client_key: Option<PathBuf>,
    client_key_data: Option<String>,
    username: Option<String>,
    exec: Option<serde::de::IgnoredAny>,
    auth_provider: Option<serde::de::IgnoredAny>,
}

/// Reads a kubeconfig. `folder` is where it is: names of files are relative to it.
///
/// # Errors
/// It is none, or says something that gpud does not do. Nothing of it is repeated but names.
pub fn parse(text: &str, context: Option<&str>, folder: &Path) -> Result<Cluster, String> {
    let document: Document = serde_yaml::from_str(text).map_err(|error| {
        let place = error.location();
        let place = place.map(|at| format!("line {}, column {}: ", at.line(), at.column()));
        format!("{}it is no kubeconfig", place.unwrap_or_default())
    })?;
    let wanted = context.unwrap_or(&document.current_context);
    let found = document.contexts.into_iter().find(|one| one.name == wanted);
    let context = found
        .ok_or_else(|| format!("there is no context {wanted:?}"))?
        .context;
    let cluster = document
        .clusters
        .into_iter()
        .find(|one| one.name == context.cluster);
    let cluster = cluster
        .ok_or_else(|| format!("there is no cluster {:?}", context.cluster))?
        .cluster;
    let user = document
        .users
        .into_iter()
        .find(|one| one.name == context.user);
    let user = user.and_then(|one| one.user).unwrap_or_default();
    let in_folder = |path: PathBuf| InlineOrFile::File(folder.join(path));
    refuse_unsupported(&cluster, &user)?;
    let token = match (user.token_file, user.token) {
        (Some(path), _) => Some(in_folder(path)),
        (None, Some(token)) => Some(InlineOrFile::Inline(token.into_bytes())),
        (None, None) => None,
    };
    let material = |data: Option<String>, path: Option<PathBuf>, key: &str| match (data, path) {
        (Some(data), _) => decoded(&data, key).map(Some),
        (None, path) => Ok(path.map(in_folder)),
    };
    let authority = material(
        cluster.certificate_authority_data,
        cluster.certificate_authority,
        "certificate-authority-data",
    )?;
    let certificate = material(
        user.client_certificate_data,
        user.client_certificate,
        "client-certificate-data",
    )?;
    let key = material(user.client_key_data, user.client_key, "client-key-data")?;
    let identity = match (certificate, key) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        _ => return Err("the user has a certificate or a key, but not both".to_owned()),
    };
    let server = cluster.server.trim_end_matches('/').to_owned();
    let is_secret = token.is_some();
    if is_secret && !server.starts_with("https://") && !is_loopback(&server) {
        return Err("the server is not https, so the token is not sent".to_owned());
    }
    Ok(Cluster {
        server,
        authority,
        token,
        identity,
    })
}

fn refuse_unsupported(cluster: &ClusterEntry, user: &UserEntry) -> Result<(), String> {
    for (is_there, key, instead) in [
        (
            cluster.insecure_skip_tls_verify,
            "insecure-skip-tls-verify",
            "name the authority",
        ),
        (
            cluster.proxy_url.is_some(),
            "proxy-url",
            "set HTTPS_PROXY for the daemon",
        ),
        (
            cluster.tls_server_name.is_some(),
            "tls-server-name",
            "use an address that is in the server's certificate",
        ),
        (
            user.exec.is_some(),
            "exec",
            "use a service account's token, as tokenFile",
        ),
        (
            user.auth_provider.is_some(),
            "auth-provider",
            "use a service account's token, as tokenFile",
        ),
        (
            user.username.is_some(),
            "username",
            "use a service account's token, as tokenFile",
        ),
    ] {
        if is_there {
            return Err(format!("gpud does not do {key}; {instead}"));
        }
    }
    Ok(())
}

fn decoded(data: &str, key: &str) -> Result<InlineOrFile, String> {
    let text: String = data.split_whitespace().collect();
    let bytes = base64::engine::general_purpose::STANDARD.decode(text);
    bytes
        .map(InlineOrFile::Inline)
        .map_err(|_| format!("{key} is no base64"))
}

fn is_loopback(server: &str) -> bool {
    let url = reqwest::Url::parse(server).ok();
    let host = url.as_ref().and_then(|url| url.host_str());
    host.is_some_and(|host| {
        host == "localhost"
            || host
                .trim_matches(['[', ']'])
                .parse::<std::net::IpAddr>()
                .is_ok_and(|ip| ip.is_loopback())
    })
}
