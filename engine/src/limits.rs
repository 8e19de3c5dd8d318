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

/// The most opening brackets in a rule, wherever they stand: each may cost the parser 300 KiB of
/// stack (measured in a debug build), and nothing can catch an overflow.
pub const RULE_BRACKETS_MAX: usize = 80;

/// The stack on which a rule is compiled, in bytes: twice what that many brackets need.
pub const RULE_COMPILE_STACK_BYTES: usize = 64 << 20;

/// The deepest tree of a rule. The evaluation recurses and takes up to 40 KiB of stack a level (in a
/// debug build); it must fit well into the 2 MiB that a thread usually has.
pub const RULE_DEPTH_MAX: usize = 20;

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
pub const DURATION_MAX: Duration = Duration::from_hours(366 * 24);

/// The longest that one call may take. Longer work belongs to a worker that heartbeats.
pub const TIMEOUT_MAX: Duration = Duration::from_hours(1);

/// The most attempts of one action.
pub const ATTEMPTS_MAX: u64 = 100;

/// The most calls of one tool at a time that a definition may allow.
pub const CONCURRENCY_MAX: u64 = 1024;

// --- recordings ------------------------------------------------------------------------------

/// The longest recording, in bytes: the longest sessions that were seen have some 30 MiB.
pub const RECORDING_BYTES_MAX: usize = 64 << 20;

/// The longest line of a recording, in bytes: a screenshot in base64 fits.
pub const RECORDING_LINE_BYTES_MAX: usize = 8 << 20;

/// The most calls of a recording: nobody reads a skill of more steps.
pub const RECORDING_CALLS_MAX: usize = 2000;

/// How many lines are looked at to tell what a file is: sessions begin with lines about themselves.
pub const RECOGNISED_LINES_MAX: usize = 200;

/// The most values in the results of a recording that arguments are compared with.
pub const RECORDED_VALUES_MAX: usize = 200_000;

/// The most different secrets in the arguments of a recording: each is looked for everywhere.
pub const RECORDED_SECRETS_MAX: usize = 256;

/// The longest text in arguments that is searched for values of earlier results, in bytes. Longer
/// ones are documents, in which a match means little.
pub const SEARCHED_TEXT_BYTES_MAX: usize = 16 << 10;

/// The most open questions that a skill file lists; the rest are counted.
pub const QUESTIONS_MAX: usize = 100;

// --- the core of an action ------------------------------------------------------------------

/// How often the source of truth may fail to answer, once quiet time has passed, before a person is
/// asked: with the waits below about an hour, longer than most outages.
pub const INCONCLUSIVE_CHECKS_MAX: u32 = 20;

/// The first wait between two questions to the source of truth, in milliseconds; each is twice as long
/// as the one before. A tool's `retry` says nothing of them: it is for calls that did not arrive.
pub const CHECK_WAIT_MS_MIN: u64 = 1000;

/// The longest wait between two questions to the source of truth, in milliseconds.
pub const CHECK_WAIT_MS_MAX: u64 = 5 * 60 * 1000;

/// How often the same call is sent again with the same key, at most, before a person is asked. A
/// target that answered neither the call nor three repeats has a longer fault than a lost answer.
pub const RESENDS_MAX: u32 = 3;

/// How long something that could be called may wait before a person is told, in milliseconds: longer
/// than any queue of a healthy house.
pub const OVERDUE_MS: u64 = 60 * 1000;

/// For how many days an alarm is shown: nobody takes it back, and whoever looks once a week still sees it.
pub const ALARM_SHOWN_DAYS: u64 = 7;

// --- workers that pull ----------------------------------------------------------------------

/// The shortest lease, in milliseconds: a pause of a busy machine must not end it.
pub const LEASE_MS_MIN: u64 = 5 * 1000;

/// The longest lease without a heartbeat, in milliseconds: as long as a person may wait to learn that
/// a worker is gone.
pub const LEASE_MS_MAX: u64 = 60 * 60 * 1000;

/// The longest that one attempt may be held with heartbeats, in milliseconds: 24 hours.
pub const LEASE_TOTAL_MS_MAX: u64 = 24 * 60 * 60 * 1000;

/// So much of a hold window is waited for anew, in milliseconds, where the process was started in it or
/// since: 10 minutes. While no process ran the clock may have been set by any amount, and a window that
/// people were promised must not be over for that. Longer would let restarts end what is held for a day.
pub const HOLD_ANEW_MS_MAX: u64 = 10 * 60 * 1000;

/// How often in a row an attempt may be taken back from workers that went before they could have it. Each
/// leaves an attempt in the action; with the waits in between it is hours of workers that never stay.
pub const TAKEN_BACK_MAX: u32 = 100;

