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
use crate::{
    Context, DeliveryError,
    http::{Confidential, ExportClient},
    secret::SecretValue,
    status::shortened,
};

/// Most characters of a code of a server's.
const MAX_CODE: usize = 64;
/// What the library's error has before the status of an answer, behind which it has the answer's body.
const STATUS: &str = "status code: ";
/// What it has before the body of an answer without one.
const RESPONSE: &str = "error response";

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
            let said = brief(&chain(&error), &self.confidential());
            let hint = hint(&said);
            let said = shortened(&said);
            let target = self.settings.shown();
            DeliveryError::transient(format!("{target}: {said}{hint}"))
        })
    }

    /// The keys that were used last, which no answer is shown with.
    fn confidential(&self) -> Confidential {
        let keys = self.open.as_ref().map(|((keys, _), _)| keys);
        Confidential::of_secrets(keys.into_iter().flat_map(|keys| {
            [&keys.secret_access_key, &keys.session_token]
                .into_iter()
                .flatten()
        }))
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

/// Returns an error with the server's code in place of its document, which would leave no room for more, and can repeat the
/// request with a session's token that only the library knows. What is not the library's own is shown as `confidential` lets it.
fn brief(said: &str, confidential: &Confidential) -> String {
    let code = said
        .split_once("<Code>")
        .and_then(|(_, rest)| rest.split_once("</Code>"));
    let code = code.map(|(code, _)| code).filter(|code| {
        code.len() <= MAX_CODE && code.bytes().all(|byte| byte.is_ascii_alphanumeric())
    });
    let status = said.split_once(STATUS).map(|(before, rest)| {
        let status = rest.split(": ").next().unwrap_or_default();
        format!("{before}{STATUS}{status}")
    });
    // A refusal in an answer of success.
    let answered = || Some(said.split_once(RESPONSE)?.0.to_owned() + RESPONSE);
    match (status.or_else(answered), code) {
        (Some(answer), Some(code)) => {
            format!("{answer}: {}", confidential.hide(code.to_owned()))
        }
        (Some(answer), None) => answer,
        (None, _) => confidential.hide(said.to_owned()),
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

    fn confidential() -> Confidential {
        Confidential::of_secrets([&SecretValue::new("8Kq2Zt7Lm4Xw")])
    }

    #[test]
    fn a_servers_document_is_its_code() {
        let confidential = confidential();
        for (answer, is_shown_as) in [
            (
                "PUT http://h/b/k=1 - status code: 403 Forbidden: <?xml version=\"1.0\"?><Error><Code>SignatureDoesNotMatch</Code></Error>",
                "PUT http://h/b/k=1 - status code: 403 Forbidden: SignatureDoesNotMatch",
            ),
            ("error sending request", "error sending request"),
            (
                "x status code: 502 Bad Gateway: token ab",
                "x status code: 502 Bad Gateway",
            ),
            ("x status code: 500 Oops", "x status code: 500 Oops"),
            (
                "x status code: 403 Forbidden: <Code>&lt;b</Code>",
                "x status code: 403 Forbidden",
            ),
            (
                "Server returned error response: <Error><Code>SlowDown</Code>",
                "Server returned error response: SlowDown",
            ),
        ] {
            assert_eq!(brief(answer, &confidential), is_shown_as);
        }
    }

    #[test]
    fn a_code_that_repeats_a_secret_is_not_shown() {
        for code in ["8Kq2Zt7Lm4Xw", "x8kq2zt7lm4xw", "8Kq2", "wX4mL7tZ2qK8"] {
            let answer = format!("x status code: 403 Forbidden: <Code>{code}</Code>");
            let shown = brief(&answer, &confidential());
            assert!(shown.starts_with("x status code: 403 Forbidden: "));
            assert!(!shown.contains(code), "{shown}");
        }
    }

    #[test]
    fn advice_follows_from_the_status_or_the_code() {
        for (said, advice) in [
            (
                "x status code: 403 Forbidden",
                "look at the export's credentials",
            ),
            ("SignatureDoesNotMatch", "look at the export's credentials"),
            ("404 Not Found: NoSuchBucket", "make the bucket"),
        ] {
            assert!(hint(said).contains(advice), "{said}");
        }
    }
}
