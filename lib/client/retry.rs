//! Sending again what may safely be sent again.

use std::time::Duration;

use holdpoint_engine::time::{Entropy as _, SystemEntropy};

use super::Error;

/// How often, and how fast, a request that does no harm twice is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// How often in all; at least 1.
    pub tries: u32,
    /// The first wait; it doubles.
    pub wait_min: Duration,
    /// The longest wait, also where the server asks for a longer one.
    pub wait_max: Duration,
}

impl Retry {
    /// Once, and never again.
    pub const NEVER: Self = Self {
        tries: 1,
        wait_min: Duration::ZERO,
        wait_max: Duration::ZERO,
    };

    /// Does something, again as long as it may succeed later.
    pub(super) async fn run<T, Fut>(self, mut call: impl FnMut() -> Fut) -> Result<T, Error>
    where
        Fut: Future<Output = Result<T, Error>>,
    {
        let mut tried = 0;
        loop {
            tried += 1;
            match call().await {
                Err(error) if error.is_retryable() && tried < self.tries => {
                    tokio::time::sleep(self.wait(tried, &error)).await;
                }
                ended => return ended,
            }
        }
    }

    /// How long to rest after so many tries: what the server asks for, or a doubled wait of which a
    /// random half is left out, so that many clients do not come back at once.
    pub(super) fn wait(self, tried: u32, error: &Error) -> Duration {
        let asked = error.problem().and_then(|problem| problem.retry_after);
        let doubled = self
            .wait_min
            .saturating_mul(2_u32.saturating_pow(tried.saturating_sub(1)));
        let wait = asked.unwrap_or(doubled).min(self.wait_max);
        let mut byte = [0];
        // Without randomness the wait is whole.
        let left_out = SystemEntropy
            .fill(&mut byte)
            .map_or(0, |()| u32::from(byte[0]));
        wait.saturating_sub(wait * left_out / 512)
    }
}

impl Default for Retry {
    /// Five times, over about ten seconds.
    fn default() -> Self {
        Self {
            tries: 5,
            wait_min: Duration::from_millis(250),
            wait_max: Duration::from_secs(5),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Problem;

    fn refused(body: &[u8]) -> Error {
        Error::Problem(Box::new(Problem::read(503, body, None, false)))
    }

    #[tokio::test]
    async fn what_may_pass_is_tried_again_and_anything_else_is_not() {
        let retry = Retry {
            tries: 3,
            wait_min: Duration::ZERO,
            wait_max: Duration::ZERO,
        };
        for (body, expected) in [
            (&br#"{"code":"overloaded","retryable":true}"#[..], 3),
            (br#"{"code":"forbidden","retryable":false}"#, 1),
        ] {
            let mut tried = 0;
            let ended: Result<(), _> = retry
                .run(|| {
                    tried += 1;
                    std::future::ready(Err(refused(body)))
                })
                .await;
            assert!(ended.is_err());
            assert_eq!(tried, expected);
        }
    }

    #[test]
    fn a_wait_is_never_longer_than_its_bound() {
        let retry = Retry::default();
        for tried in 1..100 {
            let wait = retry.wait(tried, &refused(b"{}"));
            assert!(wait <= retry.wait_max && retry.wait_min / 2 <= wait);
        }
    }
}
