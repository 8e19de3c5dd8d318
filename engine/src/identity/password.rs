//! Password hashes: argon2id.

use argon2::{Algorithm, Argon2, Params, Version};
use bincode::{Decode, Encode};
use subtle::ConstantTimeEq as _;

use super::secret::Secret;

/// OWASP's first choice for argon2id: 19 MiB, two passes, one lane.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;

/// What is stored of a password, with the parameters it was made with.
#[derive(Clone, PartialEq, Eq, Encode, Decode)]
pub struct PasswordHash {
    memory_kib: u32,
    passes: u32,
    lanes: u32,
    salt: [u8; 16],
    hash: [u8; 32],
}

impl PasswordHash {
    /// Hashes a password. Takes tens of milliseconds and 19 MiB: not for an async thread.
    pub(super) fn of(password: &Secret, salt: [u8; 16]) -> Option<Self> {
        let mut made = Self {
            memory_kib: MEMORY_KIB,
            passes: PASSES,
            lanes: LANES,
            salt,
            hash: [0; 32],
        };
        made.hash = made.compute(password)?;
        Some(made)
    }

    /// A hash that no password has, so that unknown people take as long as known ones.
    pub(super) fn dummy() -> Self {
        Self {
            memory_kib: MEMORY_KIB,
            passes: PASSES,
            lanes: LANES,
            salt: [0; 16],
            hash: [0; 32],
        }
    }

    /// Whether it is this password. As expensive as making the hash.
    pub(super) fn verify(&self, password: &Secret) -> bool {
        self.compute(password)
            .is_some_and(|hash| hash.ct_eq(&self.hash).into())
    }

    fn compute(&self, password: &Secret) -> Option<[u8; 32]> {
        let params = Params::new(self.memory_kib, self.passes, self.lanes, Some(32)).ok()?;
        let mut hash = [0; 32];
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password_into(password.expose().as_bytes(), &self.salt, &mut hash)
            .ok()?;
        Some(hash)
    }
}

impl std::fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PasswordHash(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_password_verifies() {
        let password = Secret::new("correct horse battery");
        let hash = PasswordHash::of(&password, [7; 16]).expect("the parameters are valid");
        assert!(hash.verify(&password));
        assert!(!hash.verify(&Secret::new("correct horse batterY")));
        assert!(!PasswordHash::dummy().verify(&password));
    }
}
