//! Every bound of the HTTP side, each with its reason.

use std::num::NonZeroU32;
use std::time::Duration;

/// How long a client may take to send the head of a request, and how long an idle connection is
/// kept. Slow heads are the cheapest attack on a server; an honest client needs milliseconds.
pub const HEADER_READ: Duration = Duration::from_secs(10);

/// How long a client may take to send a body, in total: 1 MiB at a slow 100 KiB/s.
pub const BODY_READ: Duration = Duration::from_secs(10);

/// How long a handler may take, up to `WAIT_MAX` of it spent waiting. A submission may read the state and call an idempotent tool, each
/// within the tool's own time limit (30 s unless the tools file says otherwise).
pub const HANDLER: Duration = Duration::from_mins(2);

/// The longest `?wait=`. Proxies in between often cut at 60 s.
pub const WAIT_MAX: Duration = Duration::from_mins(1);

/// How long a connection may go on after the server was told to stop.
pub const DRAIN: Duration = Duration::from_secs(10);

/// How many connections may be open at once: room for everybody beside ten thousand that say nothing.
/// An idle one costs about 20 KiB and a file handle, and is closed after [`HEADER_READ`].
pub const CONNECTIONS_MAX: usize = 16 * 1024;

/// How many of them may come from one address: room for a busy service behind one address, and no
/// more than a small part of all.
pub const CONNECTIONS_PER_ADDRESS_MAX: usize = 1024;

/// The largest head of a request, in bytes. Cookies and tokens of ours are below 200 bytes.
pub const HEAD_BYTES_MAX: usize = 32 * 1024;

/// The most header fields of a request.
pub const HEADERS_MAX: usize = 64;

/// The largest body of a request, in bytes. Arguments are read by people; a form is smaller still.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;

/// How long to rest after the system refused a connection, for example for want of file handles.
pub const ACCEPT_BACKOFF: Duration = Duration::from_millis(100);

/// Requests per second of one principal, sustained, unless the operator says otherwise.
pub const PRINCIPAL_PER_SECOND: NonZeroU32 = NonZeroU32::new(100).expect("100 is not zero");

/// How many seconds' worth of requests one principal may make in a burst.
pub const PRINCIPAL_BURST_FACTOR: NonZeroU32 = NonZeroU32::new(4).expect("4 is not zero");

/// Requests per second without a valid credential from one address, sustained. Guessing passwords
/// is limited further by the identity module, per account.
pub const ADDRESS_PER_SECOND: NonZeroU32 = NonZeroU32::new(10).expect("10 is not zero");

/// Requests without a valid credential from one address in a burst: a page with its assets.
pub const ADDRESS_BURST: NonZeroU32 = NonZeroU32::new(100).expect("100 is not zero");

/// How many keys a rate limiter keeps before it forgets those that are back at rest.
pub const RATE_KEYS_SWEEP: usize = 10_000;

/// Actions on one page of a list where the client does not say.
pub const LIST_DEFAULT: usize = 50;

/// The most actions on one page of a list.
pub const LIST_MAX: usize = 200;

/// Events in one answer where the client does not say.
pub const EVENTS_DEFAULT: usize = 200;

/// The most events in one answer.
pub const EVENTS_MAX: usize = 1000;

/// How long one event stream lives before its client must come back and prove again who it is.
pub const STREAM_MAX: Duration = Duration::from_mins(5);

/// How often an idle event stream shows that it is alive; proxies cut silent connections at 30 s.
pub const HEARTBEAT: Duration = Duration::from_secs(15);

/// How long clients of an event stream wait before they come back.
pub const RETRY: Duration = Duration::from_secs(3);

/// How long a client may refuse to take bytes before its connection is closed: a slow reader of an
/// event stream comes back and goes on where it was.
pub const WRITE_STALL: Duration = Duration::from_secs(20);
