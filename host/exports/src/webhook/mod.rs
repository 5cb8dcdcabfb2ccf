//! Sends records to an HTTP endpoint: as CloudEvents 1.0, or as the body that a chat tool wants.
//!
//! With a `secret` each request is signed as the Standard Webhooks specification has it: the headers `webhook-id`,
//! `webhook-timestamp` and `webhook-signature` (`v1,` and the base64 of HMAC-SHA256 over id, timestamp and body).

pub mod cloudevent;
mod settings;
mod sign;
mod template;
#[cfg(test)]
mod tests;

use reqwest::{
    Method,
    header::{CONTENT_TYPE, HeaderValue},
};
use uuid::Uuid;

pub use settings::{KIND, Mode, Settings};
pub use sign::signature;
pub use template::{Template, TemplateError};

use crate::{
    Context, DeliveryError, Export, Record,
    http::{self, ExportClient},
};

/// The webhook at work.
#[derive(Debug)]
pub struct Webhook {
    settings: Settings,
    client: ExportClient,
}

/// One request.
#[derive(Debug, PartialEq)]
struct Outgoing {
    id: String,
    content_type: String,
    body: Vec<u8>,
}

impl Webhook {
    /// Makes one that has sent nothing yet.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            client: ExportClient::default(),
        }
    }

    /// Sends a sample and returns what happened.
    ///
    /// # Errors
    /// [`DeliveryError`].
    pub async fn send_sample(
        &mut self,
        sample: &Record,
        context: &Context,
    ) -> Result<String, DeliveryError> {
        let outgoing = self.outgoing(std::slice::from_ref(sample));
        for one in outgoing {
            self.send(one, context).await?;
        }
        Ok(format!("the sample {} was delivered", sample.id))
    }

    fn outgoing(&self, batch: &[Record]) -> Vec<Outgoing> {
        let json = |value: &serde_json::Value| value.to_string().into_bytes();
        let single = |record: &Record| Outgoing {
            id: record.id.to_string(),
            content_type: cloudevent::STRUCTURED.to_owned(),
            body: json(&cloudevent::event(record)),
        };
        if let Some(template) = &self.settings.template {
            let filled = |record: &Record| Outgoing {
                id: record.id.to_string(),
                content_type: self.settings.content_type().to_owned(),
                body: template
                    .fill(record, self.settings.content_type())
                    .into_bytes(),
            };
            return batch.iter().map(filled).collect();
        }
        match self.settings.mode {
            Mode::Structured => batch.iter().map(single).collect(),
            Mode::Batch => {
                let events = batch.iter().map(cloudevent::event).collect();
                vec![Outgoing {
                    id: batch_id(batch).to_string(),
                    content_type: cloudevent::BATCH.to_owned(),
                    body: json(&serde_json::Value::Array(events)),
                }]
            }
        }
    }

    async fn send(&mut self, outgoing: Outgoing, context: &Context) -> Result<(), DeliveryError> {
        let secrets = &context.environment.secrets;
        let url = self.settings.url.read(secrets).await;
        let url = url.map_err(DeliveryError::transient)?;
        let what = http::name_of(&Method::POST, &url);
        let ca_file = self.settings.ca_file.as_deref();
        let client = self.client.get(context, ca_file).await?;
        let mut request = client
            .post(&url)
            .timeout(context.timeout)
            .header(CONTENT_TYPE, outgoing.content_type);
        for (name, value) in &self.settings.headers {
            request = request.header(name.as_str(), value.as_str());
        }
        if let Some(token) = &self.settings.bearer_token {
            let token = context.secret(token).await?;
            let mut value = HeaderValue::try_from(format!("Bearer {}", token.expose()))
                .map_err(|_| DeliveryError::transient("the bearer token fits into no header"))?;
            value.set_sensitive(true);
            request = request.header(reqwest::header::AUTHORIZATION, value);
        }
        let timestamp = (context.now() / 1000).to_string();
        request = request
            .header("webhook-id", &outgoing.id)
            .header("webhook-timestamp", &timestamp);
        if let Some(secret) = &self.settings.secret {
            let key = context.secret(secret).await?;
            let signed = signature(&key, &outgoing.id, &timestamp, &outgoing.body)
                .map_err(|error| DeliveryError::transient(format!("{secret}: {error}")))?;
            request = request.header("webhook-signature", signed);
        }
        let answer = http::send(request.body(outgoing.body), &what).await?;
        answer.into_delivered(&what)
    }
}

impl Export for Webhook {
    async fn deliver(&mut self, batch: &[Record], context: &Context) -> Result<(), DeliveryError> {
        for outgoing in self.outgoing(batch) {
            self.send(outgoing, context).await?;
        }
        Ok(())
    }
}

/// Returns the id of a batch, which is the same when the same records are sent again.
fn batch_id(batch: &[Record]) -> Uuid {
    use sha2::{Digest as _, Sha256};
    let mut digest = Sha256::new();
    for record in batch {
        digest.update(record.id.as_bytes());
    }
    let mut bytes = [0; 16];
    let digest = digest.finalize();
    bytes.copy_from_slice(digest.get(..16).unwrap_or(&[0; 16]));
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}
