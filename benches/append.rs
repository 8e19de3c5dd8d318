//! What one log gives on this disk: `cargo bench --bench append [-- FOLDER]`.
//!
//! Prints how often a second the device takes 4 KiB for good, how many appends a second are
//! acknowledged with 1 and 64 writers, and how the two compare. It asserts nothing: figures belong
//! to a machine. The folder is where the temporary files go; without one, the system's own.

#[path = "../cli/commands/bench/disk.rs"]
mod disk;
#[path = "../cli/commands/bench/rate.rs"]
mod rate;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use rate::Rate;

/// How long each figure is measured.
const TIME: Duration = Duration::from_secs(5);

/// The most operations of one figure.
const COUNT: u32 = 100_000;

fn main() -> io::Result<()> {
    // Cargo itself passes flags; the first other word is a folder.
    let folder = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    let parent = folder.map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = tempfile::Builder::new()
        .prefix("holdpoint-append-")
        .tempdir_in(parent)?;
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "In {}, each figure for at most {} s and {COUNT} operations",
        folder.path().display(),
        TIME.as_secs()
    )?;

    let most = usize::try_from(COUNT).map_err(io::Error::other)?;
    let syncs = Rate::of(&disk::syncs(folder.path(), TIME, most)?).per_second();
    writeln!(
        out,
        "{:<50} {syncs:>9.0} /s",
        "fdatasync of 4 KiB, growing file, 1 thread"
    )?;

    let runtime = tokio::runtime::Builder::new_multi_thread().build()?;
    let mut single = None;
    for writers in [1, 64] {
        let folder = folder.path().join(format!("log-{writers}"));
        let appends = disk::appends(&folder, writers, TIME, u64::from(COUNT));
        let appends = runtime.block_on(appends)?;
        let per_second = appends.rate.per_second();
        writeln!(
            out,
            "{:<50} {per_second:>9.0} /s",
            format!("appends, {writers} writers, 3 index entries each")
        )?;
        writeln!(
            out,
            "{:<50} {:>9.1}",
            "  appends per sync", appends.per_sync
        )?;
        writeln!(
            out,
            "{:<50} {:>9} bytes",
            "  on disk per record", appends.bytes_per_record
        )?;
        writeln!(
            out,
            "{:<50} {:>9.2}",
            "  to the fdatasync rate",
            per_second / syncs
        )?;
        if let Some(single) = single {
            writeln!(out, "{:<50} {:>9.1}", "  to 1 writer", per_second / single)?;
        }
        single.get_or_insert(per_second);
    }
    Ok(())
}
