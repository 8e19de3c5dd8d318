//! Query strings for links.

use std::fmt::Write as _;

/// `name=value`, percent-encoded.
pub(super) fn pair(name: &str, value: &str) -> String {
    let mut out = format!("{name}=");
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// All pairs that have a value, joined for a link.
pub(super) fn join(pairs: &[(&str, &str)]) -> String {
    pairs
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| pair(name, value))
        .collect::<Vec<_>>()
        .join("&")
}

/// A path on this server to go back to, or the queue: never another host, however it is written.
pub(super) fn local_path(text: &str) -> &str {
    let is_local = text.starts_with('/')
        && !text.starts_with("//")
        && text
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'\\')
        && !text.starts_with("/sign-");
    if is_local { text } else { "/queue" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_encoded() {
        assert_eq!(
            join(&[("text", "a&b=ü"), ("tab", ""), ("x", "1")]),
            "text=a%26b%3D%C3%BC&x=1"
        );
    }

    #[test]
    fn only_local_paths_are_gone_back_to() {
        for path in ["/queue", "/actions/act_1?x=y", "/history?text=a%20b"] {
            assert_eq!(local_path(path), path);
        }
        for path in [
            "",
            "queue",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "/a\r\nX: y",
            "javascript:alert(1)",
            "/a b",
            "/sign-in",
            "/sign-out",
            "\\\\evil.example",
            "/\tx",
        ] {
            assert_eq!(local_path(path), "/queue", "{path:?}");
        }
    }
}
