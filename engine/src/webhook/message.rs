//! What an endpoint is told: that something happened, and where to look. Never arguments, results,
//! states or reasons: whoever wants to know more asks, with a credential.

use holdpoint_storage::Record;
use serde_json::{Value, json};

use super::endpoint::Endpoint;
use super::event::Event;
use super::id::MessageId;
use super::layout::of_stream;
use super::types::{TEST_TYPE, type_of};
use crate::action::{Action, ActionId, evolve};
use crate::canon::CanonicalJson;
use crate::identity::{Principal, Role, StoreError};
use crate::store::{Store, codec};
use crate::time::Timestamp;

/// Records read at once while an action is brought to the state of an event.
const PAGE: usize = 256;

/// The longest body of a message, in bytes; receivers may refuse longer ones.
pub(super) const BODY_BYTES_MAX: usize = 20_000;

/// A message for one endpoint; the same bytes at every attempt.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) id: MessageId,
    pub(super) kind: String,
    pub(super) action: Option<ActionId>,
    pub(super) body: String,
}

impl Message {
    fn new(id: MessageId, kind: &str, at: Timestamp, data: &Value) -> Self {
        let body = json!({ "type": kind, "timestamp": at.rfc3339(), "data": data });
        let body = CanonicalJson::of(&body).as_str().to_owned();
        assert!(
            body.len() <= BODY_BYTES_MAX,
            "ids, names and links are bounded, and nothing else is in a message"
        );
        Self {
            id,
            kind: kind.to_owned(),
            action: None,
            body,
        }
    }

    /// The message to try an endpoint out with.
    pub(super) fn test(endpoint: &Endpoint, at: Timestamp) -> Self {
        let id = MessageId::Test {
            endpoint: endpoint.id,
            at,
        };
        let data = json!({ "endpoint_id": endpoint.id.to_string() });
        Self::new(id, TEST_TYPE, at, &data)
    }
}

/// Whether an endpoint's filters let a record through, as far as its kind can tell.
pub(super) fn wants(endpoint: &Endpoint, record: &Record) -> bool {
    type_of(&record.kind)
        .is_some_and(|name| endpoint.types.is_empty() || endpoint.types.contains(name))
}

/// The message about a record, under its id; none where the endpoint does not ask for it or its owner may not see
/// what it is about. `base` is the public URL of the server, empty where it is not known.
pub(super) fn about(
    store: &Store,
    id: MessageId,
    endpoint: &Endpoint,
    owner: &Principal,
    record: &Record,
    base: &str,
) -> Result<Option<Message>, StoreError> {
    let Some(kind) = type_of(&record.kind).filter(|_| wants(endpoint, record)) else {
        return Ok(None);
    };
    let at = Timestamp(record.time_ms);
    if let Some(other) = of_stream(&record.stream) {
        // Who is back need not be told of having been away.
        let is_own = other == endpoint.id;
        if is_own || !owner.has(Role::Admin) || !endpoint.tools.is_empty() {
            return Ok(None);
        }
        let cause = match Event::of(record) {
            Ok(Event::Disabled { cause, .. }) => cause.name(),
            Ok(_) | Err(_) => "unknown",
        };
        let data = json!({
            "position": record.position,
            "endpoint_id": other.to_string(),
            "cause": cause,
            "links": { "endpoint": format!("{base}/v1/webhook-endpoints/{other}") },
        });
        return Ok(Some(Message::new(id, kind, at, &data)));
    }
    let Some(action) = codec::action_of(&record.stream) else {
        return Ok(None);
    };
    let then = action_at(store, action, record)?;
    let tool = &then.proposal.tool;
    let is_asked_for = endpoint.tools.is_empty() || endpoint.tools.contains(tool);
    if !is_asked_for || !crate::engine::may_see(owner, &then) {
        return Ok(None);
    }
    let caller = &then.proposal.caller;
    let data = json!({
        "position": record.position,
        "action_id": action.to_string(),
        "version": record.version,
        "revision": then.revision,
        "tool": tool,
        "safety_class": then.proposal.class.name(),
        "status": then.status().name(),
        "caller": { "id": caller.id, "name": caller.name, "kind": caller.kind.name() },
        "actor": record.actor,
        "links": {
            "action": format!("{base}/v1/actions/{action}"),
            "page": format!("{base}/actions/{action}"),
        },
    });
    let mut message = Message::new(id, kind, at, &data);
    message.action = Some(action);
    Ok(Some(message))
}

/// The action as it was right after the record: what is told is what happened, whatever has
/// happened since.
fn action_at(store: &Store, id: ActionId, record: &Record) -> Result<Action, StoreError> {
    let damaged = |reason: String| StoreError::Damaged {
        place: format!("record {} of {}", record.version, record.stream),
        reason,
    };
    let now = store.load(id).map_err(|error| damaged(error.to_string()))?;
    if let Some(view) = now.filter(|view| view.version == record.version) {
        return Ok(view.action);
    }
    let mut state = None;
    let mut after = 0;
    while after < record.version {
        let left = usize::try_from(record.version - after).unwrap_or(PAGE);
        let records = store
            .log
            .read_stream(&record.stream, after, left.min(PAGE))?;
        let Some(last) = records.last() else {
            break;
        };
        after = last.version;
        for record in &records {
            let event = codec::decode_event(record).map_err(|error| damaged(error.0))?;
            let next = evolve(state, id, &event).map_err(|error| damaged(error.to_string()))?;
            state = Some(next);
        }
    }
    state.ok_or_else(|| damaged("the stream has no events".to_owned()))
}
