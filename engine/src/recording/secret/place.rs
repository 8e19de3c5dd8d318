//! What the keys above a value, and the values beside it, say of it.

use std::ops::Range;

use serde_json::{Map, Value};

use super::commands;
use super::keys::{Sure, Telling, is_secret, telling};

/// Members that may hold what the member beside them names.
const VALUES: [&str; 4] = ["value", "val", "parametervalue", "text"];

/// Members that name the field into which the member beside them is written.
const FIELDS: [&str; 5] = ["field", "label", "element", "selector", "placeholder"];

/// Members that name what the member beside them holds.
const LABELS: [&str; 6] = ["name", "key", "header", "variable", "parameterkey", "param"];

/// The longest name of a value that is looked at, in bytes.
const LABEL_BYTES_MAX: usize = 200;

/// What is said of a value.
#[derive(Clone, Debug)]
pub(in crate::recording) struct Place {
    telling: Telling,
    /// The part of the text that an option before it says is a secret.
    part: Option<Range<usize>>,
    is_item: bool,
}

impl Place {
    /// The top of the arguments.
    pub(in crate::recording) fn top() -> Self {
        Self {
            telling: Telling {
                sure: Sure::No,
                name: String::new(),
            },
            part: None,
            is_item: false,
        }
    }

    /// The place of a member: the stronger counts of what its key says and what stands above it.
    pub(in crate::recording) fn member(&self, members: &Map<String, Value>, key: &str) -> Self {
        // `{"name": "Authorization", "value": "…"}` says it in the member beside it.
        let is_in =
            |list: &[&str], key: &str| list.iter().any(|word| word.eq_ignore_ascii_case(key));
        let mut said = telling(key);
        if is_in(&VALUES, key) {
            let labels = members
                .iter()
                .filter(|(label, _)| {
                    is_in(&FIELDS, label)
                        || (is_in(&LABELS, label) && !key.eq_ignore_ascii_case("text"))
                })
                .filter_map(|(_, label)| label.as_str())
                .filter(|label| label.len() <= LABEL_BYTES_MAX);
            for label in labels {
                let beside = telling(label);
                if beside.sure > said.sure {
                    said = beside;
                }
            }
        }
        self.with(said)
    }

    fn with(&self, said: Telling) -> Self {
        let sure = said.sure.max(self.telling.sure);
        let name = if said.sure == Sure::No {
            self.telling.name.clone()
        } else {
            said.name
        };
        Self {
            telling: Telling { sure, name },
            part: None,
            is_item: false,
        }
    }

    /// The places of the items of a list. An item may say what the next one is: `["--token", "…"]`, and
    /// `["X-Api-Key", "…"]` in a list of pairs.
    pub(in crate::recording) fn items(&self, items: &[Value]) -> Vec<Self> {
        let plain = Self {
            is_item: true,
            ..self.without_part()
        };
        let mut places = vec![plain.clone(); items.len()];
        let words: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
        if words.len() != items.len() {
            return places;
        }
        if let (true, [name, _]) = (self.is_item, words.as_slice()) {
            let said = telling(name);
            if said.sure >= Sure::Likely {
                places[1] = plain.with(said);
            }
        }
        for (index, pair) in words.windows(2).enumerate() {
            let (option, value) = (pair[0], pair[1]);
            if !option.starts_with('-') || option.contains('=') || value.starts_with('-') {
                continue;
            }
            let said = telling(option);
            if said.sure >= Sure::Likely && is_secret(said.sure, value) {
                places[index + 1] = plain.with(said);
            }
        }
        for (index, at) in commands::in_words(&words) {
            places[index].part = Some(at);
        }
        places
    }

    /// The same, but for another text.
    pub(super) fn without_part(&self) -> Self {
        Self {
            part: None,
            ..self.clone()
        }
    }

    /// The part of the text that an option before it says is a secret.
    pub(super) fn part(&self) -> Option<Range<usize>> {
        self.part.clone()
    }

    /// Whether the whole value is a secret, and what to call it.
    pub(super) fn whole(&self, text: &str) -> Option<&str> {
        is_secret(self.telling.sure, text).then_some(self.telling.name.as_str())
    }

    /// Whether a number here is a secret, and what to call it.
    pub(in crate::recording) fn number(&self, number: &str) -> Option<&str> {
        let digits = number.bytes().filter(u8::is_ascii_digit).count();
        let is_secret = match self.telling.sure {
            Sure::No | Sure::Perhaps => false,
            // Shorter ones are counts.
            Sure::Likely => digits >= 8,
            Sure::Surely => true,
        };
        is_secret.then_some(self.telling.name.as_str())
    }
}
