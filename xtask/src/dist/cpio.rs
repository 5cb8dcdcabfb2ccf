//! Archives of cpio in the form `newc`, as packages of RPM have them.

use std::collections::BTreeMap;

use anyhow::Result;

use super::tree::Node;

/// Encodes these files; their numbers are their order.
///
/// # Errors
/// A file is too large.
pub fn archive(files: &BTreeMap<&str, &Node>, time: u32) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for (number, (path, node)) in (1..).zip(files) {
        let content: &[u8] = match node {
            Node::Folder(_) => &[],
            Node::File(_, content) => content,
        };
        let links = if matches!(node, Node::Folder(_)) {
            2
        } else {
            1
        };
        let fields = [number, mode(node), 0, 0, links, time];
        entry(&mut bytes, &format!("./{path}"), fields, content)?;
    }
    entry(&mut bytes, "TRAILER!!!", [0, 0, 0, 0, 1, 0], &[])?;
    Ok(bytes)
}

/// Returns the mode with the kind of file.
pub fn mode(node: &Node) -> u32 {
    match node {
        Node::Folder(mode) => 0o040_000 | mode,
        Node::File(mode, _) => 0o100_000 | mode,
    }
}

/// Number, mode, user, group, links and time come first; then the size, four numbers of devices, and the name's length.
fn entry(to: &mut Vec<u8>, name: &str, fields: [u32; 6], content: &[u8]) -> Result<()> {
    let size = u32::try_from(content.len())?;
    let name_size = u32::try_from(name.len() + 1)?;
    to.extend_from_slice(b"070701");
    for number in fields.into_iter().chain([size, 0, 0, 0, 0, name_size, 0]) {
        to.extend_from_slice(format!("{number:08x}").as_bytes());
    }
    to.extend_from_slice(name.as_bytes());
    to.push(0);
    to.resize(to.len().next_multiple_of(4), 0);
    to.extend_from_slice(content);
    to.resize(to.len().next_multiple_of(4), 0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_its_files_and_an_end() {
        let file = Node::File(0o644, b"text!".to_vec());
        let other = Node::File(0o755, b"a".to_vec());
        let bytes = archive(&BTreeMap::from([("etc/a", &file), ("etc/b", &other)]), 16).unwrap();
        assert_eq!(bytes.len() % 4, 0);
        let text = String::from_utf8(bytes).unwrap();
        let first = [
            "070701", "00000001", "000081a4", "00000000", "00000000", "00000001", "00000010",
            "00000005", "00000000", "00000000", "00000000", "00000000", "00000008", "00000000",
        ]
        .concat();
        assert_eq!(&text[..110], first);
        assert!(
            text[110..].starts_with("./etc/a\0\0\0text!\0\0\x00070701"),
            "{text:?}"
        );
        assert!(text.contains("./etc/b\0\0\0a\0\0\0"), "{text:?}");
        assert!(text.ends_with("TRAILER!!!\0\0\0\0"), "{text:?}");
    }
}
