//! In which forms a secret comes back, and how long each is where it stands.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::Value;

use super::ANYWHERE_BYTES_MIN;
use crate::canon::CanonicalJson;

/// The longest reference to a character in HTML that is read, in bytes, behind its `&`.
const ENTITY_BYTES_MAX: usize = 10;

/// The names that HTML has for ASCII characters, as its escapers write them.
const ENTITIES: [(&str, char); 38] = [
    ("Hat;", '^'),
    ("NewLine;", '\n'),
    ("Tab;", '\t'),
    ("amp;", '&'),
    ("apos;", '\''),
    ("ast;", '*'),
    ("bsol;", '\\'),
    ("colon;", ':'),
    ("comma;", ','),
    ("commat;", '@'),
    ("dollar;", '$'),
    ("equals;", '='),
    ("excl;", '!'),
    ("grave;", '`'),
    ("gt;", '>'),
    ("lbrace;", '{'),
    ("lbrack;", '['),
    ("lcub;", '{'),
    ("lowbar;", '_'),
    ("lpar;", '('),
    ("lsqb;", '['),
    ("lt;", '<'),
    ("nbsp;", '\u{a0}'),
    ("num;", '#'),
    ("percnt;", '%'),
    ("period;", '.'),
    ("plus;", '+'),
    ("quest;", '?'),
    ("quot;", '"'),
    ("rbrace;", '}'),
    ("rbrack;", ']'),
    ("rcub;", '}'),
    ("rpar;", ')'),
    ("rsqb;", ']'),
    ("semi;", ';'),
    ("sol;", '/'),
    ("vert;", '|'),
    ("verbar;", '|'),
];

/// A form of a secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Form {
    pub(super) text: String,
    is_base64: bool,
    /// Whether the character before it has bits of the secret too: base64 of a longer text.
    pub(super) begins_before: bool,
    /// The same of the character behind it.
    pub(super) ends_behind: bool,
}

/// Everything that a text may look like in an answer, percent-encoding and HTML apart: these are read while
/// it is searched, for they come in many styles.
pub(super) fn forms(secret: &str) -> BTreeSet<Form> {
    let mut texts = BTreeSet::from([secret.to_owned()]);
    let quoted = CanonicalJson::of(&Value::String(secret.to_owned()));
    let quoted = inner(quoted.as_str());
    let slashed = quoted.replace('/', "\\/");
    for once in [quoted.to_owned(), slashed] {
        for once in [ascii(&once, false), ascii(&once, true), once] {
            let twice = CanonicalJson::of(&Value::String(once.clone()));
            texts.insert(inner(twice.as_str()).to_owned());
            texts.insert(once);
        }
    }
    let texts = texts.into_iter().map(|text| Form {
        text,
        is_base64: false,
        begins_before: false,
        ends_behind: false,
    });
    let mut forms: BTreeSet<Form> = texts.collect();
    for text in [secret, quoted] {
        add_base64(text, &mut forms);
    }
    forms
}

/// Base64 of a text, and of any longer one that it stands in: what is written before it shifts it by 0, 1 or
/// 2 bytes, and the characters that are not of it alone are not looked for.
fn add_base64(text: &str, forms: &mut BTreeSet<Form>) {
    for alphabet in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
        forms.insert(Form {
            text: alphabet.encode(text),
            is_base64: true,
            begins_before: false,
            ends_behind: false,
        });
        if text.len() < ANYWHERE_BYTES_MIN {
            continue;
        }
        for before in [&[][..], &[0], &[0, 0]] {
            let bytes = [before, text.as_bytes()].concat();
            let all = alphabet.encode(&bytes);
            let (start, end) = ((before.len() * 8).div_ceil(6), bytes.len() * 8 / 6);
            forms.insert(Form {
                text: all[start..end].to_owned(),
                is_base64: true,
                begins_before: !before.is_empty(),
                ends_behind: !bytes.len().is_multiple_of(3),
            });
        }
    }
}

fn inner(quoted: &str) -> &str {
    &quoted[1..quoted.len() - 1]
}

/// With every character that is not ASCII as `\uXXXX`.
fn ascii(text: &str, is_upper: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let digits = if is_upper {
                format!("\\u{unit:04X}")
            } else {
                format!("\\u{unit:04x}")
            };
            out.push_str(&digits);
        }
    }
    out
}

/// How often something is written in another way, one on top of the other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Times {
    Once,
    Twice,
}

const TIMES: [Times; 2] = [Times::Once, Times::Twice];

