//! Names of months as `%b` gives them in common locales, and their full English names.

/// Month numbers by lower-case name without a final point. Source: the `abmon` lists of glibc's locales.
const NAMES: [(u32, &[&str]); 12] = [
    (
        1,
        &[
            "jan", "january", "januar", "janv", "ene", "gen", "sty", "янв", "led", "tammi", "ian",
            "oca", "січ", "ιαν",
        ],
    ),
    (
        2,
        &[
            "feb",
            "february",
            "februar",
            "févr",
            "fevr",
            "fev",
            "lut",
            "фев",
            "úno",
            "helmi",
            "febr",
            "şub",
            "лют",
            "φεβ",
            "f\u{fffd}vr",
        ],
    ),
    (
        3,
        &[
            "mar",
            "march",
            "mär",
            "mrz",
            "märz",
            "mars",
            "mrt",
            "мар",
            "bře",
            "maalis",
            "márc",
            "març",
            "бер",
            "μαρ",
            "m\u{fffd}r",
        ],
    ),
    (
        4,
        &[
            "apr", "april", "avril", "avr", "abr", "kwi", "апр", "dub", "huhti", "ápr", "nis",
            "кві", "απρ",
        ],
    ),
    (
        5,
        &[
            "may", "mai", "maj", "mag", "mei", "май", "мая", "kvě", "máj", "touko", "maig", "тра",
            "μαι", "μάι",
        ],
    ),
    (
        6,
        &[
            "jun", "june", "juni", "juin", "giu", "cze", "июн", "čen", "jún", "kesä", "iun", "haz",
            "juny", "чер", "ιουν",
        ],
    ),
    (
        7,
        &[
            "jul", "july", "juli", "juil", "lug", "lip", "июл", "čec", "júl", "heinä", "iul",
            "tem", "лип", "ιουλ",
        ],
    ),
    (
        8,
        &[
            "aug",
            "august",
            "août",
            "aout",
            "ago",
            "sie",
            "авг",
            "srp",
            "elo",
            "ağu",
            "сер",
            "αυγ",
            "ao\u{fffd}t",
        ],
    ),
    (
        9,
        &[
            "sep",
            "sept",
            "september",
            "set",
            "wrz",
            "сен",
            "сент",
            "zář",
            "syys",
            "szept",
            "eyl",
            "вер",
            "σεπ",
        ],
    ),
    (
        10,
        &[
            "oct",
            "october",
            "okt",
            "ott",
            "out",
            "paź",
            "окт",
            "říj",
            "loka",
            "eki",
            "жов",
            "οκτ",
            "pa\u{fffd}",
        ],
    ),
    (
        11,
        &[
            "nov", "november", "lis", "ноя", "нояб", "marras", "noi", "kas", "νοε",
        ],
    ),
    (
        12,
        &[
            "dec",
            "december",
            "dez",
            "déc",
            "dic",
            "gru",
            "дек",
            "pro",
            "des",
            "joulu",
            "ara",
            "гру",
            "δεκ",
            "d\u{fffd}c",
        ],
    ),
];

/// The longest name in bytes, with a point.
const MAX_NAME: usize = 16;

/// Returns the number of the month that a word names, from 1; also of `11月` and `11월`.
pub(super) fn number(word: &[u8]) -> Option<u32> {
    if word.is_empty() || word.len() > MAX_NAME {
        return None;
    }
    let name = String::from_utf8_lossy(word).to_lowercase();
    let name = name.strip_suffix('.').unwrap_or(&name);
    if let Some(digits) = name.strip_suffix(['月', '월']) {
        return digits.parse().ok().filter(|month| (1..=12).contains(month));
    }
    NAMES
        .iter()
        .find(|(_, names)| names.contains(&name))
        .map(|(number, _)| *number)
}

#[cfg(test)]
mod tests;
