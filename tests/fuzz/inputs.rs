//! Inputs made from others: cut, joined, changed.

/// Pieces that readers look for.
const WORDS: [&[u8]; 40] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b":",
    b",",
    b"\\u0000",
    b"\\ud800",
    b"null",
    b"true",
    b"-0",
    b"1e400",
    b"9007199254740993",
    b"0.1",
    b"{args.",
    b"{state.",
    b"{caller.",
    b"{{",
    b"|money:EUR",
    b"body.",
    b"size(",
    b".exists(x, ",
    b" && ",
    b"? :",
    b"<",
    b"&",
    b"'",
    b"\xe2\x80\xae",
    b"\xf0\x9f\x98\x80",
    b"\xff",
    b"\0",
    b"\r\n",
    b"Bearer ",
    b"; ",
    b"=",
    b"%2e%2e/",
    b"::ffff:",
    b"\"safetyClass\":",
    b"\x1b[",
];

/// The longest input that is made.
const BYTES_MAX: usize = 4096;

/// A source of inputs; the same for the same seed.
pub(crate) struct Inputs {
    state: u64,
    seeds: Vec<Vec<u8>>,
}

impl Inputs {
    pub(crate) fn new(seed: u64, seeds: Vec<Vec<u8>>) -> Self {
        Self {
            state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            seeds,
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state >> 33).unwrap_or(0) % bound.max(1)
    }

    fn some_seed(&mut self) -> Vec<u8> {
        let place = self.below(self.seeds.len());
        self.seeds[place].clone()
    }

    /// A stretch of the bytes.
    fn stretch(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length + 1);
        let size = self.below(16);
        start..(start + size).min(length)
    }

    /// The next input.
    pub(crate) fn next(&mut self) -> Vec<u8> {
        let mut bytes = self.some_seed();
        for _ in 0..=self.below(6) {
            self.change(&mut bytes);
        }
        bytes.truncate(BYTES_MAX);
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>) {
        let place = self.below(bytes.len() + 1);
        let byte = u8::try_from(self.below(256)).unwrap_or(0);
        match self.below(7) {
            0 => {
                let bit = self.below(8);
                if let Some(byte) = bytes.get_mut(place) {
                    *byte ^= 1 << bit;
                }
            }
            1 => {
                if let Some(old) = bytes.get_mut(place) {
                    *old = byte;
                }
            }
            2 => {
                let word = WORDS[self.below(WORDS.len())];
                bytes.splice(place..place, word.iter().copied());
            }
            3 => {
                let gone = self.stretch(bytes.len());
                bytes.drain(gone);
            }
            4 => {
                let again = self.stretch(bytes.len());
                let again = bytes[again].to_vec();
                for _ in 0..=self.below(8) {
                    bytes.splice(place..place, again.iter().copied());
                }
            }
            5 => {
                let other = self.some_seed();
                let from = self.below(other.len() + 1);
                bytes.truncate(place);
                bytes.extend_from_slice(&other[from..]);
            }
            _ => bytes.truncate(place),
        }
    }
}