impl Form {
    /// How long it is where it stands at the start of some bytes: as it is, or with some of it
    /// percent-encoded, once or twice, and spaces as `+`; a text also with some of it written as HTML, once or
    /// twice, and base64 also in lines.
    pub(super) fn length_in(&self, bytes: &[u8]) -> Option<usize> {
        let (first, wanted) = (bytes.first()?, self.text.as_bytes().first()?);
        if first != wanted && !b"%&+\\".contains(first) {
            return None;
        }
        if bytes.starts_with(self.text.as_bytes()) {
            return Some(self.text.len());
        }
        let mut percent = TIMES.into_iter();
        if self.is_base64 {
            return percent.find_map(|percent| in_lines(&self.text, bytes, percent));
        }
        percent.find_map(|percent| {
            let mut html = TIMES.into_iter();
            html.find_map(|html| written(&self.text, bytes, percent, html))
        })
    }
}

fn in_lines(base64: &str, bytes: &[u8], percent: Times) -> Option<usize> {
    let mut at = 0;
    for wanted in base64.bytes() {
        if at != 0 {
            at += line_end(bytes.get(at..)?);
        }
        at += encoded(wanted, bytes.get(at..)?, percent)?;
    }
    Some(at)
}

fn written(text: &str, bytes: &[u8], percent: Times, html: Times) -> Option<usize> {
    let mut at = 0;
    for wanted in text.chars() {
        let rest = bytes.get(at..)?;
        let referred = match html {
            Times::Once => entity(rest),
            Times::Twice => entity_twice(rest),
        };
        at += match referred {
            Some((is, length)) if is == wanted => length,
            Some(_) | None => encoded_char(wanted, rest, percent)?,
        };
    }
    Some(at)
}

/// A reference to a character, and its length: `&lt;`, `&#60;`, `&#x3c;`.
fn entity(bytes: &[u8]) -> Option<(char, usize)> {
    let (is, length) = referred(bytes.strip_prefix(b"&")?)?;
    Some((is, length + 1))
}

/// The same where its `&` is written so itself: `&amp;lt;`.
fn entity_twice(bytes: &[u8]) -> Option<(char, usize)> {
    let ('&', first) = entity(bytes)? else {
        return None;
    };
    let (is, length) = referred(bytes.get(first..)?)?;
    Some((is, first + length))
}

/// What stands behind the `&` of a reference, up to its end.
fn referred(bytes: &[u8]) -> Option<(char, usize)> {
    let end = bytes
        .iter()
        .take(ENTITY_BYTES_MAX)
        .position(|b| *b == b';')?;
    let text = std::str::from_utf8(&bytes[..=end]).ok()?;
    let is = match text.strip_prefix('#') {
        Some(number) => {
            let number = number.trim_end_matches(';');
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)?
        }
        None => ENTITIES.iter().find(|(name, _)| *name == text)?.1,
    };
    Some((is, text.len()))
}

fn encoded_char(wanted: char, bytes: &[u8], percent: Times) -> Option<usize> {
    let mut at = 0;
    for byte in wanted.encode_utf8(&mut [0; 4]).bytes() {
        at += encoded(byte, bytes.get(at..)?, percent)?;
    }
    Some(at)
}

fn encoded(wanted: u8, bytes: &[u8], percent: Times) -> Option<usize> {
    let is_meant = |byte: u8, length: usize| (byte == wanted).then_some(length);
    match (bytes.first()?, hex(bytes.get(1..3)), percent) {
        (b'%', Some(byte), Times::Once) => is_meant(byte, 3),
        (b'%', Some(b'%'), Times::Twice) => is_meant(hex(bytes.get(3..5))?, 5),
        (b'%', Some(b'+'), Times::Twice) if wanted == b' ' => Some(3),
        (b'+', _, _) if wanted == b' ' => Some(1),
        (b'\\', _, _) if wanted == b'/' && bytes.get(1) == Some(&b'/') => Some(2),
        (byte, _, _) => is_meant(*byte, 1),
    }
}

/// How long the character of base64 is that stands behind some, maybe in the next line; 0 where there is none.
pub(super) fn edge_behind(bytes: &[u8]) -> usize {
    let line = line_end(bytes);
    match bytes.get(line..) {
        Some([b'%', rest @ ..]) if hex(rest.get(..2)).is_some_and(is_base64) => line + 3,
        Some([byte, ..]) if is_base64(*byte) => line + 1,
        Some(_) | None => 0,
    }
}

/// The same for the one that stands before some.
pub(super) fn edge_before(bytes: &[u8]) -> usize {
    match bytes {
        [.., b'%', high, low] if hex(Some(&[*high, *low])).is_some_and(is_base64) => 3,
        [.., byte] if is_base64(*byte) => 1,
        [.., byte, b'\r', b'\n'] if is_base64(*byte) => 3,
        [.., byte, b'\n'] if is_base64(*byte) => 2,
        _ => 0,
    }
}

fn line_end(bytes: &[u8]) -> usize {
    match bytes {
        [b'\r', b'\n', ..] => 2,
        [b'\n', ..] => 1,
        _ => 0,
    }
}

/// Whether a character is one of base64, of either alphabet.
fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte)
}

pub(super) fn hex(digits: Option<&[u8]>) -> Option<u8> {
    let [high, low] = digits? else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()
}
