//! The books of the bank: orders, what took effect, and what is still on its way.

use std::collections::{BTreeMap, VecDeque};

/// How many payments of others the source of truth shows.
const RECENT_MAX: usize = 10;

/// What is true.
#[derive(Default)]
pub(crate) struct Books {
    pub(crate) orders: BTreeMap<String, Order>,
    /// What took effect, by key.
    pub(crate) effects: BTreeMap<String, Vec<u64>>,
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

    /// Whether a request with the key may still take effect.
    pub(crate) fn is_on_its_way(&self, key: &str) -> bool {
        self.letters.iter().any(|letter| letter.key == key)
    }

    /// Every key that took effect, and how often.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, usize)> {
        let all = self.effects.iter();
        all.map(|(key, effects)| (key.as_str(), effects.len()))
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
        let first = self.effects.get(&letter.key).and_then(|all| all.first());
        if let (Some(kept_ms), Some(first)) = (letter.kept_ms, first)
            && letter.due < first + kept_ms
        {
            return 201;
        }
        let order = self.order(&letter.order);
        order.left -= letter.amount;
        order.version += 1;
        let effects = self.effects.entry(letter.key.clone()).or_default();
        effects.push(letter.due);
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
