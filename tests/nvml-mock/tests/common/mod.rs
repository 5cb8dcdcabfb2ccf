//! A copy of the library with its scenario, in a folder of its own.

#![allow(dead_code, reason = "each test program uses some of it")]
#![allow(unsafe_code, reason = "calls C functions")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test ends where its helper fails"
)]

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use gpud_nvml_mock::install::{built, install};
use libloading::{Library, Symbol};
use nvml_wrapper::Nvml;

/// Asks until there is something; gives up after a minute.
pub fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// One copy. Each has its own state, so tests of one program do not meet.
pub struct Mock {
    dir: tempfile::TempDir,
    pub library: PathBuf,
}

impl Mock {
    pub fn new(scenario: &str) -> Mock {
        let dir = tempfile::tempdir().unwrap();
        let text = format!(
            "call_log: {}\n{scenario}",
            dir.path().join("calls").display()
        );
        let library = install(&built().unwrap(), &text, dir.path()).unwrap();
        Mock { dir, library }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Writes another scenario in place of the first.
    pub fn change(&self, scenario: &str) {
        // The length differs almost always; where it does not, the time of the file does. Never half of it is there.
        let part = self.path().join("part");
        std::fs::write(&part, scenario).unwrap();
        std::fs::rename(part, self.path().join("nvml-mock.yaml")).unwrap();
    }

    pub fn nvml(&self) -> Nvml {
        Nvml::builder()
            .lib_path(self.library.as_os_str())
            .init()
            .unwrap()
    }

    pub fn calls(&self) -> Vec<String> {
        let log = std::fs::read_to_string(self.path().join("calls")).unwrap_or_default();
        log.lines()
            .map(|line| line.splitn(3, ' ').nth(2).unwrap().to_owned())
            .collect()
    }

    /// Opens the library and initialises it, for calls that the wrapper does not have.
    pub fn raw(&self) -> Raw {
        // SAFETY: the library has no initialisers that matter.
        let library = unsafe { Library::new(&self.library) }.unwrap();
        let raw = Raw(library);
        assert_eq!(raw.call0("nvmlInit_v2"), 0);
        raw
    }
}

type Handle = usize;

pub struct Raw(pub Library);

impl Raw {
    pub fn has(&self, name: &str) -> bool {
        // SAFETY: looked up, not called.
        unsafe { self.0.get::<unsafe extern "C" fn()>(name.as_bytes()) }.is_ok()
    }

    pub fn call0(&self, name: &str) -> u32 {
        // SAFETY: callers name functions without arguments.
        unsafe {
            let function: Symbol<unsafe extern "C" fn() -> u32> =
                self.0.get(name.as_bytes()).unwrap();
            function()
        }
    }

    pub fn device(&self, index: u32) -> Handle {
        let mut handle = 0;
        assert_eq!(
            self.with("nvmlDeviceGetHandleByIndex_v2", index as usize, &mut handle),
            0
        );
        handle
    }

    /// Calls `name(out)`.
    pub fn out<T>(&self, name: &str, out: &mut T) -> u32 {
        // SAFETY: callers name functions with one pointer to such a value.
        unsafe {
            let function: Symbol<unsafe extern "C" fn(*mut T) -> u32> =
                self.0.get(name.as_bytes()).unwrap();
            function(out)
        }
    }

    /// Calls `name(first, out)`.
    pub fn with<T>(&self, name: &str, first: usize, out: &mut T) -> u32 {
        // SAFETY: callers name functions with one argument in a register and one pointer to such a value.
        unsafe {
            let function: Symbol<unsafe extern "C" fn(usize, *mut T) -> u32> =
                self.0.get(name.as_bytes()).unwrap();
            function(first, out)
        }
    }

    /// Calls `name(device, number, out)`.
    pub fn with2<T>(&self, name: &str, device: Handle, number: u32, out: &mut T) -> u32 {
        // SAFETY: as above, with a number between.
        unsafe {
            let function: Symbol<unsafe extern "C" fn(usize, u32, *mut T) -> u32> =
                self.0.get(name.as_bytes()).unwrap();
            function(device, number, out)
        }
    }

    /// Calls `name(device, buffer, length)` with a buffer of that length.
    pub fn text(&self, name: &str, device: Handle, length: usize) -> (u32, String) {
        let mut buffer = vec![b'~'; length + 8];
        // SAFETY: the buffer is longer than is said.
        let code = unsafe {
            let function: Symbol<unsafe extern "C" fn(usize, *mut u8, u32) -> u32> =
                self.0.get(name.as_bytes()).unwrap();
            function(device, buffer.as_mut_ptr(), length as u32)
        };
        assert!(
            buffer[length..].iter().all(|b| *b == b'~'),
            "{name} wrote past the end"
        );
        let end = buffer.iter().position(|b| *b == 0).unwrap_or(0);
        (code, String::from_utf8_lossy(&buffer[..end]).into_owned())
    }
}
