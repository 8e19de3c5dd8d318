//! What is tried: each is one run from an empty start, with everybody in it at once.

mod appends;
mod inbox;
mod stop;
mod votes;
mod waiters;

pub use appends::{appends, failing_device};
pub use inbox::inbox;
pub use stop::stop;
pub use votes::votes;
pub use waiters::waiters;
