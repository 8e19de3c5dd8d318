//! Strings and their escapes.

use super::Reader;
use crate::canon::place::JsonError;

impl Reader<'_> {
    /// The string that begins here.
    pub(super) fn string(&mut self) -> Result<String, JsonError> {
        let opening = self.at;
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(stop) = rest.find(|c| c == '"' || c == '\\' || c < ' ') else {
                self.at = opening;
                return Err(self.error("this string does not end"));
            };
            out.push_str(&rest[..stop]);
            self.at += stop;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape()?),
                Some(_) | None => {
                    return Err(self.error("a control character in a string must be escaped"));
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        let start = self.at;
        self.at += 2;
        let plain = match self.text.as_bytes().get(start + 1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(start),
            Some(_) | None => return Err(self.error_at(start, "this escape is not one of JSON's")),
        };
        Ok(plain)
    }

    fn unicode_escape(&mut self, start: usize) -> Result<char, JsonError> {
        const LONE: &str =
            "this surrogate has no partner, so it is no character; send the character itself";
        let first = self.hex4(start)?;
        let code = match first {
            0xd800..=0xdbff => self
                .low_surrogate(start)?
                .map(|second| 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)),
            code => Some(code),
        };
        match code.and_then(char::from_u32) {
            Some(c) => Ok(c),
            None if self.is_lenient => {
                self.mended.surrogate = true;
                Ok(char::REPLACEMENT_CHARACTER)
            }
            None => Err(self.error_at(start, LONE)),
        }
    }

    /// The second half of a pair, where it stands here; what else stands here is left.
    fn low_surrogate(&mut self, start: usize) -> Result<Option<u32>, JsonError> {
        if !self.text[self.at..].starts_with("\\u") {
            return Ok(None);
        }
        let before = self.at;
        self.at += 2;
        let second = self.hex4(start)?;
        if (0xdc00..=0xdfff).contains(&second) {
            return Ok(Some(second));
        }
        self.at = before;
        Ok(None)
    }

    fn hex4(&mut self, start: usize) -> Result<u32, JsonError> {
        let digits = self
            .text
            .get(self.at..self.at + 4)
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        self.at += 4;
        code.ok_or_else(|| self.error_at(start, "\\u needs four hexadecimal digits"))
    }
}
