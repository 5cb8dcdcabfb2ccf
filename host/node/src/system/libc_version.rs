//! The version of the GNU C library that this process runs with.

/// Returns the version, such as `2.36`; `None` where the C library is another one.
#[cfg(target_env = "gnu")]
#[expect(unsafe_code, reason = "a question to the C library")]
pub fn glibc_version() -> Option<String> {
    // SAFETY: the function has no arguments, and returns a static text that ends with a NUL.
    let text = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    text.to_str().ok().map(str::to_owned)
}

/// Returns `None`: the C library is not that of GNU.
#[cfg(not(target_env = "gnu"))]
pub fn glibc_version() -> Option<String> {
    None
}

#[cfg(all(test, target_env = "gnu"))]
mod tests {
    use super::*;

    #[test]
    fn it_has_two_numbers() {
        let version = glibc_version().unwrap();
        let mut numbers = version.split('.').map(str::parse::<u32>);
        assert!(matches!(numbers.next(), Some(Ok(2))), "{version}");
        assert!(matches!(numbers.next(), Some(Ok(_))), "{version}");
    }
}
