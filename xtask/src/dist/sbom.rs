//! The list of gpud's parts in the form of CycloneDX 1.5: the same bytes for the same sources.

use anyhow::Result;
use serde::Serialize;

use super::metadata::{Part, Parts};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    bom_format: &'static str,
    spec_version: &'static str,
    version: u32,
    metadata: BomMetadata<'a>,
    components: Vec<BomComponent<'a>>,
    dependencies: Vec<BomDependency<'a>>,
}

#[derive(Serialize)]
struct BomMetadata<'a> {
    component: BomComponent<'a>,
}

#[derive(Serialize)]
struct BomComponent<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(rename = "bom-ref")]
    reference: String,
    name: &'a str,
    version: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hashes: Vec<Hash<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    licenses: Vec<Licence<'a>>,
    purl: String,
}

#[derive(Serialize)]
struct Hash<'a> {
    alg: &'static str,
    content: &'a str,
}

#[derive(Serialize)]
struct Licence<'a> {
    expression: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BomDependency<'a> {
    #[serde(rename = "ref")]
    reference: &'a str,
    depends_on: Vec<&'a str>,
}

/// Returns the document. It has no time and no serial number, which would differ between two builds.
///
/// # Errors
/// It cannot be encoded, which does not happen.
pub fn document(parts: &Parts) -> Result<Vec<u8>> {
    let root = parts.all.get(&parts.root);
    let root = root.map_or_else(
        || BomComponent {
            kind: "application",
            reference: parts.root.clone(),
            name: "gpud",
            version: &parts.version,
            hashes: Vec::new(),
            licenses: Vec::new(),
            purl: parts.root.clone(),
        },
        |part| component(part, "application"),
    );
    let others = parts.all.iter().filter(|(url, _)| **url != parts.root);
    let dependencies = parts.all.iter().map(|(url, part)| BomDependency {
        reference: url,
        depends_on: part.uses.iter().map(String::as_str).collect(),
    });
    let document = Document {
        bom_format: "CycloneDX",
        spec_version: "1.5",
        version: 1,
        metadata: BomMetadata { component: root },
        components: others.map(|(_, part)| component(part, "library")).collect(),
        dependencies: dependencies.collect(),
    };
    let mut bytes = serde_json::to_vec_pretty(&document)?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn component<'a>(part: &'a Part, kind: &'static str) -> BomComponent<'a> {
    let known = (part.licence != "NOASSERTION").then_some(Licence {
        expression: &part.licence,
    });
    let hash = part.checksum.as_deref().map(|content| Hash {
        alg: "SHA-256",
        content,
    });
    BomComponent {
        kind,
        reference: part.url(),
        name: &part.name,
        version: &part.version,
        hashes: hash.into_iter().collect(),
        licenses: known.into_iter().collect(),
        purl: part.url(),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::metadata::tests::example, *};

    #[test]
    fn the_document_names_every_part_once() {
        let bytes = document(&example()).unwrap();
        assert_eq!(bytes, document(&example()).unwrap());
        let read: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(read["bomFormat"], "CycloneDX");
        assert_eq!(read["specVersion"], "1.5");
        assert_eq!(read["metadata"]["component"]["type"], "application");
        assert_eq!(
            read["metadata"]["component"]["purl"],
            "pkg:cargo/gpud@1.2.3"
        );
        let components = read["components"].as_array().unwrap();
        let names: Vec<&str> = components
            .iter()
            .map(|component| component["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["deep", "gpud-builtin-fan", "library"]);
        assert_eq!(
            components[2],
            serde_json::json!({
                "type": "library",
                "bom-ref": "pkg:cargo/library@2.0.0",
                "name": "library",
                "version": "2.0.0",
                "hashes": [{"alg": "SHA-256", "content": "ab01"}],
                "licenses": [{"expression": "MIT OR Apache-2.0"}],
                "purl": "pkg:cargo/library@2.0.0",
            })
        );
        assert_eq!(components[0].get("licenses"), None, "it has none");
        assert_eq!(
            read["dependencies"][2],
            serde_json::json!({"ref": "pkg:cargo/gpud@1.2.3", "dependsOn": ["pkg:cargo/library@2.0.0"]})
        );
    }
}
