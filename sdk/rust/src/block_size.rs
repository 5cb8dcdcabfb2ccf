//! Sizes of blocks that are handed out again: few, so that one that is freed fits the next that is asked for, and four
//! between each two powers of two, so that no more than a fifth of a block is left over.

/// How many sizes there are.
pub const COUNT: usize = 16 + 4 * 7;
/// The largest of them, bytes.
pub const LARGEST: usize = 32 * 1024;
/// Small sizes are multiples of this.
const STEP: usize = 16;
/// Up to here.
const SMALL: usize = 256;

/// The number of the size that fits so many bytes, and its bytes. `None`: larger than [`LARGEST`].
pub fn of(bytes: usize) -> Option<(usize, usize)> {
    if bytes <= SMALL {
        let steps = bytes.max(1).div_ceil(STEP);
        return Some((steps - 1, steps * STEP));
    }
    if bytes > LARGEST {
        return None;
    }
    // Bits below the three highest: 256 < bytes <= 320 has 6 of them, as 320, 384, 448 and 512 are 64 apart.
    let low_bits = (bytes - 1).ilog2() - 2;
    let quarters = bytes.div_ceil(1 << low_bits);
    let doublings = (low_bits - 6) as usize;
    Some((16 + 4 * doublings + quarters - 5, quarters << low_bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_few_and_fit() {
        let mut before = (0, 0);
        for bytes in 1..=LARGEST {
            let (number, size) = of(bytes).unwrap();
            assert!(size >= bytes && size % 16 == 0, "{bytes}: {size}");
            assert!(
                bytes <= SMALL || size - bytes <= bytes / 4,
                "{bytes}: {size}"
            );
            assert_eq!(of(size), Some((number, size)), "{bytes}");
            // The next size has the next number.
            if size != before.1 {
                assert_eq!(number, if before.1 == 0 { 0 } else { before.0 + 1 });
            }
            before = (number, size);
        }
        assert_eq!(before, (COUNT - 1, LARGEST));
        assert_eq!(of(0), Some((0, 16)));
        assert_eq!(of(LARGEST + 1), None);
        assert_eq!(of(usize::MAX), None);
    }
}
