//! From the registry into the store, once a minute.

use super::Registry;
use crate::model::UnixMillis;
use crate::store::{Store, StoreError};

/// Stores the present value of every gauge and counter of a component under one time, and says how many there were.
///
/// # Errors
/// Any failure to write.
pub async fn scrape(
    registry: &Registry,
    store: &Store,
    now: UnixMillis,
) -> Result<usize, StoreError> {
    let samples = registry.samples();
    let count = samples.len();
    store.insert_samples(now, samples).await?;
    Ok(count)
}
