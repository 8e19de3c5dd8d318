//! How a known secret is written in other places: as JSON and as URLs have it, and the other way round.

use std::fmt::Write as _;

/// The other forms of a secret.
pub(super) fn of(secret: &str) -> Vec<String> {
    let mut plain = vec![secret.to_owned()];
    plain.extend(read(secret));
    plain.extend(decoded(secret));
    let mut forms: Vec<String> = plain
        .iter()
        .flat_map(|text| {
            let json = written(text);
            let upper = encoded(text, "-_.~");
            [
                written(&json),
                json,
                upper.replace("%20", "+"),
                encoded(text, "-_.~!*'()"),
                lower(&upper),
                upper,
            ]
        })
        .chain(plain.iter().cloned())
        .filter(|form| form != secret)
        .collect();
    forms.sort();
    forms.dedup();
    forms
}

/// The text that the inside of a JSON string stands for.
fn read(raw: &str) -> Option<String> {
    raw.contains('\\')
        .then(|| serde_json::from_str(&format!("\"{raw}\"")).ok())
        .flatten()
}

/// A text as it stands inside of a JSON string.
fn written(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    json[1..json.len() - 1].to_owned()
}

/// A text as it stands in a URL, where these bytes and letters and digits stay.
fn encoded(text: &str, kept: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || kept.as_bytes().contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// The same, with small letters in the digits of its codes.
fn lower(encoded: &str) -> String {
    let mut parts = encoded.split('%');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (code, rest) = part.split_at(part.len().min(2));
        let _ = write!(out, "%{}{rest}", code.to_ascii_lowercase());
    }
    out
}

/// The text that a part of a URL stands for.
fn decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut parts = text.split('%');
    bytes.extend_from_slice(parts.next().unwrap_or_default().as_bytes());
    for part in parts {
        let code = part.get(..2)?;
        bytes.push(u8::from_str_radix(code, 16).ok()?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
}
