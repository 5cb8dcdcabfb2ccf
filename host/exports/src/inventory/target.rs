//! The destination of readings.

use std::io::Write as _;

use reqwest::{
    Client, Method,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue},
};

#[cfg(feature = "s3")]
use super::settings::S3Target;
#[cfg(feature = "postgres")]
use super::table::Serials;
use super::{
    reading::Reading,
    settings::{HttpTarget, Settings},
};
use crate::{
    Context, DeliveryError, UnixMillis,
    http::{self, ExportClient},
};
#[cfg(feature = "s3")]
use crate::{
    csv, partition,
    s3::{Bucket, Format, Object, json_lines},
};

/// A target at work.
#[derive(Debug)]
pub enum Target {
    /// The standard output.
    Stdout,
    /// An HTTP endpoint, with its client.
    Http(HttpTarget, Box<ExportClient>),
    /// A table.
    #[cfg(feature = "postgres")]
    Postgres(Box<Serials>),
    /// A bucket.
    #[cfg(feature = "s3")]
    S3(Box<(S3Target, Bucket)>),
}

impl Target {
    /// Makes the target of settings that were checked.
    pub fn new(settings: &Settings) -> Self {
        #[cfg(feature = "postgres")]
        if let Some(target) = &settings.postgres {
            return Self::Postgres(Box::new(Serials::new(target)));
        }
        #[cfg(feature = "s3")]
        if let Some(target) = &settings.s3 {
            let bucket = Bucket::new(target.bucket.clone());
            return Self::S3(Box::new((target.clone(), bucket)));
        }
        match &settings.http {
            Some(target) => Self::Http(target.clone(), Box::default()),
            None => Self::Stdout,
        }
    }

    /// Sends the readings of one look, at least one.
    ///
    /// # Errors
    /// [`DeliveryError`].
    pub async fn send(
        &mut self,
        readings: &[Reading],
        time: UnixMillis,
        context: &Context,
    ) -> Result<(), DeliveryError> {
        #[cfg(not(feature = "s3"))]
        let _ = time;
        match self {
            Self::Stdout => to_stdout(readings).await,
            Self::Http(target, client) => {
                let client = client.get(context, target.ca_file.as_deref()).await?;
                post(target, &client, readings, context).await
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(serials) => serials.insert(readings, context).await,
            #[cfg(feature = "s3")]
            Self::S3(place) => {
                let (target, bucket) = &mut **place;
                let object = object(target, readings, time)?;
                bucket.put(&object, context).await
            }
        }
    }
}

/// Writes a line of JSON for each reading, where a thread may block: the reader may be slow.
async fn to_stdout(readings: &[Reading]) -> Result<(), DeliveryError> {
    let mut text = Vec::new();
    for reading in readings {
        serde_json::to_writer(&mut text, reading)
            .map_err(|error| DeliveryError::transient(error.to_string()))?;
        text.push(b'\n');
    }
    let written = tokio::task::spawn_blocking(move || {
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(&text).and_then(|()| stdout.flush())
    });
    let written = written.await.map_err(std::io::Error::other);
    written
        .flatten()
        .map_err(|error| DeliveryError::transient(format!("the standard output: {error}")))
}

/// Sends readings as a JSON array, with gpuid's headers.
async fn post(
    target: &HttpTarget,
    client: &Client,
    readings: &[Reading],
    context: &Context,
) -> Result<(), DeliveryError> {
    let url = target.url.read(&context.environment.secrets).await;
    let url = url.map_err(DeliveryError::transient)?;
    let what = http::name_of(&Method::POST, &url);
    let body = serde_json::to_vec(readings)
        .map_err(|error| DeliveryError::transient(error.to_string()))?;
    let time = readings.first().map(|reading| reading.time.as_str());
    let mut request = client
        .post(&url)
        .timeout(context.timeout)
        .header(CONTENT_TYPE, "application/json")
        .header("x-records-count", readings.len())
        .header("x-timestamp", time.unwrap_or_default());
    if let Some(token) = &target.bearer_token {
        let token = context.secret(token).await?;
        let mut value = HeaderValue::try_from(format!("Bearer {}", token.expose()))
            .map_err(|_| DeliveryError::transient("the bearer token fits into no header"))?;
        value.set_sensitive(true);
        request = request.header(AUTHORIZATION, value);
    }
    let answer = http::send(request.body(body), &what).await?;
    answer.into_delivered(&what)
}

/// Makes the object of a look. The name has the time of the look, so a repeat overwrites it.
#[cfg(feature = "s3")]
fn object(
    target: &S3Target,
    readings: &[Reading],
    time: UnixMillis,
) -> Result<Object, DeliveryError> {
    let (cluster, node) = readings
        .first()
        .map(|first| (first.cluster.as_str(), first.node.as_str()))
        .unwrap_or_default();
    let folder = partition::folder(&target.prefix, target.partition(), time, cluster, node);
    let name = partition::file_name(time);
    let body = match target.format {
        Format::Json => {
            json_lines(readings).map_err(|error| DeliveryError::transient(error.to_string()))?
        }
        Format::Csv => {
            let mut text = String::new();
            for reading in readings {
                csv::push_line(&mut text, reading.columns());
            }
            text.into_bytes()
        }
    };
    Ok(Object {
        key: format!("{folder}/{name}.{}", target.format.ending()),
        content_type: target.format.content_type(),
        body,
    })
}

#[cfg(all(test, feature = "s3"))]
mod tests {
    use super::*;

    #[test]
    fn objects_are_headerless_csv_by_default() {
        let target: S3Target =
            serde_yaml::from_str("{bucket: {name: bkt, credentials: instance}, prefix: p}")
                .unwrap();
        let reading = Reading {
            cluster: "c".into(),
            node: "n".into(),
            machine: "m,1".into(),
            source: "gpud".into(),
            chassis: "unknown".into(),
            gpu: "1650".into(),
            time: "2026-09-21T14:13:20Z".into(),
        };
        let object = object(&target, &[reading], 1_790_000_000_123).unwrap();
        assert_eq!(
            object.key,
            "p/year=2026/month=09/day=21/hour=14/cluster=c/node=n/20260921-141320.123.csv"
        );
        assert_eq!(
            String::from_utf8(object.body).unwrap(),
            "c,n,\"m,1\",gpud,unknown,1650,2026-09-21T14:13:20Z\r\n"
        );
    }
}
