//! Names of PCI vendors, devices and classes: the file `pci.ids` that distributions ship.
//!
//! ```text
//! ‹vendor›  ‹name›
//! <tab>‹device›  ‹name›
//! C ‹class›  ‹name›
//! <tab>‹subclass›  ‹name›
//! ```

/// The file.
#[derive(Debug, Clone, Default)]
pub struct Ids {
    text: String,
}

/// A device's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Numbers {
    /// Class and subclass, for example 0x0302.
    pub class: u16,
    /// Vendor.
    pub vendor: u16,
    /// Device.
    pub device: u16,
}

/// What a list of numbers is called: class, vendor, device; `None` where the file does not say.
pub type Names<'a> = [Option<&'a str>; 3];

impl Ids {
    /// Takes the text of the file.
    pub fn new(text: String) -> Self {
        Self { text }
    }

    /// The names for each of these numbers, in one reading of the file.
    pub fn names(&self, wanted: &[Numbers]) -> Vec<Names<'_>> {
        let mut names = vec![[None; 3]; wanted.len()];
        let mut section = Section::None;
        for line in self.text.lines() {
            if line.starts_with('#') || line.trim().is_empty() || line.starts_with("\t\t") {
                continue;
            }
            let Some(entry) = line.strip_prefix('\t') else {
                section = Section::new(line).if_any(wanted);
                let of_section = wanted.iter().zip(&mut names);
                for (numbers, [class, vendor, _]) in of_section {
                    match section {
                        Section::Vendor(number, name) if numbers.vendor == number => {
                            *vendor = Some(name);
                        }
                        // Until a better one is found.
                        Section::Class(number, name) if numbers.class >> 8 == number => {
                            *class = Some(name);
                        }
                        _ => {}
                    }
                }
                continue;
            };
            if matches!(section, Section::None) {
                continue;
            }
            let Some((number, name)) = numbered(entry) else {
                continue;
            };
            for (numbers, [class, _, device]) in wanted.iter().zip(&mut names) {
                match section {
                    Section::Vendor(vendor, _)
                        if numbers.vendor == vendor && numbers.device == number =>
                    {
                        *device = Some(name);
                    }
                    Section::Class(base, _)
                        if numbers.class >> 8 == base && numbers.class & 0xff == number =>
                    {
                        *class = Some(name);
                    }
                    _ => {}
                }
            }
        }
        names
    }
}

#[derive(Clone, Copy)]
enum Section<'a> {
    Vendor(u16, &'a str),
    Class(u16, &'a str),
    None,
}

impl<'a> Section<'a> {
    fn new(line: &'a str) -> Self {
        if let Some((number, name)) = line.strip_prefix("C ").and_then(numbered) {
            return Self::Class(number, name);
        }
        match numbered(line) {
            Some((number, name)) => Self::Vendor(number, name),
            None => Self::None,
        }
    }

    /// The file is long, and most of it is about others.
    fn if_any(self, wanted: &[Numbers]) -> Self {
        let is_wanted = |numbers: &Numbers| match self {
            Self::Vendor(vendor, _) => numbers.vendor == vendor,
            Self::Class(class, _) => numbers.class >> 8 == class,
            Self::None => false,
        };
        if wanted.iter().any(is_wanted) {
            self
        } else {
            Self::None
        }
    }
}

/// `‹hexadecimal›  ‹name›`
fn numbered(text: &str) -> Option<(u16, &str)> {
    let (number, name) = text.split_once("  ")?;
    let is_hex = matches!(number.len(), 2 | 4) && number.bytes().all(|b| b.is_ascii_hexdigit());
    let number = u16::from_str_radix(number, 16).ok().filter(|_| is_hex)?;
    Some((number, name.trim())).filter(|(_, name)| !name.is_empty())
}

#[cfg(test)]
mod tests;
