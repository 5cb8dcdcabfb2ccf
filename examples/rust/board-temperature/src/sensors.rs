//! Temperature sensors out of the files of `/sys/class/hwmon` (kernel document
//! `Documentation/hwmon/sysfs-interface.rst`): `temp*_input` in thousandths of a degree Celsius, `temp*_label` and
//! `name` as text. Pure.

use std::collections::{BTreeMap, BTreeSet};

use gpud_sdk::sysfs::FileContent;

/// A chip that does not answer shows 0 (as a negative overflow -128) or all bits set (127 or 255).
const COLDEST: f64 = -50.0;
const HOTTEST: f64 = 126.0;
/// Longest label or driver name that is used, bytes.
const MAX_NAME: usize = 64;

/// One sensor.
#[derive(Debug, Clone, PartialEq)]
pub struct Sensor {
    /// Name of the chip's driver; with a number where there are several: `nvme`, `nvme.2`.
    pub chip: String,
    /// Its label, or else its file's name: `temp1`.
    pub name: String,
    /// Both, `nvme/Composite`: what the configuration calls it.
    pub key: String,
    /// The file.
    pub path: String,
    /// Degrees Celsius; none where the file could not be read or shows no temperature.
    pub value: Option<f64>,
}

/// All sensors, in the kernel's order. Files that belong to no sensor are left out.
pub fn find(
    inputs: Vec<FileContent>,
    labels: Vec<FileContent>,
    names: Vec<FileContent>,
) -> Vec<Sensor> {
    let texts: BTreeMap<String, String> = labels
        .into_iter()
        .chain(names)
        .filter_map(|file| Some((one_line(&file.content.ok()?)?, file.path)))
        .map(|(text, path)| (path, text))
        .collect();
    // By number, since hwmon10 comes before hwmon2 otherwise.
    let mut places: Vec<(u32, u32, FileContent)> = inputs
        .into_iter()
        .filter_map(|file| numbers(&file.path).map(|(chip, sensor)| (chip, sensor, file)))
        .collect();
    places.sort_by(|(chip, sensor, file), (of, other, beside)| {
        (chip, sensor, &file.path).cmp(&(of, other, &beside.path))
    });
    let mut chips: BTreeMap<String, String> = BTreeMap::new();
    let mut drivers: BTreeMap<String, u32> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    let mut found = Vec::with_capacity(places.len());
    for (_, index, file) in places {
        let Some((folder, _)) = file.path.rsplit_once('/') else {
            continue;
        };
        let chip = chips.entry(folder.to_owned()).or_insert_with(|| {
            let driver = texts
                .get(&format!("{folder}/name"))
                .map_or("unknown", String::as_str);
            let count = drivers.entry(driver.to_owned()).or_insert(0);
            *count += 1;
            match count {
                1 => driver.to_owned(),
                count => format!("{driver}.{count}"),
            }
        });
        let base = format!("temp{index}");
        let mut name = texts
            .get(&format!("{folder}/{base}_label"))
            .unwrap_or(&base)
            .clone();
        if seen.contains(&format!("{chip}/{name}")) {
            name = format!("{name} ({base})");
        }
        let key = format!("{chip}/{name}");
        seen.insert(key.clone());
        let value = file.content.ok().and_then(|bytes| celsius(&bytes));
        found.push(Sensor {
            chip: chip.clone(),
            name,
            key,
            path: file.path,
            value,
        });
    }
    found
}

/// The numbers of chip and sensor in `…/hwmon3/temp1_input`.
fn numbers(path: &str) -> Option<(u32, u32)> {
    let (folder, file) = path.rsplit_once('/')?;
    let (_, chip) = folder.rsplit_once('/')?;
    let sensor = file.strip_prefix("temp")?.strip_suffix("_input")?;
    Some((
        chip.trim_start_matches(|letter: char| !letter.is_ascii_digit())
            .parse()
            .ok()?,
        sensor.parse().ok()?,
    ))
}

/// A name that can be shown, or none.
fn one_line(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?.trim();
    (!text.is_empty() && text.len() <= MAX_NAME && !text.contains(char::is_control))
        .then(|| text.to_owned())
}

/// Degrees out of thousandths, where it is a temperature.
fn celsius(bytes: &[u8]) -> Option<f64> {
    let thousandths: i32 = std::str::from_utf8(bytes).ok()?.trim().parse().ok()?;
    let value = f64::from(thousandths) / 1000.0;
    (value > COLDEST && value < HOTTEST).then_some(value)
}

#[cfg(test)]
pub mod tests {
    use gpud_sdk::AccessError;

    use super::*;

    /// A file below `/sys/class/hwmon/`.
    pub fn file(path: &str, content: &[u8]) -> FileContent {
        FileContent {
            path: format!("/sys/class/hwmon/{path}"),
            content: Ok(content.to_vec()),
        }
    }

    #[test]
    fn names_are_those_of_people() {
        let mut lost = file("hwmon2/temp3_input", b"");
        lost.content = Err(AccessError::NotFound("gone".into()));
        let inputs = vec![
            file("hwmon10/temp1_input", b"30000\n"),
            file("hwmon2/temp1_input", b"20000\n"),
            file("hwmon2/temp2_input", b"21000\n"),
            lost,
            file("hwmon3/temp1_input", b"25000\n"),
            file("hwmon3/temp_input", b"1\n"),
        ];
        let labels = vec![file("hwmon2/temp2_label", b"temp1\n")];
        let names = ["hwmon10/name", "hwmon2/name"].map(|path| file(path, b"nvme\n"));
        let names = names
            .into_iter()
            .chain([file("hwmon3/name", b"two\nlines")])
            .collect();
        let found = find(inputs, labels, names);
        let found: Vec<_> = found
            .iter()
            .map(|one| (one.key.as_str(), one.value))
            .collect();
        let wanted = [
            ("nvme/temp1", Some(20.0)),
            ("nvme/temp1 (temp2)", Some(21.0)),
            ("nvme/temp3", None),
            ("unknown/temp1", Some(25.0)),
            ("nvme.2/temp1", Some(30.0)),
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn not_every_number_is_a_temperature() {
        for (text, value) in [
            (&b"45500\n"[..], Some(45.5)),
            (b"-1500", Some(-1.5)),
            (b"255000", None),
            (b"-128000", None),
            (b"", None),
            (b"warm", None),
            (b"99999999999999999999", None),
            (b"\xff\xfe", None),
        ] {
            assert_eq!(celsius(text), value, "{text:?}");
        }
    }

    #[test]
    fn any_files_are_survived() {
        let letters = b"0123456789-. \n\t\\nvme\x80\xff\xc3\xa4{}\":,";
        let mut seed = 1_u64;
        let mut below = |limit: usize| {
            seed = seed * 48_271 % 2_147_483_647;
            seed as usize % limit
        };
        for _ in 0..300 {
            let mut files = |names: &[&str]| -> Vec<FileContent> {
                let mut one = |name: &str| {
                    let content: Vec<u8> = (0..below(16))
                        .map(|_| letters[below(letters.len())])
                        .collect();
                    file(&format!("hwmon{}/{name}", below(4)), &content)
                };
                names.iter().map(|name| one(name)).collect()
            };
            let inputs = files(&["temp1_input", "temp2_input", "temp_input", "temp1_input"]);
            let found = find(
                inputs,
                files(&["temp1_label", "temp2_label"]),
                files(&["name", "name"]),
            );
            assert!(
                found.len() <= 3 && found.iter().filter_map(|one| one.value).all(f64::is_finite)
            );
        }
    }
}
