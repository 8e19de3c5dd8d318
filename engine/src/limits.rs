//! Every bound of the engine, with its reason (invariant I21).

use std::time::Duration;

// --- JSON -----------------------------------------------------------------------------------

/// The longest JSON text that is read, in bytes. An approver must be able to read the arguments,
/// and every copy of them is kept for ever; large payloads belong behind a reference.
pub const JSON_BYTES_MAX: usize = 1 << 20;

/// The deepest nesting of JSON that is read. Deeper text is unreadable on a page, and readers that
/// recurse must not run out of stack.
pub const JSON_DEPTH_MAX: usize = 64;

/// The largest magnitude of a number in JSON: above it not every integer is a double (RFC 7493).
pub const JSON_INTEGER_MAX: u64 = 1 << 53;

// --- the tools file -------------------------------------------------------------------------

/// The longest tools file, in bytes: thousands of tools, and still read in a moment.
pub const TOOLS_FILE_BYTES_MAX: usize = 4 << 20;

/// The longest name of a tool, in bytes: it is part of index keys.
pub const TOOL_NAME_BYTES_MAX: usize = 128;

/// The longest input or result schema, in bytes of canonical JSON.
pub const SCHEMA_BYTES_MAX: usize = 64 << 10;

/// The memory one compiled pattern of a schema may take, in bytes. The engine's patterns run in
/// linear time; this bounds the constant.
pub const PATTERN_BYTES_MAX: usize = 1 << 20;

/// How many mistakes of one set of arguments are listed; the rest are counted.
pub const ARG_ERRORS_MAX: usize = 20;

/// The longest rule, in bytes: what is longer belongs into the service that is called.
pub const RULE_BYTES_MAX: usize = 4 << 10;

/// The deepest nesting of brackets and operators in a rule: the parser recurses.
pub const RULE_DEPTH_MAX: usize = 24;

/// The most loops (`all`, `exists`, `map`, `filter`) inside one another in a rule.
pub const RULE_LOOPS_MAX: usize = 2;

/// The most steps of a rule: the number of values in its input to the power of its nested loops.
pub const RULE_STEPS_MAX: usize = 4_000_000;

/// The most values in the input of a rule.
pub const RULE_VALUES_MAX: usize = 100_000;

/// The longest template, in bytes.
pub const TEMPLATE_BYTES_MAX: usize = 4 << 10;

/// The longest idempotency key, in bytes: services that take keys cut off or refuse longer ones.
pub const KEY_BYTES_MAX: usize = 255;

/// The longest rendered URL, in bytes: many servers refuse longer ones.
pub const URL_BYTES_MAX: usize = 8 << 10;

/// The longest rendered header value, in bytes, for the same reason.
pub const HEADER_BYTES_MAX: usize = 8 << 10;

/// The longest rendered summary, in bytes: it is a headline. What is longer is cut, and says so.
pub const SUMMARY_BYTES_MAX: usize = 500;

/// The longest value of a label, in bytes: it is part of index keys.
pub const LABEL_BYTES_MAX: usize = 200;

/// The most labels of a tool.
pub const LABELS_MAX: usize = 16;

/// The most people that one approval can ask for.
pub const APPROVERS_MAX: u64 = 100;

/// The longest duration in a tools file: a deadline further off is a mistake in the unit.
pub const DURATION_MAX: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// The longest that one call may take. Longer work belongs to a worker that heartbeats.
pub const TIMEOUT_MAX: Duration = Duration::from_secs(60 * 60);

/// The most attempts of one action.
pub const ATTEMPTS_MAX: u64 = 100;

/// The most calls of one tool at a time that a definition may allow.
pub const CONCURRENCY_MAX: u64 = 1024;

// --- the core of an action ------------------------------------------------------------------

/// How often the source of truth may fail to answer, once quiet time has passed, before a person is
/// asked: with the default backoff of 1 s to 5 min about an hour, longer than most outages.
pub const INCONCLUSIVE_CHECKS_MAX: u32 = 20;
