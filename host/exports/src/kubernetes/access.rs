//! Finds the API server and the name of this machine's node.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    kubeconfig::{self, Cluster, InlineOrFile},
    settings::{self, Settings},
};
use crate::{
    Context, DeliveryError, NodeIdentity,
    secret::{Secret, SecretSource},
};

/// Variable with the node's name, as a pod's specification sets it from `spec.nodeName`.
const NODE_NAME: &str = "NODE_NAME";

/// Returns how to reach the cluster: as the kubeconfig says, or as a pod does.
///
/// # Errors
/// A transient error: files may be corrected or appear.
pub async fn cluster(settings: &Settings, context: &Context) -> Result<Cluster, DeliveryError> {
    let Some(Secret::File(path)) = &settings.kubeconfig else {
        return of_pod(settings, context).map_err(DeliveryError::transient);
    };
    let bytes = read_file(context, path).await?;
    parse(settings, path, bytes)
        .map_err(|why| DeliveryError::transient(format!("{}: {why}", path.display())))
}

fn parse(settings: &Settings, path: &Path, bytes: Vec<u8>) -> Result<Cluster, String> {
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    kubeconfig::parse(&text, settings.context.as_deref(), folder)
}

/// Returns the files with secrets that the kubeconfig names, as far as it can be read. It blocks.
pub fn secret_files(settings: &Settings, source: &dyn SecretSource) -> Vec<PathBuf> {
    let Some(Secret::File(path)) = &settings.kubeconfig else {
        return Vec::new();
    };
    let read = source.file(path);
    let cluster = read.and_then(|bytes| parse(settings, path, bytes));
    cluster.map_or_else(|_| Vec::new(), |cluster| cluster.secret_files())
}

/// Returns how a pod reaches the cluster that it runs in.
fn of_pod(settings: &Settings, context: &Context) -> Result<Cluster, String> {
    let variable = |name: &str| {
        let value = context.environment.secrets.variable(name);
        value.filter(|value| !value.is_empty())
    };
    let host = variable("KUBERNETES_SERVICE_HOST").ok_or(
        "this is no pod (KUBERNETES_SERVICE_HOST is not set); name a kubeconfig in the file of exports",
    )?;
    let port = variable("KUBERNETES_SERVICE_PORT").unwrap_or_else(|| "443".to_owned());
    let Secret::File(token) = &settings.token else {
        return Err("the service account's token is in no file".to_owned());
    };
    let host = match host.contains(':') {
        true => format!("[{host}]"),
        false => host,
    };
    Ok(Cluster {
        server: format!("https://{host}:{port}"),
        authority: Some(InlineOrFile::File(token.with_file_name("ca.crt"))),
        token: Some(InlineOrFile::File(token.clone())),
        identity: None,
    })
}

/// Returns the name of this machine's node: of the settings, of the pod, or the host's.
///
/// # Errors
/// There is none, or it cannot be one.
pub fn node_name(
    settings: &Settings,
    identity: &NodeIdentity,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let name = match &settings.node {
        Some(node) => match node.strip_prefix("env:") {
            Some(name) => {
                set(name).ok_or_else(|| format!("the environment variable {name} is not set"))?
            }
            None => node.clone(),
        },
        // Names of nodes have small letters only, and the kubelet makes them so.
        None => set(NODE_NAME).unwrap_or_else(|| identity.hostname.to_ascii_lowercase()),
    };
    match settings::is_domain(&name) {
        true => Ok(name),
        false => Err(format!(
            "{name:?} is no name of a node; set `node` in the file of exports, or {NODE_NAME}"
        )),
    }
}

/// Reads a file of credentials as it is now.
///
/// # Errors
/// A transient error that names the file.
pub async fn read_file(context: &Context, path: &Path) -> Result<Vec<u8>, DeliveryError> {
    let (secrets, path) = (Arc::clone(&context.environment.secrets), path.to_owned());
    let read = tokio::task::spawn_blocking(move || secrets.file(&path)).await;
    let read = read.unwrap_or_else(|error| Err(error.to_string()));
    read.map_err(DeliveryError::transient)
}

/// Returns bytes that stand in the kubeconfig or in a file.
///
/// # Errors
/// A transient error that names the file.
pub async fn read(context: &Context, value: &InlineOrFile) -> Result<Vec<u8>, DeliveryError> {
    match value {
        InlineOrFile::Inline(bytes) => Ok(bytes.clone()),
        InlineOrFile::File(path) => read_file(context, path).await,
    }
}

#[cfg(test)]
mod tests;
