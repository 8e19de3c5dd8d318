//! Amounts in minor units, written as people read them.

use serde_json::Value;

/// The currencies of ISO 4217 whose minor unit is not a hundredth, with their decimal places.
const EXPONENTS: &[(&str, usize)] = &[
    ("BHD", 3),
    ("BIF", 0),
    ("CLF", 4),
    ("CLP", 0),
    ("DJF", 0),
    ("GNF", 0),
    ("IQD", 3),
    ("ISK", 0),
    ("JOD", 3),
    ("JPY", 0),
    ("KMF", 0),
    ("KRW", 0),
    ("KWD", 3),
    ("LYD", 3),
    ("OMR", 3),
    ("PYG", 0),
    ("RWF", 0),
    ("TND", 3),
    ("UGX", 0),
    ("UYI", 0),
    ("UYW", 4),
    ("VND", 0),
    ("VUV", 0),
    ("XAF", 0),
    ("XOF", 0),
    ("XPF", 0),
];

/// `1250` and `EUR` as `12.50 EUR`. None where the amount is not a whole number (as a number or as
/// text), or the currency not three letters.
pub(super) fn format(amount: &Value, currency: &str) -> Option<String> {
    let digits = match amount {
        Value::Number(number) => number.as_i64()?.to_string(),
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    let (sign, digits) = digits
        .strip_prefix('-')
        .map_or(("", digits.as_str()), |rest| ("-", rest));
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    if currency.len() != 3 || !currency.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return None;
    }
    let code = currency.to_ascii_uppercase();
    let places = EXPONENTS
        .iter()
        .find(|(name, _)| *name == code)
        .map_or(2, |(_, places)| *places);
    let padded = format!("{digits:0>width$}", width = places + 1);
    let (whole, minor) = padded.split_at(padded.len() - places);
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let point = if places == 0 { "" } else { "." };
    Some(format!("{sign}{whole}{point}{minor} {code}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_exponent_is_that_of_the_currency() {
        for (amount, currency, text) in [
            (json!(1250), "EUR", "12.50 EUR"),
            (json!(5), "eur", "0.05 EUR"),
            (json!(0), "USD", "0.00 USD"),
            (json!(1250), "JPY", "1250 JPY"),
            (json!(1250), "KWD", "1.250 KWD"),
            (json!(7), "KWD", "0.007 KWD"),
            (json!(-1250), "EUR", "-12.50 EUR"),
            (
                json!("123456789012345678901234"),
                "EUR",
                "1234567890123456789012.34 EUR",
            ),
        ] {
            assert_eq!(format(&amount, currency).as_deref(), Some(text));
        }
    }

    #[test]
    fn what_is_no_amount_is_not_dressed_up_as_one() {
        for (amount, currency) in [
            (json!(12.5), "EUR"),
            (json!("12,50"), "EUR"),
            (json!("١٢"), "EUR"),
            (json!(""), "EUR"),
            (json!(12), "EURO"),
            (json!(12), "€"),
            (json!(null), "EUR"),
        ] {
            assert_eq!(format(&amount, currency), None, "{amount} {currency}");
        }
    }
}
