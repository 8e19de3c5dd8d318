//! Text with placeholders: `refund:{order_id}`, `{amount_minor|money:currency}`, `{{` for a brace.

use crate::limits::TEMPLATE_BYTES_MAX;

/// Where the value of a placeholder comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Root {
    /// `{name}` and `{args.name}`: the arguments.
    Args,
    /// `{state.…}`: the body that the state query returned.
    State,
    /// `{state_etag}`: the `ETag` that came with it.
    StateEtag,
    /// `{caller.…}`: who proposed the action.
    Caller,
    /// `{action.id}`.
    ActionId,
    /// `{idempotency_key}`.
    IdempotencyKey,
}

impl Root {
    /// As written in a placeholder.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Args => "args",
            Self::State => "state",
            Self::StateEtag => "state_etag",
            Self::Caller => "caller",
            Self::ActionId => "action.id",
            Self::IdempotencyKey => "idempotency_key",
        }
    }
}

/// The currency of a `money` format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Currency {
    /// Three capital letters, for all calls.
    Code(String),
    /// An argument that holds it.
    Argument(Vec<String>),
}

/// One placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) root: Root,
    /// What to look up below the root.
    pub(super) path: Vec<String>,
    /// Write it as an amount of money in minor units.
    pub(super) money: Option<Currency>,
    /// As it stands in the file, without braces.
    pub(super) written: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Slot(Slot),
}

/// A text with placeholders; no two texts follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template {
    pub(super) parts: Vec<Part>,
}

impl Template {
    /// Reads a template, or says what is wrong with it.
    pub(super) fn parse(source: &str) -> Result<Self, String> {
        if TEMPLATE_BYTES_MAX < source.len() {
            return Err(format!(
                "the template is longer than {TEMPLATE_BYTES_MAX} bytes"
            ));
        }
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut rest = source;
        while let Some(at) = rest.find(['{', '}']) {
            text.push_str(&rest[..at]);
            let (brace, tail) = (&rest[at..=at], &rest[at + 1..]);
            if let Some(after) = tail.strip_prefix(brace) {
                text.push_str(brace);
                rest = after;
                continue;
            }
            let end = tail
                .find(['{', '}'])
                .filter(|end| brace == "{" && tail[*end..].starts_with('}'));
            let Some(end) = end else {
                return Err(format!(
                    "the brace before {:?} belongs to no placeholder; write {{{{ or }}}} for a brace as text",
                    tail.chars().take(20).collect::<String>()
                ));
            };
            if !text.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut text)));
            }
            parts.push(Part::Slot(slot(&tail[..end])?));
            rest = &tail[end + 1..];
        }
        text.push_str(rest);
        if !text.is_empty() {
            parts.push(Part::Text(text));
        }
        Ok(Self { parts })
    }

    /// Its placeholders.
    pub(super) fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.parts.iter().filter_map(|part| match part {
            Part::Slot(slot) => Some(slot),
            Part::Text(_) => None,
        })
    }

    /// The texts between them.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Slot(_) => None,
        })
    }

    /// The first byte of each text that stands between two placeholders: a value without these
    /// ends where the text begins, whatever the values are.
    pub(super) fn separators(&self) -> Vec<u8> {
        let between = |parts: &[Part]| match parts {
            [Part::Slot(_), Part::Text(text), Part::Slot(_)] => text.bytes().next(),
            _ => None,
        };
        self.parts.windows(3).filter_map(between).collect()
    }

    /// The placeholder that is the whole template, if it is one.
    pub(super) fn whole(&self) -> Option<&Slot> {
        match self.parts.as_slice() {
            [Part::Slot(slot)] => Some(slot),
            _ => None,
        }
    }
}

fn slot(written: &str) -> Result<Slot, String> {
    let (path, format) = match written.split_once('|') {
        Some((path, format)) => (path, Some(format)),
        None => (written, None),
    };
    let segments = segments(path).ok_or_else(|| {
        format!("{{{written}}} is not a placeholder; write names of letters, digits, _ and -, joined by dots")
    })?;
    let names: Vec<&str> = segments.iter().map(String::as_str).collect();
    let (root, skip) = match names.as_slice() {
        ["args", _, ..] => (Root::Args, 1),
        ["state", _, ..] => (Root::State, 1),
        ["caller", _, ..] => (Root::Caller, 1),
        ["action", "id"] => (Root::ActionId, 2),
        ["state_etag"] => (Root::StateEtag, 1),
        ["idempotency_key"] => (Root::IdempotencyKey, 1),
        ["action" | "state_etag" | "idempotency_key", _, ..] => {
            return Err(format!(
                "there is no {{{path}}}; there are {{action.id}}, {{state_etag}} and {{idempotency_key}}"
            ));
        }
        _ => (Root::Args, 0),
    };
    Ok(Slot {
        root,
        path: segments[skip..].to_vec(),
        money: format.map(|format| money(written, format)).transpose()?,
        written: written.to_owned(),
    })
}

fn money(written: &str, format: &str) -> Result<Currency, String> {
    let wrong = || {
        format!(
            "{{{written}}} has an unknown format; there is money, written {{amount|money:currency}} with an argument, or {{amount|money:EUR}}"
        )
    };
    let currency = format.strip_prefix("money:").ok_or_else(wrong)?;
    if currency.len() == 3 && currency.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return Ok(Currency::Code(currency.to_owned()));
    }
    let path = segments(currency.strip_prefix("args.").unwrap_or(currency)).ok_or_else(wrong)?;
    Ok(Currency::Argument(path))
}

/// The names of a dotted path; none where one is empty or has other characters.
pub(super) fn segments(path: &str) -> Option<Vec<String>> {
    path.split('.')
        .map(|name| {
            let ok = !name.is_empty()
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
            ok.then(|| name.to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only_slot(source: &str) -> Slot {
        Template::parse(source)
            .expect(source)
            .whole()
            .expect("one placeholder")
            .clone()
    }

    #[test]
    fn a_bare_name_is_an_argument() {
        assert_eq!(only_slot("{a.b}").path, only_slot("{args.a.b}").path);
        assert_eq!(only_slot("{a}").root, Root::Args);
        assert_eq!(only_slot("{state.a.0}").root, Root::State);
        assert_eq!(only_slot("{action.id}").root, Root::ActionId);
        assert_eq!(only_slot("{args}").path, ["args"]);
    }

    #[test]
    fn doubled_braces_are_text() {
        let template = Template::parse("{{x}} {x}}}").expect("valid");
        assert_eq!(template.texts().collect::<Vec<_>>(), ["{x} ", "}"]);
    }

    #[test]
    fn money_names_a_code_or_an_argument() {
        assert_eq!(
            only_slot("{a|money:EUR}").money,
            Some(Currency::Code("EUR".to_owned()))
        );
        assert_eq!(
            only_slot("{a|money:b.c}").money,
            Some(Currency::Argument(vec!["b".into(), "c".into()]))
        );
    }

    #[test]
    fn v6_malformed_templates_are_refused() {
        for source in [
            "{",
            "}",
            "{a",
            "a}",
            "{}",
            "{a{b}}",
            "{a b}",
            "{a..b}",
            "{.a}",
            "{a|upper}",
            "{a|money}",
            "{action.name}",
            "{state_etag.x}",
            "{ä}",
        ] {
            assert!(Template::parse(source).is_err(), "{source}");
        }
        assert!(Template::parse(&"x".repeat(5000)).is_err());
    }
}
