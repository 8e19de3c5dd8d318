//! Records about endpoints as the history shows them. There is no secret in them to begin with; but the
//! URLs of many receivers are as good as one, and the history is for more people than endpoints are:
//! of a URL only the server is shown.

use holdpoint_storage::Record;
use serde_json::{Value, json};

use super::event::Event;
use super::layout::of_stream;
use crate::target::notify::origin_of;
use crate::time::Timestamp;

/// The fact in a record as JSON, with the id of the endpoint; none where the record is not about an
/// endpoint, or cannot be understood.
pub fn describe(record: &Record) -> Option<Value> {
    let id = of_stream(&record.stream)?;
    let mut fact = facts(&Event::of(record).ok()?);
    if let Some(fields) = fact.as_object_mut() {
        fields.insert("webhook".to_owned(), json!(id.to_string()));
    }
    Some(fact)
}

fn facts(event: &Event) -> Value {
    match event {
        Event::Created {
            owner,
            name,
            url,
            types,
            tools,
            fingerprint: _,
            from,
        } => json!({
            "owner": owner, "name": name, "server": server(url), "types": types, "tools": tools, "from": from,
        }),
        Event::Changed {
            name,
            url,
            types,
            tools,
            reason,
        } => json!({
            "name": name, "server": server(url), "types": types, "tools": tools, "reason": reason,
        }),
        Event::SecretRotated {
            fingerprint: _,
            old_until,
            reason,
        } => json!({ "old_until": Timestamp::rfc3339(*old_until), "reason": reason }),
        Event::Disabled {
            cause,
            reason,
            through,
        } => json!({ "cause": cause.name(), "reason": reason, "through": through }),
        Event::Enabled { reason, from } => json!({ "reason": reason, "from": from }),
        Event::Deleted { reason } => json!({ "reason": reason }),
        Event::DeliveryExhausted {
            position,
            attempts,
            error,
        } => json!({ "position": position, "attempts": attempts, "error": error }),
        Event::Progressed { through } => json!({ "through": through }),
    }
}

/// Scheme, host and port.
fn server(url: &str) -> String {
    origin_of(url).map_or_else(
        |_| String::new(),
        |to| format!("{}://{}:{}", to.scheme, to.host, to.port),
    )
}
