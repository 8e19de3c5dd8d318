//! What people type about people: cleaned, bounded, or refused with advice.

use std::collections::{BTreeMap, BTreeSet};

use super::error::ChangeError;
use super::secret::Secret;
use crate::limits;

/// An email address as it is shown, trimmed.
pub(super) fn email(text: &str) -> Result<String, ChangeError> {
    let text = text.trim();
    let refuse = |reason: &str| Err(invalid("email", reason));
    if text.len() > limits::EMAIL_BYTES_MAX {
        return refuse("is longer than 254 bytes");
    }
    // ASCII only: an address that looks like another one must not be another one.
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return refuse("has spaces or characters outside ASCII; write it like ann@example.com");
    }
    match text.split_once('@') {
        Some((local, domain))
            if !local.is_empty()
                && !domain.contains('@')
                && !text.contains(['"', '<', '>', ',', ';', ':', '\\', '(', ')', '[', ']'])
                && domain.split('.').all(|label| {
                    !label.is_empty()
                        && label
                            .bytes()
                            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
                }) =>
        {
            Ok(text.to_owned())
        }
        Some(_) | None => refuse("is not an address; write it like ann@example.com"),
    }
}

/// What two spellings of one address have in common.
pub(super) fn fold_email(text: &str) -> String {
    text.trim().to_lowercase()
}

/// A name of a person or a key, without what could disturb a page around it.
pub(crate) fn name(text: &str) -> Result<String, ChangeError> {
    let cleaned = clean(text);
    if cleaned.is_empty() {
        return Err(invalid("name", "is empty"));
    }
    if cleaned.chars().count() > limits::NAME_CHARS_MAX {
        return Err(invalid("name", "is longer than 100 characters"));
    }
    Ok(cleaned)
}

/// Why somebody did it; never empty.
pub(crate) fn reason(text: &str) -> Result<String, ChangeError> {
    let cleaned = clean(text);
    if cleaned.is_empty() {
        return Err(invalid("reason", "is empty; say why in a few words"));
    }
    if cleaned.chars().count() > limits::REASON_CHARS_MAX {
        return Err(invalid("reason", "is longer than 1000 characters"));
    }
    Ok(cleaned)
}

/// Names of groups or scopes.
pub(super) fn labels(
    field: &'static str,
    labels: BTreeSet<String>,
) -> Result<BTreeSet<String>, ChangeError> {
    if labels.len() > limits::IDENTITY_LABELS_MAX {
        return Err(invalid(field, "has more than 100 entries"));
    }
    for label in &labels {
        check_label(field, label)?;
    }
    Ok(labels)
}

/// Further facts, such as the tenant.
pub(super) fn attributes(
    attributes: BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, ChangeError> {
    if attributes.len() > limits::IDENTITY_LABELS_MAX {
        return Err(invalid("attributes", "has more than 100 entries"));
    }
    for (key, value) in &attributes {
        check_label("attributes", key)?;
        if value.len() > limits::ATTRIBUTE_BYTES_MAX || value.chars().any(is_hidden) {
            return Err(invalid(
                "attributes",
                "has a value longer than 1024 bytes or with invisible characters",
            ));
        }
    }
    Ok(attributes)
}

/// Refuses a password that is too short or too long; the text never repeats it.
pub(super) fn check_password(password: &Secret) -> Result<(), ChangeError> {
    let text = password.expose();
    if text.chars().count() < limits::PASSWORD_CHARS_MIN {
        return Err(invalid(
            "password",
            "is shorter than 12 characters; a sentence of a few words is a good one",
        ));
    }
    if text.len() > limits::PASSWORD_BYTES_MAX {
        return Err(invalid("password", "is longer than 256 bytes"));
    }
    Ok(())
}

/// Where a request came from, as it is kept in the history.
pub(super) fn from_address(text: &str) -> String {
    let cleaned = clean(text);
    cleaned.chars().take(limits::ADDRESS_CHARS_MAX).collect()
}

fn check_label(field: &'static str, label: &str) -> Result<(), ChangeError> {
    let hidden = label.chars().any(|c| c.is_whitespace() || is_hidden(c));
    if label.is_empty() || label.len() > limits::IDENTITY_LABEL_BYTES_MAX || hidden {
        return Err(invalid(
            field,
            "has an entry that is empty, longer than 128 bytes, or has spaces or invisible characters",
        ));
    }
    Ok(())
}

/// Without control and invisible characters; every run of white space becomes one space.
fn clean(text: &str) -> String {
    let visible: String = text
        .chars()
        .map(|c| if c.is_whitespace() { ' ' } else { c })
        .filter(|c| !is_hidden(*c))
        .collect();
    visible.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Characters that nobody sees, or that change how their neighbours are seen: control codes,
/// direction marks and overrides, zero-width marks, tags. Joiners stay: names need them.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

fn invalid(field: &'static str, reason: &str) -> ChangeError {
    ChangeError::Invalid {
        field,
        reason: reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_trimmed_and_odd_ones_are_refused() {
        assert_eq!(
            email("  Ann@Example.com ").ok().as_deref(),
            Some("Ann@Example.com")
        );
        assert_eq!(fold_email(" Ann@Example.COM"), "ann@example.com");
        assert!(email("root@localhost").is_ok());
        let long = format!("{}@example.com", "a".repeat(250));
        for odd in [
            "",
            "ann",
            "@",
            "a@",
            "@b",
            "a@b@c",
            "a b@c.de",
            "a@b..c",
            "аnn@example.com",
            "a@b\n.c",
            "<a@b.c>",
            &long,
        ] {
            assert!(email(odd).is_err(), "{odd:?}");
        }
    }

    #[test]
    fn names_lose_what_nobody_sees() {
        let cleaned = name(" Ann\u{202e}\u{0}\n \tB\u{200b}ee ").ok();
        assert_eq!(cleaned.as_deref(), Some("Ann Bee"));
        assert!(name("\u{202e}\u{feff} ").is_err());
        assert!(name(&"a".repeat(101)).is_err());
    }

    #[test]
    fn i16_a_refused_password_is_not_repeated() {
        for text in ["canary", &"canary".repeat(100)] {
            let error = check_password(&Secret::new(text)).err();
            assert!(error.is_some_and(|e| !format!("{e} {e:?}").contains("canary")));
        }
        assert!(check_password(&Secret::new("twelve chars")).is_ok());
    }
}