/// A heartbeat is stored at most this often, in milliseconds; in between it is only answered.
pub const HEARTBEAT_EVERY_MS_MIN: u64 = 1000;

/// Stored heartbeats of one attempt: all of them stay in the log for ever.
pub const LEASE_EXTENSIONS_MAX: u32 = 10_000;

/// Answers of one attempt that are kept although they do not count.
pub const LATE_ANSWERS_MAX: usize = 3;

/// The most tools that one claim may name.
pub const CLAIM_TOOLS_MAX: usize = 100;

/// Claims that may wait at once: each is an open connection.
pub const CLAIMS_WAITING_MAX: usize = 1024;

/// The longest that one claim may wait.
pub const CLAIM_WAIT_MAX: Duration = Duration::from_mins(1);

/// The longest reason that a worker gives, in characters: it is read by people.
pub const WORK_REASON_CHARS_MAX: usize = 2000;

// --- identity --------------------------------------------------------------------------------

/// The longest email address, in bytes: RFC 5321 allows no longer path.
pub const EMAIL_BYTES_MAX: usize = 254;

/// The longest name of a person or key, in characters: it must fit a line of a page.
pub const NAME_CHARS_MAX: usize = 100;

/// The longest reason that an administrator gives for a change, in characters.
pub const REASON_CHARS_MAX: usize = 1000;

/// The most groups, scopes or attributes of one person or key.
pub const IDENTITY_LABELS_MAX: usize = 100;

/// The longest name of a group, a scope or an attribute, in bytes.
pub const IDENTITY_LABEL_BYTES_MAX: usize = 128;

/// The longest value of an attribute, in bytes.
pub const ATTRIBUTE_BYTES_MAX: usize = 1024;

/// The longest network address that is kept of a sign-in, in characters: an IPv6 address with a
/// zone and a port fits.
pub const ADDRESS_CHARS_MAX: usize = 64;

/// The shortest password, in characters: below that, guessing offline is cheap.
pub const PASSWORD_CHARS_MIN: usize = 12;

/// The longest password, in bytes: long enough for any sentence, too short to keep us busy with.
pub const PASSWORD_BYTES_MAX: usize = 256;

/// Password hashes that are computed at once: each takes 19 MiB and one core.
pub const PASSWORD_HASHES_AT_ONCE: usize = 2;

/// Sign-ins that are looked at or wait for it; more are told to come back.
pub const SIGN_INS_WAITING: usize = 32;

/// Failed sign-ins of one account before waits begin: people mistype.
pub const SIGN_IN_FAILURES_FREE_PER_ACCOUNT: u32 = 5;

/// Failed sign-ins from one address before waits begin: a whole office may share one.
pub const SIGN_IN_FAILURES_FREE_PER_ADDRESS: u32 = 20;

/// The first wait, in milliseconds; it doubles with each further failure.
pub const SIGN_IN_WAIT_MIN_MS: u64 = 1000;

/// The longest wait of an account, in milliseconds. Short, so that nobody can lock others out for
/// long; still no more than 1440 guesses a day.
pub const SIGN_IN_WAIT_MAX_MS_PER_ACCOUNT: u64 = 60 * 1000;

/// The longest wait of an address, in milliseconds.
pub const SIGN_IN_WAIT_MAX_MS_PER_ADDRESS: u64 = 15 * 60 * 1000;

/// How long a failed sign-in is remembered, in milliseconds; longer than any wait.
pub const SIGN_IN_FAILURES_FORGOTTEN_MS: u64 = 60 * 60 * 1000;

/// Accounts, and addresses, whose failures are remembered: about 1 MiB each.
pub const THROTTLED_MAX: usize = 10_000;

/// Refused sign-ins that are recorded in a burst; beyond that they are only counted, so that nobody
/// can fill the log by guessing.
pub const REFUSALS_RECORDED_BURST: u64 = 50;

/// One more refused sign-in may be recorded each time that this has passed, in milliseconds.
pub const REFUSALS_RECORDED_EVERY_MS: u64 = 3000;

/// The most people: all of them are kept in memory, about 1 KiB each.
pub const PEOPLE_MAX: usize = 10_000;

/// The most keys, revoked ones included: all of them are kept in memory, about 1 KiB each.
pub const KEYS_MAX: usize = 10_000;

/// How often the last use of a key is stored, in milliseconds: often enough to see which keys are
/// idle, seldom enough to cost nothing.
pub const KEY_USE_EVERY_MS: u64 = 60 * 60 * 1000;

/// How long a browser session lives at most, in milliseconds: 7 days.
pub const BROWSER_SESSION_MS: u64 = 7 * 24 * 60 * 60 * 1000;

/// How long a session for the API lives at most, in milliseconds: 12 hours.
pub const API_SESSION_MS: u64 = 12 * 60 * 60 * 1000;

