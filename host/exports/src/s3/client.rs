//! The HTTP client as the library `object_store` uses it.

use futures_util::{StreamExt as _, future::BoxFuture};
use object_store::{
    ClientOptions,
    client::{
        HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpResponseBody,
        HttpService,
    },
};
use reqwest::Client;

use crate::http::MAX_ANSWER;

/// Gives the library the client that all exports use, with this crate's TLS, and cuts answers at [`MAX_ANSWER`].
#[derive(Debug, Clone)]
pub struct SharedClient(HttpClient);

impl SharedClient {
    /// Wraps a client of this crate.
    pub fn new(client: Client) -> Self {
        Self(HttpClient::new(client))
    }
}

impl HttpConnector for SharedClient {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

impl HttpService for SharedClient {
    // The form that the macro of `async_trait` gives to the trait's function.
    fn call<'service, 'call>(
        &'service self,
        request: HttpRequest,
    ) -> BoxFuture<'call, Result<HttpResponse, HttpError>>
    where
        'service: 'call,
        Self: 'call,
    {
        Box::pin(async move {
            let (parts, body) = self.0.execute(request).await?.into_parts();
            let body = beginning(body).await?;
            let body = match parts.status.is_success() {
                true => HttpResponseBody::from(body),
                // The library reads text of an error as UTF-8, and a cut may be inside of a character.
                false => String::from_utf8_lossy(&body).into_owned().into(),
            };
            Ok(HttpResponse::from_parts(parts, body))
        })
    }
}

/// Reads a body, at most its first [`MAX_ANSWER`] bytes.
async fn beginning(body: HttpResponseBody) -> Result<Vec<u8>, HttpError> {
    let mut chunks = body.bytes_stream();
    let mut read = Vec::new();
    while read.len() < MAX_ANSWER
        && let Some(chunk) = chunks.next().await
    {
        read.extend_from_slice(&chunk?);
    }
    read.truncate(MAX_ANSWER);
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_body_is_cut() {
        for (length, expected) in [
            (0, 0),
            (MAX_ANSWER - 1, MAX_ANSWER - 1),
            (MAX_ANSWER + 1, MAX_ANSWER),
        ] {
            let body = HttpResponseBody::from(vec![b'x'; length]);
            assert_eq!(beginning(body).await.unwrap().len(), expected, "{length}");
        }
    }
}
