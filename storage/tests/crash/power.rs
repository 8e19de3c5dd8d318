//! Power cuts.
//!
//! A kill proves little: what the process handed to the kernel survives it. Here the log lies on a
//! file system of its own, on a loop device, and the cut is a copy of the device: what the kernel
//! had not sent there by then is lost, as it is when the power fails. Needs the rights to mount.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::process::Command;

use holdpoint_storage::conformance::history::Draw;

use crate::child::{Acknowledged, check, kill, note, start};
use crate::set;

fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    let told = String::from_utf8_lossy(&output.stderr);
    output
        .status
        .success()
        .then_some(())
        .ok_or_else(|| format!("{program}: {}", told.trim()))
}

/// A mounted image, for as long as it lives.
struct Mount(PathBuf);

impl Mount {
    fn new(image: &Path, at: PathBuf) -> Result<Self, String> {
        std::fs::create_dir_all(&at).map_err(|error| error.to_string())?;
        run("mount", &["-o", "loop", &text(image), &text(&at)])?;
        Ok(Self(at))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Lazily: a thread that still closes its file must not leave the image mounted.
        drop(run("umount", &["-l", &text(&self.0)]));
    }
}

fn text(path: &Path) -> String {
    path.to_str().expect("a plain path").to_owned()
}

fn disk(root: &Path) -> Result<(PathBuf, Mount), String> {
    let image = root.join("disk.img");
    run("truncate", &["-s", "256M", &text(&image)])?;
    run("mkfs.ext4", &["-q", "-F", &text(&image)])?;
    let mount = Mount::new(&image, root.join("disk"))?;
    Ok((image, mount))
}

#[test]
#[ignore = "mounts a file system; scripts/test runs it where that may be done"]
fn i05_nothing_acknowledged_is_lost_when_the_power_is_cut() {
    let root = tempfile::tempdir().expect("a folder");
    let (image, mount) =
        disk(root.path()).expect("a file system of its own; mounting needs the rights");
    let folder = mount.0.join("log");
    let mut draw = Draw::new(set("HOLDPOINT_SEED").unwrap_or(1));
    let mut acknowledged = Acknowledged::new();
    for _ in 0..set("HOLDPOINT_CUTS").unwrap_or(6) {
        let (mut child, mut lines) = start(&folder);
        let wanted = 2 + draw.below(200);
        let mut line = String::new();
        for _ in 0..wanted {
            lines.read_line(&mut line).expect("reads");
            note(&line, &mut acknowledged);
            line.clear();
        }
        // The copy takes a while, and is to be of one moment.
        run("kill", &["-STOP", &child.id().to_string()]).expect("stops");
        let cut = root.path().join("cut.img");
        run("cp", &["--sparse=always", &text(&image), &text(&cut)]).expect("copies");
        let after = Mount::new(&cut, root.path().join("cut")).expect("mounts");
        check(&after.0.join("log"), &acknowledged);
        drop(after);
        kill(&mut child);
    }
    assert!(!acknowledged.is_empty(), "the child got nowhere");
}
