//! Compiles the built-in components when gpud is built, for `cargo xtask release` to append to the binary.

use std::{
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use wasmtime::Engine;

use super::{
    archive::{self, Archive, Key, Sum},
    cache, engine,
    plugin::Wasm,
};
use crate::node::parts::Parts;

/// An archive of compiled components.
pub struct Compiled {
    /// The archive, to be appended to gpud's binary.
    pub archive: Vec<u8>,
    /// How many components are in it.
    pub components: usize,
    /// How many of them were compiled, and not taken from the archive that was there before.
    pub compiled: usize,
    /// Their SHA-256.
    sums: Vec<Sum>,
}

impl Compiled {
    /// Puts the archive behind a program, in place of one that is there.
    ///
    /// # Errors
    /// In words: the program has other components built in, so that it would not use this code.
    pub fn append_to(&self, program: &mut Vec<u8>) -> Result<(), String> {
        // A program has the SHA-256 of each of its components.
        let has = |sum: &Sum| program.windows(sum.len()).any(|bytes| bytes == sum);
        let missing = self.sums.iter().filter(|sum| !has(sum)).count();
        if missing > 0 {
            return Err(format!(
                "{missing} of the {} compiled components are not those of the program: both are to be built from the \
                 same sources, with the same flags for components",
                self.components
            ));
        }
        program.truncate(archive::length_without(program));
        program.extend_from_slice(&self.archive);
        Ok(())
    }
}

/// Compiles components for a target: that of this gpud where none is named. Code that an archive at `before` has for
/// them is used again.
///
/// # Errors
/// In words: the target is unknown, or a component cannot be compiled.
pub fn compile(
    components: &[&[u8]],
    target: Option<&str>,
    before: &Path,
) -> Result<Compiled, String> {
    let target = target.unwrap_or(engine::HOST_TARGET);
    let engine = engine::for_target(target).map_err(|error| {
        format!(
            "cannot compile for {target}: {error:#}; for another kind of processor build gpud with \
             `--features cross`"
        )
    })?;
    let before = Parts::open(before).ok();
    let before = before.and_then(|parts| Archive::open(parts).ok().flatten());
    let (next, compiled) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || -> Result<Vec<(usize, Key, Vec<u8>)>, String> {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(wasm) = components.get(number) else {
                return Ok(done);
            };
            let key = cache::key(&engine, Wasm::Bytes(wasm));
            let known = before.as_ref().and_then(|it| it.code(key).ok().flatten());
            let code = match known {
                Some(code) => code.to_vec(),
                None => {
                    compiled.fetch_add(1, Ordering::Relaxed);
                    one(&engine, wasm)?
                }
            };
            done.push((number, key, code));
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let done = thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let done = running.into_iter().map(|thread| {
            let done = thread.join();
            done.unwrap_or_else(|_| Err("the compiler ended unexpectedly".to_owned()))
        });
        done.collect::<Result<Vec<_>, String>>()
    });
    let mut codes: Vec<_> = done?.into_iter().flatten().collect();
    codes.sort_by_key(|(number, ..)| *number);
    let codes: Vec<_> = codes
        .into_iter()
        .map(|(_, key, code)| (key, code))
        .collect();
    let archive = archive::write(&codes).map_err(|error| error.to_string())?;
    Ok(Compiled {
        archive,
        components: codes.len(),
        compiled: compiled.into_inner(),
        sums: codes.iter().map(|(key, _)| key.component).collect(),
    })
}

fn one(engine: &Engine, wasm: &[u8]) -> Result<Vec<u8>, String> {
    let code = engine.precompile_component(wasm);
    code.map_err(|error| format!("a built-in component cannot be compiled: {error:#}"))
}

#[cfg(test)]
mod tests;
