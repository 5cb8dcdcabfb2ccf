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
use crate::{
    capability::wire::types::{Health, Report},
    node::written_pages,
};

/// A page is taken that at least one in so many of the calls wrote to. One that is left out and then written to costs two
/// faults and a flush of all cores' TLBs, several times as much as one that is copied for nothing.
const ONE_IN: usize = 4;

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
    /// Calls in which all was well: as a rule it is.
    well: Calls,
    others: Calls,
    problem: Option<String>,
}

#[derive(Default)]
struct Calls {
    count: usize,
    /// In how many of them a page was written to.
    pages: BTreeMap<u32, usize>,
}

impl Rehearsal {
    /// Of a component whose program begins with this memory.
    ///
    /// # Errors
    /// In words: this machine counts its pages otherwise.
    pub fn of(memory: StartMemory) -> Result<Self, String> {
        if written_pages::page_bytes() != PAGE as usize {
            return Err(format!("this machine's pages are not of {PAGE} bytes"));
        }
        written_pages::without_huge_pages();
        Ok(Self {
            memory,
            seen: Mutex::default(),
        })
    }

    /// The pages that checks write to, in order: those of calls in which all was well, if there was one, and of all others
    /// that gave a report if not.
    ///
    /// # Errors
    /// In words: there is none, or nothing could be seen.
    pub fn pages(&self) -> Result<Vec<u32>, String> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(problem) = &seen.problem {
            return Err(problem.clone());
        }
        let calls = [&seen.well, &seen.others];
        let calls = calls.into_iter().find(|calls| calls.count > 0);
        let calls = calls.ok_or("no case gave a report")?;
        let pages = calls.pages.iter();
        let often = pages.filter(|(_, times)| *times * ONE_IN >= calls.count);
        Ok(often.map(|(page, _)| *page).collect())
    }

    /// At the end of a call, while its store is still there and nothing else runs.
    pub(super) fn look(&self, report: &Report) {
        let looked = self.written();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let pages = match looked {
            Ok(pages) => pages,
            Err(error) => {
                let problem = format!("what it writes to cannot be seen: {error}");
                seen.problem.get_or_insert(problem);
                return;
            }
        };
        let mut states = report.states.iter();
        let is_well = report.supported && states.all(|it| matches!(it.health, Health::Healthy));
        let calls = match is_well {
            true => &mut seen.well,
            false => &mut seen.others,
        };
        calls.count += 1;
        for page in pages {
            *calls.pages.entry(page).or_default() += 1;
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
