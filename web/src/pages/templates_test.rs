//! What no template may hold. Escaping is on everywhere, and these are the ways around it.

use std::fs;
use std::path::{Path, PathBuf};

fn templates() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates");
    let mut found = Vec::new();
    let mut folders = vec![root];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the folder of templates") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = fs::read_to_string(&path).expect("a template in UTF-8");
                found.push((path, text));
            }
        }
    }
    assert!(10 < found.len(), "the templates were found");
    found
}

/// The values of an attribute, where it is quoted; anything else fails.
fn values<'a>(path: &Path, text: &'a str, attribute: &str) -> Vec<&'a str> {
    let needle = format!(" {attribute}=");
    text.match_indices(&needle)
        .map(|(at, _)| {
            let rest = &text[at + needle.len()..];
            let rest = rest
                .strip_prefix('"')
                .unwrap_or_else(|| panic!("{attribute} without quotes in {}", path.display()));
            rest.split_once('"').expect("a closing quote").0
        })
        .collect()
}

#[test]
fn i14_no_template_turns_escaping_off() {
    for (path, text) in templates() {
        for forbidden in [
            "|safe",
            "| safe",
            "{% autoescape",
            "{% filter",
            "|escape(",
            "{% raw",
        ] {
            assert!(
                !text.contains(forbidden),
                "{forbidden} in {}",
                path.display()
            );
        }
    }
}

#[test]
fn i14_every_attribute_that_holds_data_is_quoted() {
    for (path, text) in templates() {
        assert!(!text.contains("='"), "single quotes in {}", path.display());
        let outside: String = text.split('"').step_by(2).collect();
        assert!(!outside.contains("={{"), "no quotes in {}", path.display());
    }
}

#[test]
fn i14_no_address_is_made_of_data_from_its_start() {
    for (path, text) in templates() {
        for attribute in ["href", "src", "action", "formaction"] {
            for value in values(&path, &text, attribute) {
                let is_local = value.starts_with('/') && !value.starts_with("//");
                let is_anchor = value.starts_with('#');
                assert!(
                    is_local || is_anchor,
                    "{attribute}={value:?} in {}",
                    path.display()
                );
            }
        }
    }
}

#[test]
fn i19_no_template_holds_a_script_a_style_or_a_handler() {
    for (path, text) in templates() {
        let lower = text.to_lowercase();
        for forbidden in [
            " style=",
            "<style",
            "javascript:",
            "<iframe",
            "<object",
            "<embed",
            "<base",
            "srcdoc",
            "http-equiv",
        ] {
            assert!(
                !lower.contains(forbidden),
                "{forbidden} in {}",
                path.display()
            );
        }
        for (at, _) in lower.match_indices("<script") {
            assert!(
                lower[at..].starts_with("<script src="),
                "{}",
                path.display()
            );
        }
        for (at, _) in lower.match_indices(" on") {
            let word: String = lower[at + 1..]
                .chars()
                .take_while(char::is_ascii_alphabetic)
                .collect();
            let is_handler = lower[at + 1 + word.len()..].starts_with('=');
            assert!(!is_handler, "{word}= in {}", path.display());
        }
    }
}

#[test]
fn i19_every_form_that_changes_something_carries_the_token_of_the_session() {
    for (path, text) in templates() {
        for (at, _) in text.match_indices("method=\"post\"") {
            let form = text[at..].split("</form>").next().expect("a form");
            let is_sign_in = form.contains("action=\"/sign-in\"");
            let has_token = form.contains("name=\"token\"") || form.contains("parts/binding.html");
            assert!(
                is_sign_in || has_token,
                "a form without a token in {}",
                path.display()
            );
        }
    }
}

#[test]
fn every_field_has_a_label() {
    for (path, text) in templates() {
        for tag in ["<input", "<select", "<textarea"] {
            for (at, _) in text.match_indices(tag) {
                let field = text[at..].split('>').next().expect("a tag");
                if field.contains("type=\"hidden\"") {
                    continue;
                }
                let id = field
                    .split(" id=\"")
                    .nth(1)
                    .and_then(|rest| rest.split('"').next());
                let id = id.unwrap_or_else(|| panic!("{field} has no id in {}", path.display()));
                let label = format!("<label for=\"{id}\"");
                assert!(
                    text.contains(&label),
                    "no label for {id} in {}",
                    path.display()
                );
            }
        }
    }
}
