//! Which numbers keep their value in canonical form.

use serde_json::Number;

use crate::limits::JSON_INTEGER_MAX;

/// The number that `text` (in the grammar of JSON) stands for; none where its canonical form would
/// stand for another value, or where it is beyond ±2^53.
///
/// The comparison is made on the decimal digits of both, never on the rounded value.
pub(super) fn exact(text: &str) -> Option<Number> {
    let double: f64 = text.parse().ok()?;
    #[expect(clippy::cast_precision_loss, reason = "2^53 is a double")]
    if !double.is_finite() || double.abs() > JSON_INTEGER_MAX as f64 {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the magnitude is at most 2^53"
    )]
    let number = if double.fract() == 0.0 {
        Number::from(double as i64)
    } else {
        Number::from_f64(double)?
    };
    let canonical = serde_json_canonicalizer::to_string(&number).ok()?;
    (Decimal::of(text)? == Decimal::of(&canonical)?).then_some(number)
}

/// A decimal number as its significant digits, without zeros at either end, and the power of ten
/// of the first of them. Equal values are equal structs.
#[derive(PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    magnitude: i64,
}

impl Decimal {
    fn of(text: &str) -> Option<Self> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match text.find(['e', 'E']) {
            Some(at) => (&text[..at], exponent(&text[at + 1..])),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        let Some(first) = all.iter().position(|digit| *digit != b'0') else {
            return Some(Self {
                negative: false,
                digits: Vec::new(),
                magnitude: 0,
            });
        };
        let last = all.iter().rposition(|digit| *digit != b'0')?;
        let magnitude = i64::try_from(whole.len()).ok()? - i64::try_from(first).ok()?;
        Some(Self {
            negative,
            digits: all[first..=last].to_vec(),
            magnitude: magnitude.saturating_add(exponent),
        })
    }
}

/// An exponent with its sign; one that does not fit is as good as infinite.
fn exponent(text: &str) -> i64 {
    let text = text.strip_prefix('+').unwrap_or(text);
    text.parse().unwrap_or(if text.starts_with('-') {
        i64::MIN
    } else {
        i64::MAX
    })
}
