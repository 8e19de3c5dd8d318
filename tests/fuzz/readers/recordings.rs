//! Recordings: whatever is read becomes a file with as many steps as it says, and no secret.

use holdpoint_engine::recording::{Apply, CompileError, Format, Kind, Reader, Recogniser, compile};

/// What stands in the corpus as a secret, after one of the words that tell it.
const SECRET: &str = "sk-canary0123456789abcdef";

pub(crate) fn recording(data: &[u8]) {
    let mut recogniser = Recogniser::new();
    let lines = || data.split(|byte| *byte == b'\n');
    let kind = lines().find_map(|line| recogniser.line(line));
    let formats = match kind.unwrap_or_else(|| recogniser.end()) {
        Kind::Recording(format) => vec![format],
        Kind::ExportedLog | Kind::Unknown(_) => Format::ALL.to_vec(),
    };
    for format in formats {
        for apply in [false, true] {
            let apply = Apply {
                dates: apply,
                inputs: apply,
            };
            compiled(format, apply, lines());
        }
    }
}

fn compiled<'a>(format: Format, apply: Apply, mut lines: impl Iterator<Item = &'a [u8]>) {
    let mut reader = Reader::new(format);
    if let Err(error) = lines.try_for_each(|line| reader.line(line)) {
        assert!(!error.to_string().contains(SECRET), "i16: {error}");
        return;
    }
    let Ok(recording) = reader.finish() else {
        return;
    };
    let skill = match compile(&recording, "../x", apply) {
        Ok(skill) => skill,
        Err(error @ CompileError::NotReadBack(_)) => panic!("{error}"),
        Err(error) => {
            assert!(!error.to_string().contains(SECRET), "i16: {error}");
            return;
        }
    };
    let told = format!("{skill:?}");
    // At the end of another word it is none.
    let stands = told.match_indices(SECRET).any(|(at, _)| {
        let before = told[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    });
    assert!(!stands, "i16: {told}");
    let count = |start: &str| {
        skill
            .text
            .lines()
            .filter(|line| line.starts_with(start))
            .count()
    };
    let steps = skill.census.read + skill.census.idempotent_write + skill.census.destructive;
    assert!(steps <= recording.calls(), "{told}");
    for key in ["### Step ", "- intent: ", "- action: ", "- effect: "] {
        assert_eq!(count(key), steps, "{key:?}: {}", skill.text);
    }
    assert_eq!(count("---"), 2, "{}", skill.text);
    assert!(
        !skill.name.contains(['/', '\\', '.', '\0']),
        "{}",
        skill.name
    );
    assert!(!skill.text.contains(['\u{202e}', '\0', '\u{1b}']), "{told}");
}
