//! Cron patterns: what is due next was due last, once that moment has come.

use holdpoint_engine::schedule::Timetable;
use holdpoint_engine::time::Timestamp;

/// A pattern, a zone in the second line, and in the third a moment to look from.
pub(crate) fn timetable(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut lines = text.splitn(3, '\n');
    let pattern = lines.next().unwrap_or_default();
    let zone = lines.next().unwrap_or("Europe/Berlin");
    let seconds = lines
        .next()
        .and_then(|line| line.trim().parse::<u32>().ok());
    let table = match Timetable::parse(pattern, zone) {
        Ok(table) => table,
        Err(why) => {
            assert!(!why.is_empty());
            return;
        }
    };
    assert!(!table.words().is_empty());
    let mut at = Timestamp(i64::from(seconds.unwrap_or(1_790_000_000)) * 1000);
    for _ in 0..3 {
        let Some(due) = table.next_after(at) else {
            return;
        };
        assert!(at < due, "{table:?} goes back from {at:?} to {due:?}");
        assert_eq!(table.last_until(due), Some(due), "{table:?} after {at:?}");
        assert_eq!(
            table.next_after(Timestamp(due.0 - 1)),
            Some(due),
            "{table:?} after {at:?}"
        );
        assert!(!table.shown(due).is_empty());
        at = due;
    }
}
