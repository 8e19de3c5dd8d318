//! The mistakes that can be switched on: each has a test that notices, and no product has any of them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use holdpoint_storage::seeded::Bug;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn tree(arguments: &[&str]) -> String {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let ran = Command::new(cargo)
        .args([
            "tree",
            "--offline",
            "--locked",
            "--workspace",
            "--format",
            "{p} {f}",
        ])
        .args(arguments)
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{said}");
    String::from_utf8(ran.stdout).expect("text")
}

#[test]
fn no_product_is_built_with_mistakes_in_it() {
    assert!(
        tree(&["--edges", "all"]).contains("seeded-bugs"),
        "tests are"
    );
    let product = tree(&["--edges", "no-dev"]);
    assert!(product.contains("holdpoint-storage"), "{product}");
    assert!(!product.contains("seeded-bugs"), "{product}");
}

#[test]
fn none_is_on_unless_a_test_is_run_with_one() {
    let wanted = std::env::var("HOLDPOINT_SEEDED_BUG").ok();
    for bug in Bug::ALL {
        assert_eq!(
            bug.is_on(),
            wanted.as_deref() == Some(bug.name()),
            "{bug:?}"
        );
    }
}

#[test]
fn every_mistake_has_a_test_that_notices_it() {
    let script = std::fs::read_to_string(root().join("scripts/seeded-bugs")).expect("the script");
    let table = script.split("table='").nth(1).expect("its table");
    let table = table.split('\'').next().expect("its end");
    let pairs = table.lines().filter_map(|line| line.split_once(' '));
    let rows: BTreeMap<&str, &str> = pairs.map(|(bug, test)| (bug, test.trim())).collect();
    for bug in Bug::ALL {
        let test = rows.get(bug.name()).copied();
        assert!(
            test.is_some_and(|test| !test.is_empty()),
            "{bug:?} has no test"
        );
    }
    assert_eq!(rows.len(), Bug::ALL.len(), "each row names a mistake");
}
