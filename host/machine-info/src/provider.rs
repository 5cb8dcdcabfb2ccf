//! The cloud provider of the machine, by its firmware (SMBIOS, shown by Linux in `/sys/class/dmi/id`).
//!
//! Nobody is asked, so what only a metadata service knows (region, public address) stays empty, and a cloud whose
//! firmware does not name it (plain QEMU or OpenStack, as nscale's) is `unknown`. The firmware's words are those by
//! which cloud-init's `ds-identify` tells the same clouds apart, and the names are GPUd's where it has one.

use crate::node::files::Files;

/// Larger than any of these files.
const MAX_BYTES: u64 = 4096;
/// What Azure writes into the asset tag of each virtual machine's chassis; of plain Hyper-V it is another.
const AZURE_TAG: &str = "7783-7084-3265-9085-8269-3286-77";
const ORACLE_TAG: &str = "OracleCloud.com";

/// A cloud provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cloud {
    /// Name, `unknown` if the firmware names none that is known.
    pub provider: &'static str,
    /// The cloud's name for this machine, where the firmware has it.
    pub instance_id: String,
}

/// The firmware's own words. What cannot be read is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Firmware {
    sys_vendor: String,
    product_name: String,
    bios_vendor: String,
    bios_version: String,
    chassis_asset_tag: String,
    board_asset_tag: String,
}

/// Reads what the firmware says.
pub async fn cloud(files: &Files) -> Cloud {
    let word = async |name: &str| {
        let read = files
            .read(&format!("/sys/class/dmi/id/{name}"), MAX_BYTES)
            .await;
        let text = read.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
        text.unwrap_or_default()
    };
    let firmware = Firmware {
        sys_vendor: word("sys_vendor").await,
        product_name: word("product_name").await,
        bios_vendor: word("bios_vendor").await,
        bios_version: word("bios_version").await,
        chassis_asset_tag: word("chassis_asset_tag").await,
        board_asset_tag: word("board_asset_tag").await,
    };
    let provider = firmware.provider().unwrap_or("unknown");
    Cloud {
        provider,
        instance_id: match provider {
            "aws" => firmware.aws_instance(),
            _ => String::new(),
        },
    }
}

