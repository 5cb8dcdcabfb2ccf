//! Which pages of its memory a guest writes to when it checks: looked at while the instance is still there. For
//! `gpud plugin build` only; the daemon never asks.

use std::{
    collections::BTreeMap,
    io,
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

use gpud_flatten::{PAGE, StartMemory};

use super::Runtime;
use crate::node::written_pages;

/// What a guest wrote to in the calls of a rehearsal.
///
/// Wasmtime maps what a memory holds at the beginning from a file, page by page and copy-on-write
/// (`wasmtime::runtime::vm::cow`): a mapping that is as long as the [`StartMemory`]'s image, and begins where that does.
/// Everything else of the memory follows from there. Slots of earlier calls have mappings like it; nothing in them is
/// written to any more, since a memory of this size is given back after a call.
pub struct Rehearsal {
    memory: StartMemory,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    calls: usize,
    /// In how many calls a page was written to.
    pages: BTreeMap<u32, usize>,
    problem: Option<String>,
}

impl Rehearsal {
    /// Of a component whose program begins with this memory.
    ///
    /// # Errors
    /// In words: this machine counts its pages otherwise.
    pub fn of(memory: StartMemory) -> Result<Self, String> {
        if rustix::param::page_size() != PAGE as usize {
            return Err(format!("this machine's pages are not of {PAGE} bytes"));
        }
        written_pages::without_huge_pages();
        Ok(Self {
            memory,
            seen: Mutex::default(),
        })
    }

    /// The pages that at least half of the calls wrote to which gave a report, in order.
    ///
    /// # Errors
    /// In words: there is none, or nothing could be seen.
    pub fn pages(&self) -> Result<Vec<u32>, String> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(problem) = &seen.problem {
            return Err(problem.clone());
        }
        if seen.calls == 0 {
            return Err("no case gave a report".to_owned());
        }
        let often = seen
            .pages
            .iter()
            .filter(|(_, times)| *times * 2 >= seen.calls);
        Ok(often.map(|(page, _)| *page).collect())
    }

    /// At the end of a call, while its store is still there and nothing else runs.
    pub(super) fn look(&self) {
        let looked = self.written();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match looked {
            Ok(pages) => {
                seen.calls += 1;
                for page in pages {
                    *seen.pages.entry(page).or_default() += 1;
                }
            }
            Err(error) => {
                let problem = format!("what it writes to cannot be seen: {error}");
                seen.problem.get_or_insert(problem);
            }
        }
    }

    fn written(&self) -> io::Result<Vec<u32>> {
        let StartMemory { size, image } = &self.memory;
        let bytes = |pages: u64| pages.saturating_mul(u64::from(PAGE));
        let length = bytes(image.end.saturating_sub(image.start));
        let mut found = Vec::new();
        for mapping in written_pages::copies(length, is_image)? {
            let start = mapping.checked_sub(bytes(image.start));
            let start = start.ok_or_else(|| io::Error::other("it lies where no memory can be"))?;
            let written = written_pages::written(start..start.saturating_add(*size))?;
            if of_image(&written, image).contains(&true) {
                found.push(written);
            }
        }
        match &found[..] {
            [written] => {
                let numbers = (0..).zip(written).filter(|(_, written)| **written);
                Ok(numbers.map(|(number, _)| number).collect())
            }
            [] => Err(io::Error::other("its memory was not found")),
            _ => Err(io::Error::other("there are several such memories")),
        }
    }
}

/// The part of a memory that is mapped from the file.
fn of_image<'a>(written: &'a [bool], image: &Range<u64>) -> &'a [bool] {
    let [start, end] = [image.start, image.end].map(|at| usize::try_from(at).unwrap_or(usize::MAX));
    written.get(start..end).unwrap_or_default()
}

/// A file of compiled code holds the images of its memories; code that came from elsewhere has them in a file of the
/// kernel's.
fn is_image(name: &str) -> bool {
    name.starts_with("/memfd:wasm-memory-image") || name.ends_with(".cwasm")
}

impl Runtime {
    /// From now on looks at what each call wrote to that gives a report. One call at a time, then.
    pub fn rehearse(&self, rehearsal: Arc<Rehearsal>) {
        // Whoever asks twice has the first answer already.
        let _ = self.shared.rehearsal.set(rehearsal);
    }
}
