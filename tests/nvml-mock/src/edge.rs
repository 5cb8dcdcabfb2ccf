//! The edge to C: the one place where pointers of the caller are read and written, and where functions get C names.
//!
//! What the caller promises is what NVIDIA's header asks of it: a pointer is null or points to memory of the declared
//! type, and a length says how much of it there is. Null is answered with 2 (invalid argument).

#![allow(unsafe_code, reason = "reads and writes through pointers of C callers")]

use std::ffi::{CStr, c_char, c_void};
use std::path::PathBuf;

use crate::code::Code;

/// `nvmlDevice_t`: a number in the shape of a pointer, never followed.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handle(usize);

/// Marks handles of this library, so that a stray pointer is not taken for one. `MOCK` in ASCII above the number.
const MARK: usize = 0x4d4f_434b_0000_0000;

impl Handle {
    /// The handle of a GPU, or of one of its MIG devices.
    pub fn encode(number: u32, mig: Option<u32>) -> Handle {
        let number = usize::try_from(number & 0xff).unwrap_or(0);
        let mig = mig
            .and_then(|m| usize::try_from(m & 0xff).ok())
            .map_or(0, |m| m + 1);
        Handle(MARK | number << 16 | mig)
    }

    /// Number of the GPU and place of the MIG device.
    pub fn decode(self) -> Option<(u32, Option<u32>)> {
        let rest = self.0.checked_sub(MARK).filter(|rest| *rest < 1 << 24)?;
        let number = u32::try_from(rest >> 16).ok()?;
        let mig = u32::try_from(rest & 0xffff).ok()?;
        Some((number, mig.checked_sub(1)))
    }
}

/// Room for a value of the caller's, or an array of them.
#[repr(transparent)]
#[derive(Debug)]
pub struct Out<T>(*mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Out<T> {}

impl<T> Out<T> {
    /// A pointer that came inside a struct.
    pub fn to(pointer: *mut T) -> Out<T> {
        Out(pointer)
    }

    /// Null?
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Writes the value.
    pub fn set(self, value: T) -> Result<(), Code> {
        self.set_as(value)
    }

    /// Writes a value of another version of the struct. The caller's version tag must have been looked at.
    pub fn set_as<U>(self, value: U) -> Result<(), Code> {
        if self.0.is_null() {
            return Err(Code::INVALID_ARGUMENT);
        }
        // SAFETY: not null; the caller promises room for the version of the struct that it named. Unaligned, because
        // packed structs of other languages' bindings are known.
        unsafe { self.0.cast::<U>().write_unaligned(value) };
        Ok(())
    }

    /// Reads what the caller put there.
    pub fn get(self) -> Result<T, Code>
    where
        T: Copy,
    {
        self.get_as::<T>()
    }

    /// Reads the beginning as something else, for example the version tag.
    pub fn get_as<U: Copy>(self) -> Result<U, Code> {
        if self.0.is_null() {
            return Err(Code::INVALID_ARGUMENT);
        }
        // SAFETY: not null; the caller promises an initialised value (input fields and version tags are).
        Ok(unsafe { self.0.cast::<U>().read_unaligned() })
    }

    /// Looks at the version tag, the first 32 bits, and gives it back if it is one of these; else 25.
    pub fn version(self, known: &[u32]) -> Result<u32, Code> {
        let version = self.get_as::<u32>()?;
        if known.contains(&version) {
            Ok(version)
        } else {
            Err(Code::ARGUMENT_VERSION_MISMATCH)
        }
    }

    /// Writes an array. The caller has said that there is room for as many.
    pub fn fill(self, values: &[T]) -> Result<(), Code>
    where
        T: Copy,
    {
        for (at, value) in values.iter().enumerate() {
            self.at(at)?.set(*value)?;
        }
        Ok(())
    }

    /// The n-th place of an array.
    pub fn at(self, place: usize) -> Result<Out<T>, Code> {
        if self.0.is_null() {
            return Err(Code::INVALID_ARGUMENT);
        }
        // SAFETY: the caller has said that the array is longer than this; `wrapping_add` itself follows nothing.
        Ok(Out(self.0.wrapping_add(place)))
    }

    /// A field of the struct, by its distance from the beginning.
    pub fn field<U>(self, offset: usize) -> Result<Out<U>, Code> {
        if self.0.is_null() {
            return Err(Code::INVALID_ARGUMENT);
        }
        Ok(Out(self.0.cast::<u8>().wrapping_add(offset).cast::<U>()))
    }
}

impl Out<c_char> {
    /// Writes a text and its end; 7 where the room is too small, with nothing written, as the driver does.
    pub fn text(self, length: u32, text: &str) -> Result<(), Code> {
        if self.is_null() {
            return Err(Code::INVALID_ARGUMENT);
        }
        let room = usize::try_from(length).unwrap_or(usize::MAX);
        if room < text.len() + 1 {
            return Err(Code::INSUFFICIENT_SIZE);
        }
        for (at, byte) in text.bytes().chain([0]).enumerate() {
            self.at(at)?.set_as(byte)?;
        }
        Ok(())
    }
}

/// A text of the caller's.
#[repr(transparent)]
pub struct Text(*const c_char);

impl Text {
    /// The text; 2 where it is null or not UTF-8.
    pub fn get(&self) -> Result<&str, Code> {
        if self.0.is_null() {
            return Err(Code::INVALID_ARGUMENT);
        }
        // SAFETY: not null; the caller promises a text that ends with 0 and lives during the call.
        unsafe { CStr::from_ptr(self.0) }
            .to_str()
            .map_err(|_| Code::INVALID_ARGUMENT)
    }
}

/// Copies a text into an array of a struct: cut to fit, 0 at the end.
pub fn chars<const N: usize>(text: &str) -> [c_char; N] {
    let mut bytes = text.bytes().take(N.saturating_sub(1));
    std::array::from_fn(|_| bytes.next().unwrap_or(0).cast_signed() as c_char)
}

/// The path that this library was loaded from.
pub fn library_path() -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let mut info = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    let here: *const c_void = (library_path as fn() -> Option<PathBuf> as *const ()).cast();
    // SAFETY: `here` is an address within this library, `info` is ours.
    if unsafe { libc::dladdr(here, &raw mut info) } == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: dladdr gave a text that lives as long as the library.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(name.to_bytes())))
}

