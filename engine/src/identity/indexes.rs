//! Which people and keys there are, made from the log alone (invariant I6).
//!
//! Sessions and sign-in links are not made again: whoever was signed in signs in once more.

use holdpoint_storage::{AppendError, Batch, EventLog, IndexPut};

use super::error::StoreError;
use super::streams;

const PAGE: usize = 512;

/// The version of the indexes.
const FORMAT: u8 = 1;

/// Makes the lists of people and keys where they are missing, as they are in a log that was imported.
pub async fn ensure_indexes(log: &dyn EventLog) -> Result<(), StoreError> {
    if log.get(streams::META, streams::META_LISTS)?.as_deref() == Some(&[FORMAT]) {
        return Ok(());
    }
    let mut puts = Vec::new();
    let mut position = 0;
    loop {
        let records = log.read_all(position, PAGE)?;
        let Some(last) = records.last() else {
            break;
        };
        position = last.position;
        for record in records.iter().filter(|record| record.version == 1) {
            let Some((what, Some(id))) = streams::subject(&record.stream) else {
                continue;
            };
            let index = match what {
                "person" => streams::PEOPLE,
                "key" => streams::KEYS,
                _ => continue,
            };
            puts.push(IndexPut {
                index,
                key: id.into_bytes(),
                value: Vec::new(),
            });
        }
    }
    let has_nobody = puts.is_empty();
    puts.push(IndexPut {
        index: streams::META,
        key: streams::META_LISTS.to_vec(),
        value: vec![FORMAT],
    });
    for page in puts.chunks(PAGE) {
        let batch = Batch {
            puts: page.to_vec(),
            ..Batch::default()
        };
        match log.append(batch).await {
            Ok(_) => {}
            // The lists of a log that was used before are there; only the note of it is not.
            Err(AppendError::Full { .. }) if has_nobody || is_listed(log)? => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn is_listed(log: &dyn EventLog) -> Result<bool, StoreError> {
    let range = holdpoint_storage::ScanRange::default();
    let forward = holdpoint_storage::Direction::Forward;
    Ok(!log.scan(streams::PEOPLE, range, 1, forward)?.is_empty())
}
