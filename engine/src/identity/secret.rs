//! Text that must not be seen.

use std::fmt;

/// A password or a token. It never shows in debug output, and its memory is overwritten when it is
/// dropped.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself: for the one place that hands it out or checks it, never for a log, an error
    /// or a page.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        let mut bytes = std::mem::take(&mut self.0).into_bytes();
        bytes.fill(0);
        // Keeps the compiler from dropping a write that nobody reads.
        std::hint::black_box(&bytes);
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i16_debug_output_shows_nothing_of_a_secret() {
        let secret = Secret::new("canary-5309");
        assert_eq!(
            format!("{secret:?} {:#?}", Some(&secret)).find("5309"),
            None
        );
        assert_eq!(secret.expose(), "canary-5309");
    }
}