/// Exports functions under their C names. The bodies are safe code.
///
/// - `bare name(args) body`: needs no `nvmlInit`.
/// - `system name(args) [argument] |node| body`: about the machine.
/// - `device name(args) [argument] |target| body`: about a GPU; the handle comes first and is not listed.
/// - `any name(args) [argument] |target| body`: the same, MIG devices too.
macro_rules! export {
    () => {};
    (bare $name:ident($($arg:ident: $type:ty),*) $body:expr; $($rest:tt)*) => {
        #[allow(unsafe_code, non_snake_case, reason = "the C ABI wants this name, as it is")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($arg: $type),*) -> u32 {
            $crate::call::bare(stringify!($name), move || $body)
        }
        $crate::edge::export! { $($rest)* }
    };
    (system $name:ident($($arg:ident: $type:ty),*) [$($key:expr)?] |$node:ident| $body:expr; $($rest:tt)*) => {
        #[allow(unsafe_code, non_snake_case, reason = "the C ABI wants this name, as it is")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($arg: $type),*) -> u32 {
            let key: Option<i64> = None $(.or(Some(i64::from($key))))?;
            $crate::call::system(stringify!($name), None, key, move |$node| $body)
        }
        $crate::edge::export! { $($rest)* }
    };
    (device $name:ident($($arg:ident: $type:ty),*) [$($key:expr)?] |$target:ident| $body:expr; $($rest:tt)*) => {
        #[allow(unsafe_code, non_snake_case, reason = "the C ABI wants this name, as it is")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(device: $crate::edge::Handle, $($arg: $type),*) -> u32 {
            let key: Option<i64> = None $(.or(Some(i64::from($key))))?;
            $crate::call::device(stringify!($name), device, key, move |$target| $body)
        }
        $crate::edge::export! { $($rest)* }
    };
    (any $name:ident($($arg:ident: $type:ty),*) [$($key:expr)?] |$target:ident| $body:expr; $($rest:tt)*) => {
        #[allow(unsafe_code, non_snake_case, reason = "the C ABI wants this name, as it is")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(device: $crate::edge::Handle, $($arg: $type),*) -> u32 {
            let key: Option<i64> = None $(.or(Some(i64::from($key))))?;
            $crate::call::any_device(stringify!($name), device, key, move |$target| $body)
        }
        $crate::edge::export! { $($rest)* }
    };
}
pub(crate) use export;
