//! Documents that are made from the code and kept in the repository.

use std::path::Path;

/// That this file of the repository says this. `HOLDPOINT_RENEW=1` writes it anew.
pub(crate) fn is_kept(path: &str, text: &str) {
    // These tests are built in two crates of the workspace.
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|folder| folder.join(path))
        .find(|path| path.parent().is_some_and(Path::exists))
        .expect("its folder is there");
    if std::env::var_os("HOLDPOINT_RENEW").is_some() {
        std::fs::write(&path, text).expect("the document can be written");
    }
    let kept = std::fs::read_to_string(&path).expect("the document can be read");
    assert_eq!(
        kept, text,
        "run this test with HOLDPOINT_RENEW=1 to write it anew"
    );
}