impl Firmware {
    fn provider(&self) -> Option<&'static str> {
        let vendor = self.sys_vendor.as_str();
        let product = self.product_name.as_str();
        // A tag is the cloud's own; vendor and product of its bare-metal machines are those of their maker.
        match self.chassis_asset_tag.as_str() {
            AZURE_TAG => return Some("azure"),
            ORACLE_TAG => return Some("oci"),
            _ => {}
        }
        // Nitro machines say it as vendor, those on Xen in the version of the firmware (`4.11.amazon`).
        let is_aws = vendor == "Amazon EC2" || self.bios_vendor == "Amazon EC2";
        if is_aws || vendor == "Xen" && self.bios_version.ends_with(".amazon") {
            return Some("aws");
        }
        if product == "Google Compute Engine" {
            return Some("gcp");
        }
        if product == "Alibaba Cloud ECS" {
            return Some("alibaba");
        }
        Some(match vendor {
            "Hetzner" => "hetzner",
            "DigitalOcean" => "digitalocean",
            "Vultr" => "vultr",
            "Scaleway" => "scaleway",
            "UpCloud" => "upcloud",
            "Akamai" | "Linode" => "akamai",
            "Exoscale" => "exoscale",
            _ if product.starts_with("Exoscale") => "exoscale",
            _ => return None,
        })
    }

    /// Nitro machines carry `i-0123456789abcdef0` as their board's asset tag.
    fn aws_instance(&self) -> String {
        let id = &self.board_asset_tag;
        let is_id = id.strip_prefix("i-").is_some_and(|digits| {
            matches!(digits.len(), 8 | 17) && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
        });
        if is_id { id.clone() } else { String::new() }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn firmware(vendor: &str, product: &str, bios: [&str; 2], tag: &str) -> Firmware {
        Firmware {
            sys_vendor: vendor.into(),
            product_name: product.into(),
            bios_vendor: bios[0].into(),
            bios_version: bios[1].into(),
            chassis_asset_tag: tag.into(),
            board_asset_tag: String::new(),
        }
    }

    type Case = (
        &'static str,
        &'static str,
        [&'static str; 2],
        &'static str,
        Option<&'static str>,
    );

    const FIRMWARE: [Case; 18] = [
        (
            "Amazon EC2",
            "p5.48xlarge",
            ["Amazon EC2", "1.0"],
            "Amazon EC2",
            Some("aws"),
        ),
        (
            "Amazon EC2",
            "i3.metal",
            ["Amazon EC2", "1.0"],
            "",
            Some("aws"),
        ),
        ("Xen", "HVM domU", ["Xen", "4.11.amazon"], "", Some("aws")),
        ("Xen", "HVM domU", ["Xen", "4.11"], "", None),
        (
            "Microsoft Corporation",
            "Virtual Machine",
            ["Microsoft", "1"],
            AZURE_TAG,
            Some("azure"),
        ),
        (
            "Microsoft Corporation",
            "Virtual Machine",
            ["Microsoft", "1"],
            "1234-5678",
            None,
        ),
        (
            "Google",
            "Google Compute Engine",
            ["Google", "Google"],
            "",
            Some("gcp"),
        ),
        (
            "QEMU",
            "Standard PC (i440FX + PIIX, 1996)",
            ["SeaBIOS", "1.16"],
            ORACLE_TAG,
            Some("oci"),
        ),
        (
            "Oracle Corporation",
            "ORACLE SERVER E6",
            ["", ""],
            ORACLE_TAG,
            Some("oci"),
        ),
        (
            "Alibaba Cloud",
            "Alibaba Cloud ECS",
            ["SeaBIOS", "3"],
            "",
            Some("alibaba"),
        ),
        ("Hetzner", "vServer", ["", ""], "", Some("hetzner")),
        (
            "DigitalOcean",
            "Droplet",
            ["", ""],
            "",
            Some("digitalocean"),
        ),
        (
            "Exoscale",
            "Exoscale Compute Platform",
            ["", ""],
            "",
            Some("exoscale"),
        ),
        (
            "OpenStack Foundation",
            "OpenStack Nova",
            ["SeaBIOS", "1.16"],
            "",
            None,
        ),
        (
            "Supermicro",
            "SYS-821GE-TNHR",
            ["American Megatrends", "2.1"],
            "",
            None,
        ),
        (
            "QEMU",
            "Standard PC (Q35 + ICH9, 2009)",
            ["SeaBIOS", "1.16"],
            "",
            None,
        ),
        // A machine that somebody named so is none of Amazon's.
        ("not Amazon EC2", "amazon", ["", "amazon"], "amazon", None),
        ("", "", ["", ""], "", None),
    ];

    #[test]
    fn clouds_by_their_firmware() {
        for (vendor, product, bios, tag, provider) in FIRMWARE {
            let found = firmware(vendor, product, bios, tag).provider();
            assert_eq!(found, provider, "{vendor}, {product}");
        }
    }

    #[test]
    fn only_what_looks_like_an_instance_is_one() {
        for (tag, id) in [
            ("i-0abcd1234ef567890", "i-0abcd1234ef567890"),
            ("i-1a2b3c4d", "i-1a2b3c4d"),
            ("i-0abcd1234ef56789z", ""),
            ("i-", ""),
            ("Not Specified", ""),
            ("", ""),
        ] {
            let firmware = Firmware {
                board_asset_tag: tag.into(),
                ..Firmware::default()
            };
            assert_eq!(firmware.aws_instance(), id, "{tag}");
        }
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_unknown() {
        let root = tempfile::tempdir().unwrap();
        let files = Files::rooted(root.path()).unwrap();
        let nothing = Cloud {
            provider: "unknown",
            instance_id: String::new(),
        };
        assert_eq!(cloud(&files).await, nothing);
        let folder = root.path().join("sys/class/dmi/id");
        fs::create_dir_all(&folder).unwrap();
        for (name, content) in [
            ("sys_vendor", &b"\xff\xfe\0\n"[..]),
            ("product_name", &[b'x'; 10_000]),
        ] {
            fs::write(folder.join(name), content).unwrap();
        }
        assert_eq!(cloud(&files).await, nothing);
        fs::write(folder.join("sys_vendor"), "Amazon EC2\n").unwrap();
        fs::write(folder.join("board_asset_tag"), "i-0abcd1234ef567890\n").unwrap();
        let found = cloud(&files).await;
        assert_eq!(
            (found.provider, found.instance_id.as_str()),
            ("aws", "i-0abcd1234ef567890")
        );
    }
}
