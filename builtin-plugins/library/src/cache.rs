//! Reads the cache of the dynamic loader: `/etc/ld.so.cache` (glibc: `sysdeps/generic/dl-cache.h`). It holds, among other
//! things, the path of every library, each ended by a NUL. Only these paths are taken; the rest is passed over.

/// Longest path (`PATH_MAX`), bytes.
const MAX_PATH: usize = 4096;

/// Paths in the cache whose file name is one of `names`, in the order of the cache. Libraries for linking only
/// (`stubs`) are left out.
pub fn paths<'a>(cache: &'a [u8], names: &[&str]) -> Vec<&'a str> {
    let texts = cache
        .split(|&byte| byte == 0)
        .filter(|text| text.len() <= MAX_PATH);
    texts
        .filter(|text| text.first() == Some(&b'/'))
        .filter_map(|text| std::str::from_utf8(text).ok())
        .filter(|path| {
            let mut parts = path.rsplit('/');
            parts.next().is_some_and(|name| names.contains(&name))
                && !parts.any(|part| part == "stubs" || part == "..")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paths_are_found_between_the_rest() {
        let cache = b"glibc-ld.so.cache1.1\x02\0\0\0\xff\xfe\0libcuda.so.1\0/usr/lib/wsl/lib/libcuda.so.1\0\
            libcuda.so.1\0/usr/local/cuda/lib64/stubs/libcuda.so.1\0/opt/xlibcuda.so.1\0/a/libcuda.so.1/x\0\
            /b/../libcuda.so.1\0/\xff/libcuda.so.1\0/opt/libcuda.so";
        let names = ["libcuda.so", "libcuda.so.1"];
        assert_eq!(
            paths(cache, &names),
            ["/usr/lib/wsl/lib/libcuda.so.1", "/opt/libcuda.so"]
        );
        assert_eq!(paths(b"", &names), Vec::<&str>::new());
        let long = format!("/{}/libcuda.so", "x".repeat(5_000));
        assert_eq!(paths(long.as_bytes(), &names), Vec::<&str>::new());
    }

    #[test]
    fn this_machines_cache_is_read() {
        if let Ok(cache) = std::fs::read("/etc/ld.so.cache") {
            let found = paths(&cache, &["libc.so.6"]);
            assert!(
                found.iter().all(|path| path.ends_with("/libc.so.6")),
                "{found:?}"
            );
            assert!(!found.is_empty());
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(paths(&bytes, &["libcuda.so"]).iter().all(|path| path.ends_with("libcuda.so")));
        }
    }
}
