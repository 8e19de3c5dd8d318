//! What travels: the JSON of the API, for the server and for its clients.
//!
//! Members are `snake_case`, times are RFC 3339 in UTC, enumerations are strings of which clients
//! must accept ones that they do not know. JSON that belongs to others (arguments, states, results)
//! is carried as [`Json`], its canonical text, and never re-encoded (invariant I13).

mod action;
mod convert;
mod history;
mod operations;
mod people;
mod run_receipt;
mod runs;
mod schedules;
mod webhooks;
mod work;

use std::fmt;

use holdpoint_engine::canon::CanonicalJson;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use utoipa::openapi::schema::{ObjectBuilder, SchemaType};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

pub use action::{
    Action, Answered, Approval, Attempt, Caller, Decision, Difference, Doubt, Ended, Header, Lease,
    List, Need, Reason, Request, SecretVersion, Settlement, Snapshot, Submission, Submitted, Vote,
};
pub use history::{Event, Events, Receipt, RecordRef};
pub use operations::{Attention, AttentionList, Pause, PauseWish};
pub use people::{
    Key, KeyCreated, Keys, NewKey, NewPassword, NewPerson, People, Person, PersonChange, Session,
    SignIn, Tool, Tools,
};
pub use run_receipt::{
    RunAssert, RunReceipt, RunRejection, RunSkill, RunStep, RunTotals, RunWithheld, RunWorkflow,
};
pub use runs::{INTERRUPTED, NewRun, Run, RunFlags, RunResumption, RunSignal, RunSummary, Runs};
pub use schedules::{NewSchedule, Schedule, Schedules};
pub use webhooks::{
    NewWebhookEndpoint, WebhookAttempt, WebhookDeliveries, WebhookDelivery, WebhookDisabled,
    WebhookEnabling, WebhookEndpoint, WebhookEndpointChange, WebhookEndpoints, WebhookRotation,
    WebhookSecret, WebhookTrying,
};
pub use work::{Work, WorkClaim, WorkDone, WorkHeartbeat, WorkLease, WorkReport};

/// JSON as text, byte for byte.
#[derive(Clone)]
pub struct Json(Box<RawValue>);

impl Json {
    /// The text.
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// JSON text as it is; as a JSON string where it is not JSON.
    pub fn from_text(text: &str) -> Self {
        let raw = RawValue::from_string(text.to_owned());
        raw.map_or_else(|_| Self::string(text), Self)
    }

    /// The JSON string of a text.
    pub fn string(text: &str) -> Self {
        Self::of(&CanonicalJson::of(&serde_json::Value::from(text)))
    }

    /// Canonical JSON as it is.
    pub fn of(canonical: &CanonicalJson) -> Self {
        // Canonical text is JSON, so that `null` never stands in.
        RawValue::from_string(canonical.as_str().to_owned())
            .map_or_else(|_| Self(RawValue::NULL.to_owned()), Self)
    }

    /// A value of our own making, in canonical form.
    pub fn value(value: &serde_json::Value) -> Self {
        Self::of(&CanonicalJson::of(value))
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self)
    }
}

impl PartialSchema for Json {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(SchemaType::AnyValue)
            .description(Some("Any JSON, in canonical form (RFC 8785)"))
            .into()
    }
}

impl ToSchema for Json {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i13_numbers_leave_as_the_canonical_bytes() {
        let canonical = CanonicalJson::of(&serde_json::json!({"a": 1e21, "b": 10.10, "c": 0.1}));
        let sent = serde_json::to_string(&Json::of(&canonical)).expect("JSON");
        assert_eq!(sent, canonical.as_str());
        let read: Json = serde_json::from_str(&sent).expect("JSON");
        assert_eq!(read.get(), canonical.as_str());
    }

    #[test]
    fn a_body_that_is_not_json_travels_as_a_string() {
        assert_eq!(Json::from_text("a=1&b=\"2\"").get(), r#""a=1&b=\"2\"""#);
        assert_eq!(Json::from_text("{\"a\":1.0}").get(), "{\"a\":1.0}");
    }
}
