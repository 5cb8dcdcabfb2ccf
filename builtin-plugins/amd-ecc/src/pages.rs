//! Bad pages of a GPU's memory, `ras/gpu_vram_bad_pages` (`amdgpu_ras.c`, `amdgpu_ras_sysfs_badpages_read`): a page to
//! a line, page number, page size and state.
//!
//! ```text
//! 0x00000001 : 0x00001000 : R
//! 0x00000002 : 0x00001000 : P
//! ```

/// Pages by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pages {
    /// `R`: taken out of use.
    pub retired: u64,
    /// `P`: still in use by someone, taken out of use when it is given back.
    pub pending: u64,
    /// `F`: could not be taken out of use.
    pub failed: u64,
}

impl Pages {
    /// Reads the file; lines of another form are left out.
    pub fn read(text: &str) -> Self {
        let mut pages = Self::default();
        for line in text.lines() {
            let mut parts = line.split(" : ");
            let (Some(page), Some(size), Some(flag), None) =
                (parts.next(), parts.next(), parts.next(), parts.next())
            else {
                continue;
            };
            if !page.starts_with("0x") || !size.starts_with("0x") {
                continue;
            }
            match flag.trim() {
                "R" => pages.retired += 1,
                "P" => pages.pending += 1,
                "F" => pages.failed += 1,
                _ => {}
            }
        }
        pages
    }

    /// All of them.
    pub fn all(&self) -> u64 {
        self.retired + self.pending + self.failed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn files() {
        let text = "0x00000001 : 0x00001000 : R\n0x00000002 : 0x00001000 : P\n0x0000000a : 0x00001000 : R\n\
                    0x00000003 : 0x00001000 : F\n0x0 : x : R\n1 : 2 : R\nR\n0x1 : 0x1 : Z\n0x1 : 0x1 : R : R\n";
        let pages = Pages::read(text);
        assert_eq!((pages.retired, pages.pending, pages.failed), (2, 1, 1));
        assert_eq!(pages.all(), 4);
        assert_eq!(Pages::read(""), Pages::default());
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn never_more_than_lines(text in "((0x[0-9a-f]{1,9} : ){0,3}[RPFX]?\n|\\PC{0,12}\n?){0,20}") {
            prop_assert!(Pages::read(&text).all() <= text.lines().count() as u64);
        }
    }
}
