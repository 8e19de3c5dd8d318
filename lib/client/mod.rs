//! A client of the HTTP API, for services, workers and people's tools.
//!
//! ```no_run
//! use holdpoint::client::{Client, Submitted, wire};
//!
//! # async fn example(key: String) -> Result<(), holdpoint::client::Error> {
//! let client = Client::new("https://holdpoint.example")?.with_token(&key)?;
//! let args = wire::Json::from_text(r#"{"order_id":"8812","amount_minor":4900}"#);
//! let mut submission = wire::Submission::new("issue_refund", args);
//! submission.reason = Some("arrived broken".into());
//! // The same key for every try of this refund, also after a restart of this program.
//! match client.submit(&submission, "refund-8812-1").await? {
//!     Submitted::Action(action) => {
//!         let end = client.wait_for_end(&action.id, std::time::Duration::from_secs(3600)).await?;
//!         println!("{} is {}", end.id, end.status);
//!     }
//!     Submitted::Answered(answered) => println!("{}", answered.result.get()),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! What may safely be sent again is sent again where the connection breaks or the server asks for
//! patience: reads, submissions (they carry a key), claims, heartbeats and reports of work. Votes,
//! cancellations and settlements are sent once; the server answers a repeat of them as the first one
//! was, so that a program may repeat them knowingly.
//!
//! * [`Client`]: everything that a key or a session can do. [`Error`], [`Problem`]: why not.
//! * [`Worker`]: claims work, carries it out, keeps its lease, reports.

mod calls;
mod error;
mod key;
mod retry;
mod runs;
mod transport;
mod worker;

pub use calls::{ListFilter, Submitted, encoded};
pub use error::{Error, FieldError, Problem};
pub use holdpoint_web::wire;
pub use key::random_key;
pub use retry::Retry;
pub use runs::RunFilter;
pub use transport::{Answer, Client, is_loopback};
pub use worker::{Outcome, Worker};
