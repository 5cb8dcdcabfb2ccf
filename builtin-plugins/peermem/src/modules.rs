//! Which kernel modules use NVIDIA's peer memory module, from `/proc/modules` (`m_show` in `kernel/module/procfs.c`):
//!
//! ```text
//! ‹name› ‹bytes› ‹use count› ‹user›,‹user›, ‹state› ‹address›
//! ```
//!
//! `-` stands for no users. This is what `lsmod` prints, too, in columns and without the last two fields.

/// The module.
const PEERMEM: &str = "nvidia_peermem";
/// The module that uses it for GPUDirect RDMA.
const INFINIBAND: &str = "ib_core";

/// The modules that were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Modules {
    /// The lines that name the peer memory module, as `lsmod` prints them.
    pub raw: String,
    /// True when InfiniBand uses it.
    pub in_use: bool,
}

/// Reads `/proc/modules`.
pub fn find(text: &str) -> Modules {
    let mut found = Modules {
        raw: String::new(),
        in_use: false,
    };
    for line in text.lines() {
        let mut fields = line.split_ascii_whitespace();
        let (Some(name), Some(size), Some(count)) = (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let users = fields
            .next()
            .unwrap_or_default()
            .trim_end_matches([',', '-']);
        if !name.contains(PEERMEM) && !users.contains(PEERMEM) {
            continue;
        }
        found.in_use |= name == INFINIBAND && count != "0" && users.contains(PEERMEM);
        if !found.raw.is_empty() {
            found.raw.push('\n');
        }
        let columns = format!("{name:<19} {size:>8}  {count} {users}");
        found.raw.push_str(columns.trim_end());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn who_uses_it() {
        for (text, in_use, raw) in [
            ("", false, ""),
            (
                "ib_core 434176 9 rdma_cm,nvidia_peermem,mlx5_ib, Live 0xffffffffc0a00000\n",
                true,
                "ib_core               434176  9 rdma_cm,nvidia_peermem,mlx5_ib",
            ),
            (
                "ib_core 434176 0 nvidia_peermem, Live 0x0000000000000000\n",
                false,
                "ib_core               434176  0 nvidia_peermem",
            ),
            (
                "nvidia_peermem 16384 0 - Live 0x0000000000000000 (POE)\n",
                false,
                "nvidia_peermem         16384  0",
            ),
            (
                "nvidia 56000000 3 nvidia_uvm,nvidia_peermem, Live 0x0000000000000000 (POE)\n",
                false,
                "nvidia              56000000  3 nvidia_uvm,nvidia_peermem",
            ),
            (
                "ib_core 434176 8 rdma_cm,mlx5_ib, Live 0x0000000000000000\nmlx5_ib 500000 0 - Live 0x0\n",
                false,
                "",
            ),
            // All of them, with what does not matter between.
            (
                "nvidia_peermem 16384 0 - Live 0x0\nnvme 61440 3 - Live 0x0\nnvidia 56000000 3 nvidia_uvm,nvidia_peermem, Live 0x0\nib_core 434176 9 nvidia_peermem,mlx5_ib, Live 0x0",
                true,
                "nvidia_peermem         16384  0\nnvidia              56000000  3 nvidia_uvm,nvidia_peermem\nib_core               434176  9 nvidia_peermem,mlx5_ib",
            ),
            // A kernel that cannot unload modules counts no uses.
            (
                "ib_core 434176 - - Live 0x0\nnvidia_peermem 16384 - - Live 0x0",
                false,
                "nvidia_peermem         16384  -",
            ),
            // What lsmod itself prints reads the same.
            (
                "ib_core  434176  9 rdma_cm,nvidia_peermem,mlx5_ib",
                true,
                "ib_core               434176  9 rdma_cm,nvidia_peermem,mlx5_ib",
            ),
            // Lookalikes.
            (
                "my_ib_core 1 1 nvidia_peermem,",
                false,
                "my_ib_core                 1  1 nvidia_peermem",
            ),
            ("ib_core nvidia_peermem", false, ""),
        ] {
            let raw = raw.to_owned();
            assert_eq!(find(text), Modules { raw, in_use }, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "(ib_core|nvidia_peermem|[0-9]|[, \n-]|\\PC){0,60}") {
            let found = find(&text);
            prop_assert!(!found.in_use || found.raw.contains(PEERMEM));
        }
    }
}
