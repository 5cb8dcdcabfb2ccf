//! Writes events and changes of health as objects into a bucket of S3, or of anything that speaks its protocol.
//!
//! A batch becomes one object for each hour that it is about. An object has the name of its first record's id. After a
//! failure the same records come again from the same one on, so a repeat overwrites what was written before.

mod bucket;
mod client;
mod object;
mod settings;

use std::time::Duration;

pub use settings::{BucketSettings, CredentialSource, Format, KIND, Settings};

pub(crate) use bucket::Bucket;
pub(crate) use object::{Object, json_lines};

use crate::{Context, DeliveryError, Export, Record, row::Row, row_origin};

/// The bucket at work.
#[derive(Debug)]
pub struct S3 {
    settings: Settings,
    bucket: Bucket,
}

impl S3 {
    /// Makes one that has written nothing yet.
    pub fn new(settings: Settings) -> Self {
        Self {
            bucket: Bucket::new(settings.bucket.clone()),
            settings,
        }
    }

    /// Writes a sample and returns what happened.
    ///
    /// # Errors
    /// [`DeliveryError`].
    pub async fn send_sample(
        &mut self,
        sample: &Record,
        context: &Context,
    ) -> Result<String, DeliveryError> {
        let mut written = Vec::new();
        for object in self.objects(std::slice::from_ref(sample), context)? {
            self.bucket.put(&object, context).await?;
            written.push(object.key);
        }
        Ok(format!("the sample is the object {}", written.join(", ")))
    }

    fn objects(&self, batch: &[Record], context: &Context) -> Result<Vec<Object>, DeliveryError> {
        let mut rows = Vec::new();
        for record in batch {
            let hostname = &record.node.hostname;
            let node = row_origin::node_name(self.settings.node.as_deref(), hostname, context)?;
            rows.push((record.time, Row::of(record, &self.settings.cluster, &node)));
        }
        object::of_rows(&rows, &self.settings)
            .map_err(|error| DeliveryError::transient(error.to_string()))
    }
}

impl Export for S3 {
    async fn deliver(&mut self, batch: &[Record], context: &Context) -> Result<(), DeliveryError> {
        for object in self.objects(batch, context)? {
            self.bucket.put(&object, context).await?;
        }
        Ok(())
    }

    fn gather(&self) -> Duration {
        self.settings.gather()
    }
}
