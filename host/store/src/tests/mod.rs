mod caches;
mod condense;
mod crash;
mod data;
mod events;
mod faults;
mod import;
mod inspect;
mod migration_backup;
mod opening;
mod retention;
mod timeline;

use super::{Inserted, Location, STATE_FILE, Store, StoreOptions};
use crate::model::Event;
use std::path::{Path, PathBuf};

fn options(folder: &Path) -> StoreOptions {
    StoreOptions::new(Location::File(state_file(folder)))
}

fn state_file(folder: &Path) -> PathBuf {
    folder.join(STATE_FILE)
}

/// Opens a file that must be usable as it is.
fn open(folder: &Path) -> Store {
    let opened = Store::open(options(folder)).unwrap();
    assert_eq!((opened.set_aside, opened.degraded), (None, None));
    opened.store
}

fn in_memory() -> Store {
    Store::open(StoreOptions::new(Location::Memory))
        .unwrap()
        .store
}

fn event(second: u64, name: &str, message: &str) -> Event {
    Event {
        time: second * 1000,
        name: name.to_owned(),
        message: message.to_owned(),
        ..Event::default()
    }
}

async fn insert(store: &Store, component: &str, event: Event) -> Inserted {
    let inserted = store
        .insert_events(component, vec![event], None)
        .await
        .unwrap();
    assert_eq!(inserted.len(), 1);
    inserted[0]
}

async fn messages(store: &Store, component: &str) -> Vec<String> {
    let events = store.events(component, 0, None).await.unwrap();
    events.into_iter().map(|row| row.event.message).collect()
}
