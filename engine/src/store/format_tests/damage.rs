//! What was damaged on the disk.

use super::{AT, record, staged};
use crate::store::codec;

#[test]
fn damaged_bodies_are_errors_and_never_panics() {
    let new = codec::encode_event(&staged(), "engine", AT).expect("encoded");
    for length in 0..new.body.len() {
        let cut = record(&new.kind, new.body[..length].to_vec());
        assert!(codec::decode_event(&cut).is_err(), "cut at {length}");
    }
    let mut longer = new.body.clone();
    longer.push(0);
    assert!(codec::decode_event(&record(&new.kind, longer)).is_err());
    let mut newer = new.body.clone();
    newer[0] = 2;
    assert!(codec::decode_event(&record(&new.kind, newer)).is_err());
    assert!(codec::decode_event(&record("action.approved", new.body)).is_err());
}
