//! Names that Go 1.26 accepts in `\p{…}`, lower-cased and without spaces, hyphens and underscores: general categories,
//! short and long, and scripts (long names only), listed by its package `unicode`.

/// The name of the class as the crate `regex` takes it; `None` if Go has no such class.
pub(super) fn qualified(name: &str) -> Option<String> {
    let name: String = name
        .chars()
        .filter(|c| !matches!(c, ' ' | '-' | '_'))
        .map(|c| c.to_ascii_lowercase())
        .collect();
    if CATEGORIES.binary_search(&name.as_str()).is_ok() {
        return Some(format!("gc={name}"));
    }
    SCRIPTS
        .binary_search(&name.as_str())
        .is_ok()
        .then(|| format!("sc={name}"))
}

/// Categories, and three that Go has beside them: any, ascii, assigned.
#[rustfmt::skip]
const CATEGORIES: &[&str] = &[
    "any", "ascii", "assigned", "c", "casedletter", "cc", "cf", "closepunctuation", "cn", "cntrl", "co",
    "combiningmark", "connectorpunctuation", "control", "cs", "currencysymbol", "dashpunctuation", "decimalnumber",
    "digit", "enclosingmark", "finalpunctuation", "format", "initialpunctuation", "l", "lc", "letter",
    "letternumber", "lineseparator", "ll", "lm", "lo", "lowercaseletter", "lt", "lu", "m", "mark", "mathsymbol",
    "mc", "me", "mn", "modifierletter", "modifiersymbol", "n", "nd", "nl", "no", "nonspacingmark", "number",
    "openpunctuation", "other", "otherletter", "othernumber", "otherpunctuation", "othersymbol", "p",
    "paragraphseparator", "pc", "pd", "pe", "pf", "pi", "po", "privateuse", "ps", "punct", "punctuation", "s", "sc",
    "separator", "sk", "sm", "so", "spaceseparator", "spacingmark", "surrogate", "symbol", "titlecaseletter",
    "unassigned", "uppercaseletter", "z", "zl", "zp", "zs",
];

#[rustfmt::skip]
const SCRIPTS: &[&str] = &[
    "adlam", "ahom", "anatolianhieroglyphs", "arabic", "armenian", "avestan", "balinese", "bamum", "bassavah",
    "batak", "bengali", "bhaiksuki", "bopomofo", "brahmi", "braille", "buginese", "buhid", "canadianaboriginal",
    "carian", "caucasianalbanian", "chakma", "cham", "cherokee", "chorasmian", "common", "coptic", "cuneiform",
    "cypriot", "cyprominoan", "cyrillic", "deseret", "devanagari", "divesakuru", "dogra", "duployan",
    "egyptianhieroglyphs", "elbasan", "elymaic", "ethiopic", "georgian", "glagolitic", "gothic", "grantha", "greek",
    "gujarati", "gunjalagondi", "gurmukhi", "han", "hangul", "hanifirohingya", "hanunoo", "hatran", "hebrew",
    "hiragana", "imperialaramaic", "inherited", "inscriptionalpahlavi", "inscriptionalparthian", "javanese",
    "kaithi", "kannada", "katakana", "kawi", "kayahli", "kharoshthi", "khitansmallscript", "khmer", "khojki",
    "khudawadi", "lao", "latin", "lepcha", "limbu", "lineara", "linearb", "lisu", "lycian", "lydian", "mahajani",
    "makasar", "malayalam", "mandaic", "manichaean", "marchen", "masaramgondi", "medefaidrin", "meeteimayek",
    "mendekikakui", "meroiticcursive", "meroitichieroglyphs", "miao", "modi", "mongolian", "mro", "multani",
    "myanmar", "nabataean", "nagmundari", "nandinagari", "newa", "newtailue", "nko", "nushu",
    "nyiakengpuachuehmong", "ogham", "olchiki", "oldhungarian", "olditalic", "oldnortharabian", "oldpermic",
    "oldpersian", "oldsogdian", "oldsoutharabian", "oldturkic", "olduyghur", "oriya", "osage", "osmanya",
    "pahawhhmong", "palmyrene", "paucinhau", "phagspa", "phoenician", "psalterpahlavi", "rejang", "runic",
    "samaritan", "saurashtra", "sharada", "shavian", "siddham", "signwriting", "sinhala", "sogdian", "sorasompeng",
    "soyombo", "sundanese", "sylotinagri", "syriac", "tagalog", "tagbanwa", "taile", "taitham", "taiviet", "takri",
    "tamil", "tangsa", "tangut", "telugu", "thaana", "thai", "tibetan", "tifinagh", "tirhuta", "toto", "ugaritic",
    "vai", "vithkuqi", "wancho", "warangciti", "yezidi", "yi", "zanabazarsquare",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_class_of_the_crate_and_both_lists_are_sorted() {
        for name in CATEGORIES.iter().chain(SCRIPTS) {
            // No text holds a surrogate: the crate has no such class.
            if !matches!(*name, "cs" | "surrogate") {
                let class = format!("\\p{{{}}}", qualified(name).unwrap());
                assert!(regex::Regex::new(&class).is_ok(), "{class}");
            }
        }
        assert!(CATEGORIES.is_sorted() && SCRIPTS.is_sorted());
        assert_eq!(qualified("Old_Italic").as_deref(), Some("sc=olditalic"));
        assert_eq!(qualified("gc=L"), None);
    }
}
