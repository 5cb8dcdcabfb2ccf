//! A bucket, by the library `object_store`.

use std::{error::Error as _, sync::Arc};

use object_store::{
    Attribute, AttributeValue, Attributes, ObjectStore as _, PutOptions, PutPayload, RetryConfig,
    aws::{AmazonS3, AmazonS3Builder},
    path::Path,
};

use super::{
    client::SharedClient,
    object::Object,
    settings::{BucketSettings, CredentialSource},
};
use crate::{Context, DeliveryError, http::ExportClient, secret::SecretValue, status::shortened};

/// A bucket that objects are written to.
pub struct Bucket {
    settings: BucketSettings,
    client: ExportClient,
    /// Made when it is first needed, and again when the keys or the client are others.
    open: Option<((Keys, u64), Arc<AmazonS3>)>,
}

/// The keys of the settings, as they are now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Keys {
    access_key_id: Option<SecretValue>,
    secret_access_key: Option<SecretValue>,
    session_token: Option<SecretValue>,
}

/// Without the library's own text, which may hold keys.
impl std::fmt::Debug for Bucket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Bucket({})", self.settings.shown())
    }
}

impl Bucket {
    /// Makes one that nothing was written to yet.
    pub fn new(settings: BucketSettings) -> Self {
        Self {
            settings,
            client: ExportClient::default(),
            open: None,
        }
    }

    /// Writes an object in place of the one of its name.
    ///
    /// # Errors
    /// A transient error: no object is at fault for what the server says.
    pub async fn put(&mut self, object: &Object, context: &Context) -> Result<(), DeliveryError> {
        let store = self.store(context).await?;
        let mut attributes = Attributes::new();
        attributes.insert(
            Attribute::ContentType,
            AttributeValue::from(object.content_type),
        );
        let options = PutOptions {
            attributes,
            ..PutOptions::default()
        };
        let path = Path::parse(&object.key).map_err(|error| {
            DeliveryError::transient(format!("{:?} is no name of an object: {error}", object.key))
        })?;
        let body = PutPayload::from(object.body.clone());
        let put = store.put_opts(&path, body, options).await;
        put.map(drop).map_err(|error| {
            let said = brief(&chain(&error));
            let hint = hint(&said);
            let said = shortened(&said);
            let target = self.settings.shown();
            DeliveryError::transient(format!("{target}: {said}{hint}"))
        })
    }

    async fn store(&mut self, context: &Context) -> Result<Arc<AmazonS3>, DeliveryError> {
        let keys = self.keys(context).await?;
        let ca_file = self.settings.ca_file.as_deref();
        let client = self.client.get(context, ca_file).await?;
        let used = (keys, self.client.count());
        if let Some((known, store)) = &self.open
            && *known == used
        {
            return Ok(Arc::clone(store));
        }
        let settings = &self.settings;
        let mut builder = match settings.credentials {
            Some(CredentialSource::Environment) => AmazonS3Builder::from_env(),
            Some(CredentialSource::Instance) | None => AmazonS3Builder::new(),
        };
        builder = builder
            .with_bucket_name(&settings.name)
            .with_http_connector(SharedClient::new(client))
            .with_allow_http(true)
            // The worker tries again, with pauses of its own.
            .with_retry(RetryConfig {
                max_retries: 0,
                retry_timeout: context.timeout,
                ..RetryConfig::default()
            });
        if let Some(region) = &settings.region {
            builder = builder.with_region(region);
        }
        // The environment may name an endpoint of its own, whose style is not known here.
        let says_style = settings.path_style.is_some() || settings.endpoint.is_some();
        if says_style || settings.credentials != Some(CredentialSource::Environment) {
            builder = builder.with_virtual_hosted_style_request(!settings.is_path_style());
        }
        if let Some(address) = settings.address() {
            builder = builder.with_endpoint(address);
        }
        if let Some(id) = &used.0.access_key_id {
            builder = builder.with_access_key_id(id.expose());
        }
        if let Some(key) = &used.0.secret_access_key {
            builder = builder.with_secret_access_key(key.expose());
        }
        if let Some(token) = &used.0.session_token {
            builder = builder.with_token(token.expose());
        }
        let store = builder.build().map_err(|error| {
            DeliveryError::transient(format!("{}: {}", settings.shown(), chain(&error)))
        })?;
        let store = Arc::new(store);
        self.open = Some((used, Arc::clone(&store)));
        Ok(store)
    }

    async fn keys(&self, context: &Context) -> Result<Keys, DeliveryError> {
        let mut keys = Keys::default();
        let settings = &self.settings;
        for (secret, value) in [
            (&settings.access_key_id, &mut keys.access_key_id),
            (&settings.secret_access_key, &mut keys.secret_access_key),
            (&settings.session_token, &mut keys.session_token),
        ] {
            if let Some(secret) = secret {
                *value = Some(context.secret(secret).await?);
            }
        }
        Ok(keys)
    }
}

/// Returns an error with its causes, each said once.
fn chain(error: &object_store::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let said = cause.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        source = cause.source();
    }
    text
}

/// Returns an error with the server's code in place of its document, which would leave no room for more.
fn brief(said: &str) -> String {
    let code = said
        .split_once("<Code>")
        .and_then(|(_, rest)| rest.split_once("</Code>"));
    match (said.split_once('<'), code) {
        (Some((before, _)), Some((code, _))) => format!("{before}{code}"),
        _ => said.to_owned(),
    }
}

fn hint(said: &str) -> &'static str {
    if [
        "InvalidAccessKeyId",
        "SignatureDoesNotMatch",
        "AccessDenied",
        "403 Forbidden",
        "401 Unauthorized",
    ]
    .iter()
    .any(|word| said.contains(word))
    {
        return "; look at the export's credentials";
    }
    if said.contains("NoSuchBucket") {
        return "; make the bucket, or look at its name";
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_document_is_its_code() {
        let said = "PUT http://h/b/k - status code: 403 Forbidden: <?xml version=\"1.0\"?><Error><Code>SignatureDoesNotMatch</Code></Error>";
        let brief_said = brief(said);
        assert_eq!(
            brief_said,
            "PUT http://h/b/k - status code: 403 Forbidden: SignatureDoesNotMatch"
        );
        assert_eq!(hint(&brief_said), "; look at the export's credentials");
        assert_eq!(brief("error sending request"), "error sending request");
        assert_eq!(brief("half <Code>a"), "half <Code>a");
        assert!(hint("404 Not Found: NoSuchBucket").contains("make the bucket"));
    }
}
