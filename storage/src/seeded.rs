//! Faults that can be switched on, to see that a test notices.
//!
//! Each [`Bug`] is a mistake that somebody could make in this program, built in where it would be
//! made. All of them are off, and the compiler leaves them out, unless the feature `seeded-bugs` is
//! on, which only builds of tests ask for; a build without debug assertions has none of them even
//! then. With the feature, `HOLDPOINT_SEEDED_BUG=no_quiet_time` switches one on for a whole process.
//! `scripts/seeded-bugs` does so for one after another and names the test that must fail.

use std::any::Any;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};

/// Makes the bugs from a table of names, so that no list of them can miss one.
macro_rules! bugs {
    ($($(#[doc = $text:literal])+ $bug:ident = $name:literal,)+) => {
        /// One mistake; see the [module](self).
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Bug {
            $($(#[doc = $text])+ $bug,)+
        }

        impl Bug {
            /// Every bug, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$bug,)+];

            /// Its name in `HOLDPOINT_SEEDED_BUG`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$bug => $name,)+
                }
            }
        }
    };
}

bugs! {
    /// The call leaves while its commit record is on the way, and whether or not it arrives.
    SendBeforeSync = "send_before_sync",
    /// An append is answered once it is in memory; the disk follows when it likes.
    AckBeforeSync = "ack_before_sync",
    /// What sled flushed is not brought to the device.
    FlushWithoutFdatasync = "flush_without_fdatasync",
    /// A call without an answer in time is made again.
    RetryOnTimeout = "retry_on_timeout",
    /// The HTTP client follows redirects.
    FollowRedirect = "follow_redirect",
    /// The HTTP client keeps connections, and sends again where one turns out to be dead.
    PooledRetry = "pooled_retry",
    /// "Not found" counts at once, while the request may still be on its way.
    NoQuietTime = "no_quiet_time",
    /// "Not found" counts after half of the time for which a request may be on its way.
    HalfQuietTime = "half_quiet_time",
    /// The source of truth is not asked for our own reference but for something like it.
    MatchByAmount = "match_by_amount",
    /// A vote is appended whatever happened since the state that it was decided on.
    NoCasVote = "no_cas_vote",
    /// So is a commit record.
    NoCasCommit = "no_cas_commit",
    /// The state that was approved is taken for the state of now.
    SkipRevalidation = "skip_revalidation",
    /// An approval ends when its timer fires, not when its deadline passes.
    ExpiryOnlyByTimer = "expiry_only_by_timer",
    /// The time is whatever the machine's clock says, backwards too.
    WallClockDeadline = "wall_clock_deadline",
    /// What an approval binds to leaves out the definition of the tool.
    DigestWithoutTool = "digest_without_tool",
    /// Of a key that is twice in an object the last one is taken.
    DuplicateKeyLastWins = "duplicate_key_last_wins",
    /// The fields of an idempotency key are joined as they are.
    KeyByConcatenation = "key_by_concatenation",
    /// A cancel is granted though the call is on its way.
    CancelClaimsStopped = "cancel_claims_stopped",
    /// An answer that comes late is taken as the outcome again.
    ResultAfterFinal = "result_after_final",
    /// The hash chain is checked at every second record.
    ChainSkipsOne = "chain_skips_one",
    /// A snapshot of sled that was never finished stays in the folder.
    SnapshotLeftoverKept = "snapshot_leftover_kept",
    /// Readers see index entries of records that are not durable yet.
    IndexAheadOfLog = "index_ahead_of_log",
    /// The order of votes in a state is that of a hash map.
    HashMapOrderInEvolve = "hash_map_order_in_evolve",
    /// Whoever asked may vote.
    RequesterMayApprove = "requester_may_approve",
    /// What a person may do is remembered from when they were first seen.
    RoleFromSession = "role_from_session",
    /// The route that approves answers GET as well.
    VoteOnGet = "vote_on_get",
    /// A long text is shown cut, without a word about it.
    TextTruncatedSilently = "text_truncated_silently",
    /// Characters that turn the direction of text are shown raw.
    BidiRaw = "bidi_raw",
    /// Cells of an export may be formulas.
    CsvRaw = "csv_raw",
    /// What came back from a target is kept with our credential in it.
    SecretInError = "secret_in_error",
    /// A worker whose lease went to another may still report.
    StaleLeaseAccepted = "stale_lease_accepted",
    /// A name is resolved once to be checked, and again to be called.
    ResolveTwice = "resolve_twice",
    /// The token of a form is not compared with that of the session.
    TokenNotChecked = "token_not_checked",
    /// Arguments are written again, in another form, after their digest was made.
    ReencodeAfterDigest = "reencode_after_digest",
    /// A log that lost its end is opened as if nothing were missing.
    TailCutUnnoticed = "tail_cut_unnoticed",
    /// The length of a text is looked at once all of it was read.
    LimitCheckedAfterParse = "limit_checked_after_parse",
    /// A failed write does not stop the log.
    GoOnAfterEio = "go_on_after_eio",
    /// A request that is delivered twice starts two actions.
    WebhookReplayAccepted = "webhook_replay_accepted",
    /// The time for which a target keeps a key is counted from the last send.
    KeyretentionFromLastSend = "keyretention_from_last_send",
    /// A change between looking and waiting wakes nobody.
    LostWakeup = "lost_wakeup",
    /// A copy of a log is started as if it were the log.
    RestoreWithoutIncarnation = "restore_without_incarnation",
}

impl Bug {
    /// Whether this process has the bug.
    #[cfg(feature = "seeded-bugs")]
    pub fn is_on(self) -> bool {
        static ON: std::sync::OnceLock<Option<Bug>> = std::sync::OnceLock::new();
        cfg!(debug_assertions) && *ON.get_or_init(chosen) == Some(self)
    }

    /// Whether this process has the bug; without the feature it never has.
    #[cfg(not(feature = "seeded-bugs"))]
    #[inline]
    pub const fn is_on(self) -> bool {
        false
    }

    /// Where the bug is on: the items in another order each time.
    pub fn shuffle<T>(self, items: &mut [T]) {
        if self.is_on() {
            let (order, mut place) = (RandomState::new(), 0_u32);
            items.sort_by_cached_key(|_| {
                place += 1;
                order.hash_one(place)
            });
        }
    }

    /// Where the bug is on: the value that was first given under this key, for as long as the
    /// process lives; else this one.
    pub fn first<T: Clone + Send + 'static>(self, key: &str, value: T) -> T {
        static KEPT: Mutex<BTreeMap<String, Box<dyn Any + Send>>> = Mutex::new(BTreeMap::new());
        if !self.is_on() {
            return value;
        }
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let first = kept
            .entry(key.to_owned())
            .or_insert_with(|| Box::new(value.clone()));
        first.downcast_ref().cloned().unwrap_or(value)
    }
}

/// The bug that the variable names.
#[cfg(feature = "seeded-bugs")]
fn chosen() -> Option<Bug> {
    let name = std::env::var("HOLDPOINT_SEEDED_BUG").ok()?;
    let bug = Bug::ALL.iter().find(|bug| bug.name() == name);
    assert!(bug.is_some(), "there is no seeded bug {name:?}");
    bug.copied()
}
