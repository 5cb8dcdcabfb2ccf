//! A package for Debian and Ubuntu: an archive of `ar` with two archives of tar, see deb(5).

use anyhow::{Context, Result, ensure};

use super::tree::{Tree, gzip};

/// The description of the package.
pub struct DebPackage<'a> {
    /// The version with Debian's revision, such as `0.1.0-1`.
    pub version: String,
    /// Debian's name of the machine.
    pub machine: &'a str,
    /// Packages that must be there, as the field has them.
    pub depends: String,
    /// The time of every entry.
    pub time: u64,
    /// Files of the package's database: `conffiles` and the scripts.
    pub control: Tree,
    /// Files that are installed.
    pub files: &'a Tree,
}

impl DebPackage<'_> {
    /// Returns the package's bytes.
    ///
    /// # Errors
    /// A file cannot be in an archive.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let mut control = self.control.clone();
        control.file("control", 0o644, self.control_text());
        let members = [
            ("debian-binary", b"2.0\n".to_vec()),
            ("control.tar.gz", gzip(&control.tar(self.time)?)?),
            ("data.tar.gz", gzip(&self.files.tar(self.time)?)?),
        ];
        let mut bytes = b"!<arch>\n".to_vec();
        for (name, content) in members {
            bytes.extend(member_header(name, self.time, content.len())?);
            bytes.extend_from_slice(&content);
            if content.len() % 2 == 1 {
                bytes.push(b'\n');
            }
        }
        Ok(bytes)
    }

    fn control_text(&self) -> String {
        let Self {
            version,
            machine,
            depends,
            ..
        } = self;
        let kibibytes = self.files.size().div_ceil(1024);
        format!(
            "Package: gpud
Version: {version}
Architecture: {machine}
Maintainer: The authors of gpud <gpud@localhost>
Installed-Size: {kibibytes}
Depends: {depends}
Suggests: ipmitool, nvme-cli, smartmontools
Section: admin
Priority: optional
Description: health of this GPU machine
 Watches one GPU machine: is it healthy, what went wrong, what should be done
 about it. Checks run in a sandbox. Nothing is sent anywhere unless the
 operator names where to.
"
        )
    }
}

fn member_header(name: &str, time: u64, length: usize) -> Result<Vec<u8>> {
    let header = format!(
        "{name:<16}{time:<12}{:<6}{:<6}{:<8}{length:<10}`\n",
        0, 0, "100644"
    );
    ensure!(header.len() == 60, "{name} is too large for an archive");
    Ok(header.into_bytes())
}

/// Returns the packages that a program of this machine needs, as the field `Depends` has them.
///
/// # Errors
/// The program needs a library of which the package is not known.
pub fn depends(libraries: &[String], glibc: &str) -> Result<String> {
    let mut packages = vec![format!("libc6 (>= {glibc})")];
    for library in libraries {
        let package = match library.as_str() {
            "libgcc_s.so.1" => "libgcc-s1 | libgcc1".to_owned(),
            name if OF_GLIBC.iter().any(|start| name.starts_with(start)) => continue,
            _ => return Err(anyhow::anyhow!("no package is known")).context(library.clone()),
        };
        packages.push(package);
    }
    Ok(packages.join(", "))
}

/// How the names of the C library's own files begin.
const OF_GLIBC: [&str; 8] = [
    "libc.so.",
    "libm.so.",
    "libdl.so.",
    "libpthread.so.",
    "librt.so.",
    "libresolv.so.",
    "libutil.so.",
    "ld-linux-",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Vec<u8> {
        let mut files = Tree::default();
        files.file("usr/bin/gpud", 0o755, vec![7; 2049]);
        let mut control = Tree::default();
        control.file("conffiles", 0o644, "/etc/default/gpud\n");
        let package = DebPackage {
            version: "1.2.3-1".to_owned(),
            machine: "amd64",
            depends: "libc6 (>= 2.28)".to_owned(),
            time: 1_000,
            control,
            files: &files,
        };
        package.encode().unwrap()
    }

    #[test]
    fn members_are_in_debians_order() {
        let bytes = example();
        assert_eq!(bytes, example());
        let mut rest = bytes.strip_prefix(b"!<arch>\n").unwrap();
        let mut names = Vec::new();
        while !rest.is_empty() {
            let (header, after) = rest.split_at(60);
            let header = std::str::from_utf8(header).unwrap();
            assert!(header.ends_with("`\n"), "{header:?}");
            names.push(header[..16].trim_end().to_owned());
            let length: usize = header[48..58].trim_end().parse().unwrap();
            rest = after.get(length + length % 2..).unwrap();
        }
        assert_eq!(names, ["debian-binary", "control.tar.gz", "data.tar.gz"]);
    }

    #[test]
    fn the_control_file_says_how_much_is_installed() {
        let bytes = example();
        let start = 8 + 60 + 4 + 60;
        let mut text = String::new();
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(&bytes[start..]));
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            if entry.path().unwrap().ends_with("control") {
                std::io::Read::read_to_string(&mut entry, &mut text).unwrap();
            }
        }
        assert!(
            text.contains("\nVersion: 1.2.3-1\nArchitecture: amd64\n"),
            "{text}"
        );
        assert!(text.contains("\nInstalled-Size: 3\n"), "{text}");
        assert!(text.ends_with('\n') && !text.contains("\n\n"), "{text}");
    }

    #[test]
    fn libraries_become_packages() {
        let names = |names: &[&str]| {
            names
                .iter()
                .map(|name| (*name).to_owned())
                .collect::<Vec<_>>()
        };
        let libraries = names(&[
            "ld-linux-aarch64.so.1",
            "libc.so.6",
            "libgcc_s.so.1",
            "libm.so.6",
        ]);
        assert_eq!(
            depends(&libraries, "2.28").unwrap(),
            "libc6 (>= 2.28), libgcc-s1 | libgcc1"
        );
        let error = depends(&names(&["libssl.so.3"]), "2.28").unwrap_err();
        assert!(error.to_string().contains("libssl.so.3"), "{error}");
    }
}
