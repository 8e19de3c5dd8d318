//! What a character does on a screen.

use std::ops::RangeInclusive;

use holdpoint_engine::seeded::Bug;

/// What is to be done with a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Seen as what it is.
    Visible,
    /// A letter or digit of any alphabet.
    Letter,
    /// Drawn over the character before it.
    Mark,
    /// The ordinary blank.
    Blank,
    /// U+000A.
    LineBreak,
    /// Takes no ink, moves others, has no meaning of its own, or is a bracket of our notes.
    Hidden,
    /// Punctuation or a sign that passes for one of ASCII.
    LookAlike,
}

/// Visible by its category, and yet without ink (or ours): fillers, the blank Braille cell, the
/// grapheme joiner, vowels that are not drawn, variation selectors, the brackets of our notes.
const HIDDEN: [RangeInclusive<u32>; 11] = [
    0x034F..=0x034F,
    0x115F..=0x1160,
    0x17B4..=0x17B5,
    0x180B..=0x180F,
    0x2800..=0x2800,
    0x27E6..=0x27E7,
    0x3164..=0x3164,
    0xFE00..=0xFE0F,
    0xFFA0..=0xFFA0,
    0xFFFC..=0xFFFD,
    0xE0100..=0xE01EF,
];

/// Passes for a slash, a colon, a dot, a hyphen or another ASCII sign.
const LOOK_ALIKES: [RangeInclusive<u32>; 16] = [
    0x02D0..=0x02D0,
    0x0589..=0x0589,
    0x2010..=0x2012,
    0x201A..=0x201A,
    0x2024..=0x2024,
    0x2039..=0x203A,
    0x2044..=0x2044,
    0x2212..=0x2212,
    0x2215..=0x2217,
    0x2223..=0x2223,
    0x2236..=0x2236,
    0x29F8..=0x29F9,
    0xA789..=0xA789,
    0xFE50..=0xFE6B,
    0xFF01..=0xFF65,
    0xFFE0..=0xFFEE,
];

pub(super) fn kind(c: char) -> Kind {
    match c {
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' if Bug::BidiRaw.is_on() => Kind::Visible,
        ' ' => Kind::Blank,
        '\n' => Kind::LineBreak,
        _ if c.is_ascii_alphanumeric() => Kind::Letter,
        _ if c.is_ascii_graphic() => Kind::Visible,
        _ if c.is_ascii() || in_any(&HIDDEN, c) => Kind::Hidden,
        // The standard library writes out what is not printable and what extends the one before.
        _ if c.escape_debug().len() == 1 => {
            if c.is_alphanumeric() {
                Kind::Letter
            } else if in_any(&LOOK_ALIKES, c) {
                Kind::LookAlike
            } else {
                Kind::Visible
            }
        }
        _ if is_printable(c) => Kind::Mark,
        _ => Kind::Hidden,
    }
}

/// Within a string the standard library writes out only what is not printable.
fn is_printable(c: char) -> bool {
    let text: String = ['a', c].iter().collect();
    text.escape_debug().count() == 2
}

/// Whether the character belongs to a word.
pub(super) fn is_word(c: char) -> bool {
    matches!(kind(c), Kind::Letter | Kind::Mark)
}

/// What a hidden character is, in words.
pub(super) fn name(c: char) -> &'static str {
    match u32::from(c) {
        0x09 => "tab",
        0x0A => "line break",
        0x0D => "carriage return",
        0x1B => "escape (terminal code)",
        0x20 => "blank at the edge of a line",
        0x00..=0x1F | 0x7F..=0x9F => "control character",
        0xAD => "soft hyphen",
        0x061C | 0x200E | 0x200F | 0x202A..=0x202E | 0x2066..=0x2069 => {
            "changes the direction of the text"
        }
        0x200B..=0x200D | 0x2060..=0x2064 | 0xFEFF => "zero-width character",
        0xE0000..=0xE007F => "invisible tag character",
        0xFE00..=0xFE0F | 0xE0100..=0xE01EF => "variation selector",
        0x27E6..=0x27E7 => "bracket",
        0xFFFD => "replacement for text that could not be read",
        0x00A0 | 0x1680 | 0x2000..=0x200A | 0x202F | 0x205F | 0x3000 => "unusual blank",
        _ if kind(c) == Kind::Mark => "combining mark",
        _ => "invisible character",
    }
}