/// How long a session lives without being used, in milliseconds: 12 hours, a night.
pub const SESSION_IDLE_MS: u64 = 12 * 60 * 60 * 1000;

/// How often the last use of a session is stored, in milliseconds; the idle limit is exact to this.
pub const SESSION_TOUCH_MS: u64 = 5 * 60 * 1000;

/// The most open sessions of one person; the longest unused one makes room.
pub const SESSIONS_PER_PERSON_MAX: usize = 50;

/// The longest life of a sign-in link, in milliseconds: it travels over other channels.
pub const LINK_MS_MAX: u64 = 15 * 60 * 1000;

/// The most open sign-in links of one person; the oldest one makes room.
pub const LINKS_PER_PERSON_MAX: usize = 8;

/// The largest stored record or view of identity, in bytes: 100 of the longest groups, scopes and
/// attributes fit.
pub const IDENTITY_RECORD_BYTES_MAX: usize = 256 * 1024;

// --- webhooks --------------------------------------------------------------------------------

/// The most webhook endpoints: each is a task, a connection at most, and a reader of the log.
pub const WEBHOOK_ENDPOINTS_MAX: usize = 100;

/// The most tools that one endpoint names; without any it hears of all.
pub const WEBHOOK_TOOLS_MAX: usize = 100;

/// Messages that people send by hand at once; each may take 15 s.
pub const WEBHOOK_SENDS_BY_HAND_MAX: usize = 8;

/// Records read at once while a stream is replayed.
pub const REPLAY_PAGE: usize = 256;

// --- skill files -----------------------------------------------------------------------------

/// The longest skill file, in bytes: people read it, and each run keeps its text.
pub const SKILL_BYTES_MAX: usize = 1 << 20;

/// The most steps of a skill: each is written to the log, and shown on one page.
pub const SKILL_STEPS_MAX: usize = 1000;

/// The longest name of a skill, in characters: it must fit a line of a page.
pub const SKILL_NAME_CHARS_MAX: usize = 100;

/// The most inputs of a skill: they are asked for on one page.
pub const SKILL_INPUTS_MAX: usize = 100;

/// The most assertions, and the most binds, of one step.
pub const SKILL_CHECKS_MAX: usize = 100;

/// The most holes in the arguments of one step.
pub const SKILL_HOLES_MAX: usize = 1000;

/// The longest regular expression of a skill, in bytes of text.
pub const SKILL_PATTERN_TEXT_BYTES_MAX: usize = 1000;

/// The memory that one regular expression of a skill may take, in bytes. They run in linear time; this
/// bounds the constant, and with the bound below what a file can take at all: 100 MiB.
pub const SKILL_PATTERN_BYTES_MAX: usize = 256 << 10;

/// The most regular expressions of a skill.
pub const SKILL_PATTERNS_MAX: usize = 400;

/// The most mistakes of a skill file that are listed; the rest are counted.
pub const SKILL_ERRORS_MAX: usize = 100;

/// The longest account of what an assertion saw, in characters; what is longer is cut.
pub const SKILL_SEEN_CHARS_MAX: usize = 200;

/// The longest entry of a changelog, in characters: it is one line.
pub const SKILL_CHANGELOG_CHARS_MAX: usize = 500;

/// How far `{{today±Nd}}` reaches, in days: as far as in the format that skill files come from.
pub const SKILL_DATE_DAYS_MAX: u64 = 365;
// --- runs ------------------------------------------------------------------------------------

/// The most runs that one engine carries on at once, those that wait included: each is held in memory
/// with the text of its file.
pub const RUNS_CARRIED_MAX: usize = 5000;

/// The most of them that one caller has: a fifth, so that one key leaves room for others.
pub const RUNS_PER_CALLER_MAX: usize = 1000;

/// The longest path of a step, in bytes: it is part of idempotency keys.
pub const STEP_PATH_BYTES_MAX: usize = 128;

/// The most events of one run: all of them are read whenever it is looked at.
pub const RUN_EVENTS_MAX: u64 = 10_000;

/// The longest name of an event that is sent to a run, in bytes.
pub const SIGNAL_NAME_BYTES_MAX: usize = 128;

/// The most events of one name that a run is sent.
pub const RUN_SIGNALS_MAX: usize = 1000;

/// The most events that a run was sent and has not taken, of all names: most of its history is left for
/// what it does itself.
pub const RUN_UNTAKEN_MAX: usize = 2000;

/// The most bytes of them: they go along in one append when the run goes on as a new one.
pub const RUN_UNTAKEN_BYTES_MAX: usize = 8 * JSON_BYTES_MAX;

/// The longest cron pattern, in bytes.
pub const CRON_BYTES_MAX: usize = 256;

/// The most schedules: all of them are in memory.
pub const SCHEDULES_MAX: usize = 1000;
