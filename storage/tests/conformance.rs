//! Every log keeps the same promises.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use holdpoint_storage::conformance::history::{Draw, same_answers, same_content};
use holdpoint_storage::{MemoryLog, SledLog, SledOptions, conformance};

fn open(path: &PathBuf) -> SledLog {
    SledLog::open(path, &SledOptions::default()).expect("opens")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn memory_log_conforms() {
    conformance::all(async || Arc::new(MemoryLog::new()) as conformance::Log).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sled_log_conforms() {
    let root = tempfile::tempdir().expect("a folder");
    let made = AtomicUsize::new(0);
    conformance::all(async || {
        let number = made.fetch_add(1, Ordering::Relaxed);
        Arc::new(open(&root.path().join(number.to_string()))) as conformance::Log
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_histories_give_the_same_answers_on_disk_and_in_memory() {
    let seeds = match std::env::var("HOLDPOINT_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
    {
        Some(seed) => seed..seed + 1,
        None => 0..6,
    };
    for seed in seeds {
        println!("HOLDPOINT_SEED={seed}");
        let mut draw = Draw::new(seed);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let mut memory = MemoryLog::new();
        for part in 0..4 {
            let sled = open(&path);
            same_content(&memory, &sled);
            same_answers(&mut draw, 40, &memory, &sled).await;
            // Closed in order, or let go as it is.
            if part % 2 == 0 {
                holdpoint_storage::EventLog::close(&sled).await;
            }
            memory = memory.reopen();
        }
    }
}
