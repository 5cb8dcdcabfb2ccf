//! Encoded answers of `/v1/metrics`. Samples come once a minute, and the window of a request moves with the clock: until
//! the window leaves its first sample behind, or samples come or go, the answer stays the same.

use std::{ops::RangeInclusive, sync::Arc, time::Instant};

use tokio::sync::Mutex;

use super::{
    backend::{Backend, Sample},
    metrics::to_wire,
    pieces::Piece,
};
use crate::wire::to_json;

/// Answers that are kept.
const MOST: usize = 8;
/// Text of all of them together, in bytes; what is beyond is served and not kept.
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// Read beyond the window, in milliseconds, so that requests that overtake each other find the same answer.
const MARGIN: i64 = 2000;

/// The answers.
#[derive(Debug, Default)]
pub(super) struct SampleLists(Mutex<Vec<Entry>>);

#[derive(Debug)]
struct Entry {
    /// What was asked for; `None` for all.
    names: Option<Vec<String>>,
    version: u64,
    /// Beginnings of the window that give this answer.
    since: RangeInclusive<i64>,
    piece: Arc<Piece>,
    used: Instant,
}

impl SampleLists {
    /// The samples of these components from `since` on (Unix milliseconds), encoded. One caller reads, others wait.
    pub(super) async fn get(
        &self,
        backend: &dyn Backend,
        names: Option<Vec<String>>,
        since: i64,
    ) -> Result<Arc<Piece>, String> {
        let now = Instant::now();
        let mut entries = self.0.lock().await;
        let version = backend.samples_version();
        entries.retain(|entry| entry.version == version);
        let known = entries
            .iter_mut()
            .find(|entry| entry.names == names && entry.since.contains(&since));
        if let Some(known) = known {
            known.used = now;
            return Ok(Arc::clone(&known.piece));
        }
        let samples = backend
            .samples(names.clone(), since.saturating_sub(MARGIN))
            .await?;
        let made = tokio::task::spawn_blocking(move || encode(samples, since));
        let (range, text) = made.await.map_err(|error| error.to_string())??;
        let piece = Piece::new(text);
        let size = |entry: &Entry| entry.piece.text().len();
        let total = entries.iter().map(size).sum::<usize>() + piece.text().len();
        if total > MOST_BYTES || entries.len() >= MOST {
            entries.clear();
        }
        if piece.text().len() <= MOST_BYTES {
            entries.push(Entry {
                names,
                version,
                since: range,
                piece: Arc::clone(&piece),
                used: now,
            });
        }
        Ok(piece)
    }

    /// Drops what was not used since.
    pub(super) async fn forget(&self, since: Instant) {
        self.0.lock().await.retain(|entry| entry.used >= since);
    }
}

/// The answer for `since` from samples that begin [`MARGIN`] before it, and the beginnings for which it is the same.
fn encode(samples: Vec<Sample>, since: i64) -> Result<(RangeInclusive<i64>, Vec<u8>), String> {
    let (asked, before): (Vec<_>, Vec<_>) = samples
        .into_iter()
        .partition(|sample| sample.unix_millis >= since);
    let last_before = before.iter().map(|sample| sample.unix_millis + 1).max();
    let first = asked.iter().map(|sample| sample.unix_millis).min();
    let range = last_before.unwrap_or(since.saturating_sub(MARGIN))..=first.unwrap_or(i64::MAX);
    let text = to_json(&to_wire(asked)).map_err(|error| error.to_string())?;
    Ok((range, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(unix_millis: i64) -> Sample {
        Sample {
            component: "cpu".into(),
            name: "cpu_used_percent".into(),
            labels: Default::default(),
            unix_millis,
            value: 1.0,
        }
    }

    #[test]
    fn an_answer_is_good_until_its_first_sample_is_left_behind() {
        let (range, text) = encode(vec![sample(9_000), sample(70_000)], 10_000).unwrap();
        assert_eq!(range, 9_001..=70_000);
        assert!(!String::from_utf8(text).unwrap().contains("9000"));
        let (range, _) = encode(vec![sample(10_000)], 10_000).unwrap();
        assert_eq!(range, 8_000..=10_000);
        let (range, text) = encode(vec![], 10_000).unwrap();
        assert_eq!(
            (range, text.as_slice()),
            (8_000..=i64::MAX, b"[]".as_slice())
        );
    }
}
