//! The books of the bank: orders, what took effect, and what is still on its way.

use std::collections::{BTreeMap, VecDeque};

/// How many payments of others the source of truth shows.
const RECENT_MAX: usize = 10;

/// How long after an effect a look that did not find it may still become durable, in milliseconds.
const PLAIN_MS: u64 = 900_000;

/// What is true.
#[derive(Default)]
pub(crate) struct Books {
    pub(crate) orders: BTreeMap<String, Order>,
    /// What took effect, by key.
    pub(crate) effects: BTreeMap<String, Vec<Effect>>,
    /// On their way.
    pub(crate) letters: Vec<Letter>,
    /// The amounts of the last effects, of whatever key.
    pub(crate) recent: VecDeque<i64>,
    /// What became of the letters that a sender still waits for.
    pub(crate) replies: BTreeMap<u64, u16>,
    pub(crate) next: u64,
    /// True time, when they were opened last.
    pub(crate) now: u64,
}

/// Something that took effect.
pub(crate) struct Effect {
    /// When, in true milliseconds.
    pub(crate) at: u64,
    /// Of which attempt.
    attempt: usize,
    is_lost: bool,
}

/// What a payment is for.
pub(crate) struct Order {
    pub(crate) left: i64,
    pub(crate) version: u64,
}

/// A request on its way.
pub(crate) struct Letter {
    pub(crate) number: u64,
    pub(crate) due: u64,
    pub(crate) key: String,
    /// Of which attempt.
    pub(crate) attempt: usize,
    /// An older copy has taken the place of the log that knew of the attempt.
    pub(crate) is_lost: bool,
    pub(crate) order: String,
    pub(crate) amount: i64,
    pub(crate) if_match: Option<String>,
    /// How long the key is kept.
    pub(crate) kept_ms: Option<u64>,
}

impl Books {
    /// How often the key took effect so far.
    pub(crate) fn effects(&self, key: &str) -> usize {
        self.effects.get(key).map_or(0, Vec::len)
    }

    /// How often it did by attempts that the log knows of.
    pub(crate) fn known(&self, key: &str) -> usize {
        let all = self.effects.get(key).map_or(&[][..], Vec::as_slice);
        all.iter().filter(|effect| !effect.is_lost).count()
    }

    /// Whether it took effect so long ago, by whatever attempt, that whoever looks must find it.
    pub(crate) fn is_plain(&self, key: &str) -> bool {
        let mut all = self.effects.get(key).into_iter().flatten();
        all.any(|effect| effect.at + PLAIN_MS < self.now)
    }

    /// Whether a request with the key may still take effect.
    pub(crate) fn is_on_its_way(&self, key: &str) -> bool {
        self.letters.iter().any(|letter| letter.key == key)
    }

    /// The same, of an attempt that the log knows of.
    pub(crate) fn is_known_to_come(&self, key: &str) -> bool {
        let mut letters = self.letters.iter();
        letters.any(|letter| letter.key == key && !letter.is_lost)
    }

    /// Every key that took effect.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.effects.keys().map(String::as_str)
    }

    /// An older copy takes the place of the log: of which attempts it knows is asked of it.
    pub(crate) fn lose(&mut self, knows: impl Fn(&str, usize) -> bool) {
        for (key, effects) in &mut self.effects {
            for effect in effects {
                effect.is_lost |= !knows(key, effect.attempt);
            }
        }
        for letter in &mut self.letters {
            letter.is_lost |= !knows(&letter.key, letter.attempt);
        }
    }

    /// Delivers whatever has arrived by now.
    pub(crate) fn pass(&mut self, now: u64) {
        self.now = now;
        self.letters
            .sort_by_key(|letter| (letter.due, letter.number));
        while self.letters.first().is_some_and(|letter| letter.due <= now) {
            let letter = self.letters.remove(0);
            let status = self.deliver(&letter);
            self.replies.insert(letter.number, status);
        }
    }

    fn deliver(&mut self, letter: &Letter) -> u16 {
        let order = self.order(&letter.order);
        let version = format!("\"v{}\"", order.version);
        if letter
            .if_match
            .as_ref()
            .is_some_and(|sent| *sent != version)
        {
            return 412;
        }
        let before = self.effects.get(&letter.key).map_or(&[][..], Vec::as_slice);
        if let Some(kept_ms) = letter.kept_ms
            && before.iter().any(|effect| letter.due < effect.at + kept_ms)
        {
            return 201;
        }
        let order = self.order(&letter.order);
        order.left -= letter.amount;
        order.version += 1;
        let effects = self.effects.entry(letter.key.clone()).or_default();
        effects.push(Effect {
            at: letter.due,
            attempt: letter.attempt,
            is_lost: letter.is_lost,
        });
        self.recent.push_back(letter.amount);
        if RECENT_MAX < self.recent.len() {
            self.recent.pop_front();
        }
        201
    }

    pub(crate) fn order(&mut self, name: &str) -> &mut Order {
        self.orders.entry(name.to_owned()).or_insert(Order {
            left: 100_000,
            version: 1,
        })
    }
}
