//! The operating system, from `/etc/os-release` (format: os-release(5)).

use super::key_values;

/// The content of `/etc/os-release`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OsRelease {
    /// For people: `PRETTY_NAME`, else `NAME`.
    pub pretty_name: Option<String>,
    /// Platform: `ID`, with `redhat`, `amazon`, `oracle` and `suse` for `rhel`, `amzn`, `ol` and `sles`.
    pub platform: Option<String>,
    /// Family of platforms that work alike (`debian`, `rhel`, …): a table, else the last word of `ID_LIKE`, else the
    /// platform.
    pub family: Option<String>,
    /// Version: `VERSION_ID`.
    pub version: Option<String>,
}

impl OsRelease {
    /// Reads the file's text; what is missing stays absent.
    pub fn parse(text: &str) -> Self {
        let values = key_values(text, '=');
        let value = |key: &str| {
            let value = values.get(key).map(|value| unquoted(value));
            value.filter(|value| !value.is_empty())
        };
        let id = value("ID");
        Self {
            pretty_name: value("PRETTY_NAME").or_else(|| value("NAME")),
            platform: id.as_deref().map(|id| platform(id).to_owned()),
            family: id.as_deref().map(|id| {
                let like = value("ID_LIKE");
                let like = like
                    .as_deref()
                    .and_then(|like| like.split_whitespace().last());
                let own = platform(id);
                family(own).unwrap_or(like.unwrap_or(own)).to_owned()
            }),
            version: value("VERSION_ID"),
        }
    }
}

fn platform(id: &str) -> &str {
    match id {
        "rhel" => "redhat",
        "amzn" => "amazon",
        "ol" => "oracle",
        "sles" => "suse",
        id => id,
    }
}

fn family(platform: &str) -> Option<&'static str> {
    Some(match platform {
        "debian" | "ubuntu" | "linuxmint" | "raspbian" => "debian",
        "fedora" => "fedora",
        "redhat" | "centos" | "rocky" | "almalinux" | "oracle" | "amazon" | "scientific" => "rhel",
        "suse" | "opensuse-leap" | "opensuse-tumbleweed" => "suse",
        _ => return None,
    })
}

/// Takes off one pair of quotes, and the backslashes that quoting needs.
fn unquoted(value: &str) -> String {
    let inner = ['"', '\'']
        .into_iter()
        .find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
    let mut text = String::new();
    let mut chars = inner.unwrap_or(value).chars();
    while let Some(c) = chars.next() {
        text.extend(if c == '\\' { chars.next() } else { Some(c) });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn release_files_are_understood() {
        for (text, pretty, platform, family, version) in [
            (
                "PRETTY_NAME=\"Ubuntu 24.04.2 LTS\"\nNAME=\"Ubuntu\"\nVERSION_ID=\"24.04\"\nID=ubuntu\nID_LIKE=debian\n",
                "Ubuntu 24.04.2 LTS",
                "ubuntu",
                "debian",
                "24.04",
            ),
            (
                "NAME='Rocky Linux'\nID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nVERSION_ID=9.4\n",
                "Rocky Linux",
                "rocky",
                "rhel",
                "9.4",
            ),
            ("ID=rhel\nVERSION_ID=\"8.10\"", "", "redhat", "rhel", "8.10"),
            (
                "ID=dgxos\nID_LIKE=\"ubuntu debian\"",
                "",
                "dgxos",
                "debian",
                "",
            ),
            (
                "ID=wolfi\nNAME=\"a \\\"b\\\"\"",
                "a \"b\"",
                "wolfi",
                "wolfi",
                "",
            ),
            ("# nothing\n=\nPRETTY_NAME=\"\"\n", "", "", "", ""),
        ] {
            let os = OsRelease::parse(text);
            let absent_as_empty = |value: Option<String>| value.unwrap_or_default();
            assert_eq!(absent_as_empty(os.pretty_name), pretty, "{text}");
            assert_eq!(absent_as_empty(os.platform), platform, "{text}");
            assert_eq!(absent_as_empty(os.family), family, "{text}");
            assert_eq!(absent_as_empty(os.version), version, "{text}");
        }
    }
}
