//! The size of the kernel's BPF programs, from `/proc/vmallocinfo` (kernel: `Documentation/filesystems/proc.rst`).

use gpud_sdk::AccessError;

/// The result of one reading, or the fault of the file in words.
pub type Answer = Result<Bpf, String>;

/// One reading.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bpf {
    /// The figure.
    pub bytes: u64,
    /// Why it is 0, where that is worth a word.
    pub note: Option<String>,
}

impl Bpf {
    /// From the file. Only root may read it: without the right, the figure is 0 and nothing is said. An answer that is
    /// too large is said, but neither is the machine's fault.
    ///
    /// # Errors
    /// In words: it cannot be read or understood.
    pub fn new(vmallocinfo: Result<String, AccessError>) -> Answer {
        let (bytes, note) = match vmallocinfo {
            Ok(text) => (jit_bytes(&text)?, None),
            Err(AccessError::Denied(_)) => (0, None),
            Err(error @ AccessError::TooLarge(_)) => (0, Some(error.text())),
            Err(error) => return Err(error.text()),
        };
        Ok(Self { bytes, note })
    }

    /// As text.
    pub fn save(&self) -> String {
        let note = self.note.as_deref().unwrap_or_default();
        format!("{} {note}", self.bytes)
    }

    /// From what [`Bpf::save`] gave; nothing from anything else.
    pub fn restore(saved: &str) -> Option<Self> {
        let (bytes, note) = saved.split_once(' ')?;
        Some(Self {
            bytes: bytes.parse().ok()?,
            note: (!note.is_empty()).then(|| note.to_owned()),
        })
    }
}

/// Bytes of `vmalloc` areas that `bpf_jit_alloc_exec` took (`kernel/bpf/core.c`), from lines such as
/// `0x…-0x… 8192 bpf_jit_alloc_exec+0xe/0x20 pages=1 vmalloc N0=1`. Kernels since 5.18 pack programs together and
/// have few such lines, so 0 is normal.
///
/// # Errors
/// In words, the line whose size cannot be read.
fn jit_bytes(text: &str) -> Result<u64, String> {
    text.lines()
        .filter(|line| line.contains("bpf_jit_alloc_exec"))
        .try_fold(0u64, |sum, line| {
            let size = line
                .split_ascii_whitespace()
                .nth(1)
                .and_then(|size| size.parse().ok());
            size.map(|size: u64| sum.saturating_add(size))
                .ok_or_else(|| format!("/proc/vmallocinfo: {line:?}"))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpud_sdk::types::SizeInfo;
    use proptest::prelude::*;

    #[test]
    fn areas_are_summed() {
        let text = "0x1-0x2   8192 bpf_jit_alloc_exec+0xe/0x20 pages=1 vmalloc N0=1\n\
                    0x3-0x4  99999 load_module+0x1/0x2 pages=24\n\
                    0x5-0x6  12288 bpf_jit_alloc_exec+0xe/0x20 pages=2 vmalloc N0=2\n";
        assert_eq!(jit_bytes(text), Ok(20480));
        assert_eq!(jit_bytes(""), Ok(0));
        for line in ["bpf_jit_alloc_exec", "0x1-0x2 many bpf_jit_alloc_exec"] {
            assert_eq!(jit_bytes(line), Err(format!("/proc/vmallocinfo: {line:?}")));
        }
    }

    #[test]
    fn what_is_not_the_machines_fault_is_no_error() {
        let path = || "/proc/vmallocinfo".to_owned();
        let too_large = || {
            let (size, limit) = (5, 4);
            let what = path();
            AccessError::TooLarge(SizeInfo { what, size, limit })
        };
        let bpf = |bytes, note| Ok(Bpf { bytes, note });
        let cases = [
            (
                Ok("0x1-0x2 8192 bpf_jit_alloc_exec+0xe/0x20\n".to_owned()),
                bpf(8192, None),
            ),
            (Err(AccessError::Denied(path())), bpf(0, None)),
            (Err(too_large()), bpf(0, Some(too_large().text()))),
            (
                Err(AccessError::NotFound(path())),
                Err(AccessError::NotFound(path()).text()),
            ),
            (
                Ok("bpf_jit_alloc_exec".to_owned()),
                Err("/proc/vmallocinfo: \"bpf_jit_alloc_exec\"".to_owned()),
            ),
        ];
        for (read, expected) in cases {
            let answer = Bpf::new(read);
            assert_eq!(answer, expected);
            if let Ok(answer) = answer {
                assert_eq!(Bpf::restore(&answer.save()), Some(answer));
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "([0-9]{0,22} )?.*") {
            let _ = (jit_bytes(&text), Bpf::restore(&text));
        }
    }
}