pub(super) fn is_right_to_left(c: char) -> bool {
    matches!(
        u32::from(c),
        0x0590..=0x08FF
            | 0xFB1D..=0xFDFF
            | 0xFE70..=0xFEFF
            | 0x1_0800..=0x1_0FFF
            | 0x1_E800..=0x1_EFFF
    )
}

/// Alphabets whose letters pass for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Script {
    Latin,
    Greek,
    Cyrillic,
    Other(&'static str),
}

impl Script {
    fn of(c: char) -> Option<Self> {
        if !c.is_alphabetic() {
            return None;
        }
        Some(match u32::from(c) {
            0x0041..=0x02AF | 0x1E00..=0x1EFF | 0x2C60..=0x2C7F | 0xA720..=0xA787 => Self::Latin,
            0x0370..=0x03FF | 0x1F00..=0x1FFF => Self::Greek,
            0x0400..=0x052F | 0x1C80..=0x1C8F | 0xA640..=0xA69F => Self::Cyrillic,
            0x0530..=0x058F => Self::Other("Armenian"),
            0x0590..=0x05FF => Self::Other("Hebrew"),
            0x0600..=0x06FF => Self::Other("Arabic"),
            0x10A0..=0x10FF => Self::Other("Georgian"),
            0x1400..=0x167F => Self::Other("Canadian syllabic"),
            0x2C80..=0x2CFF => Self::Other("Coptic"),
            0x13A0..=0x13FF | 0xAB70..=0xABBF => Self::Other("Cherokee"),
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Latin => "Latin",
            Self::Greek => "Greek",
            Self::Cyrillic => "Cyrillic",
            Self::Other(name) => name,
        }
    }
}

/// Cyrillic and Greek letters that look like Latin ones.
const LATIN_LIKE: &str = "асеорхуіјѕһԁԛԝӏАВСЕНІЈКМОРЅТХУԌԚԜΑΒΕΖΗΙΚΜΝΟΡΤΥΧονιαυρχκ";

/// Why a word is not what it seems, in words; none where it is.
pub(super) fn oddity(word: &str) -> Option<String> {
    if word.is_ascii() {
        return None;
    }
    if word.chars().any(is_styled) {
        return Some("letters or digits in a look-alike style".into());
    }
    if word.chars().any(|c| c.is_numeric() && !c.is_ascii()) {
        return Some("digits other than 0 to 9".into());
    }
    let mut scripts: Vec<Script> = Vec::new();
    for script in word.chars().filter_map(Script::of) {
        if !scripts.contains(&script) {
            scripts.push(script);
        }
    }
    match scripts.as_slice() {
        [] | [Script::Latin | Script::Other(_)] => None,
        [only] => word
            .chars()
            .filter(|c| c.is_alphabetic())
            .all(|c| LATIN_LIKE.contains(c))
            .then(|| format!("{} letters that look Latin", only.name())),
        [first, others @ ..] => {
            let others: Vec<_> = others.iter().map(|script| script.name()).collect();
            Some(format!("mixes {} and {}", first.name(), others.join(", ")))
        }
    }
}

/// Full-width, mathematical, enclosed, superscript and other styled letters and digits.
fn is_styled(c: char) -> bool {
    matches!(
        u32::from(c),
        0x00B2..=0x00B3
            | 0x00B9
            | 0x02B0..=0x02B8
            | 0x1D00..=0x1DBF
            | 0x2070..=0x209C
            | 0x2100..=0x218B
            | 0x2460..=0x24FF
            | 0x2776..=0x2793
            | 0xA4D0..=0xA4FD
            | 0xFF10..=0xFF5A
            | 0x1_D400..=0x1_D7FF
            | 0x1_F100..=0x1_F18F
            | 0x1_FBF0..=0x1_FBF9
    )
}

fn in_any(ranges: &[RangeInclusive<u32>], c: char) -> bool {
    ranges.iter().any(|range| range.contains(&u32::from(c)))
}
