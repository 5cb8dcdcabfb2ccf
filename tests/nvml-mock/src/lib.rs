//! A stand-in for NVIDIA's management library (`libnvidia-ml.so.1`) that needs no GPU.
//!
//! The shared library exports NVML's C functions; a scenario file says what they answer. How to use it, and the format of
//! the file, are in the README. As a Rust library the crate reads scenarios ([`scenario`]) and puts the shared library
//! where a program finds it ([`install`]).
//!
//! Struct layouts are those of `nvml-wrapper-sys`; tests hold their sizes and version tags against the numbers of
//! NVIDIA's header.

pub mod code;
pub mod engine;
pub mod functions;
pub mod install;
pub mod scenario;
pub mod source;

mod call;
mod edge;
mod ffi;
mod gpm;
mod state;

/// `NVML_STRUCT_VERSION`: the tag of a versioned struct, its size below the version number.
#[must_use]
pub const fn struct_version<T>(version: u32) -> u32 {
    // Structs of NVML are far below 16 MiB, so nothing is cut off.
    size_of::<T>() as u32 | version << 24
}
