//! Whether the name of an argument and the path of a value mean the same.

use super::flow::Source;
use super::secret::words;

/// Words with which a key names the thing that stands above it.
const NAMES: [&str; 8] = ["id", "name", "number", "num", "key", "code", "slug", "uuid"];

/// How many words of a key and of a path agree, from the last one on; 0 where they mean different things.
pub(super) fn agreement(key: &str, source: &Source) -> usize {
    let (key, own) = (singular(key), singular(&source.key));
    if key.is_empty() || own.is_empty() {
        return 0;
    }
    let mut path = singular(&source.above);
    path.extend(own.iter().cloned());
    let pairs = key.iter().rev().zip(path.iter().rev());
    let same = pairs.take_while(|(a, b)| a == b).count();
    if same > 0 && (same == key.len() || same >= own.len()) {
        return same;
    }
    // `order` and `order.id`, `order` and the `id` of `get_order`, `order_id` and `order`.
    let stem = stem(&key);
    usize::from(self::stem(&path).ends_with(stem) || self::stem(&own) == stem)
}

/// The words of a key, each of them as one thing.
fn singular(key: &str) -> Vec<String> {
    let mut words = words(key);
    for word in &mut words {
        if word.len() > 2 && word.ends_with('s') {
            word.pop();
        }
    }
    words
}

/// Without the word that only says that it names something.
fn stem(words: &[String]) -> &[String] {
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() && NAMES.contains(&last.as_str()) => rest,
        Some(_) | None => words,
    }
}
