//! The pause switch, and what needs a person.

use holdpoint_engine::engine;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What the pause switch is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Pause {
    /// Whether nothing new is sent.
    pub paused: bool,
    /// Why, where it is.
    pub reason: Option<String>,
    /// Who paused: `per_…`
    pub by: Option<String>,
    /// The name at that time.
    pub name: Option<String>,
    /// Since when.
    pub since: Option<String>,
}

impl Pause {
    /// What the switch is.
    pub fn new(paused: Option<engine::Paused>) -> Self {
        let Some(paused) = paused else {
            return Self {
                paused: false,
                reason: None,
                by: None,
                name: None,
                since: None,
            };
        };
        Self {
            paused: true,
            reason: Some(paused.reason),
            by: Some(paused.by),
            name: Some(paused.name),
            since: Some(paused.since.rfc3339()),
        }
    }
}

/// Why everything should be held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseWish {
    /// Why; everybody sees it. At most 2,000 characters.
    #[schema(example = "the payment provider has an incident")]
    pub reason: String,
}

/// What needs a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AttentionList {
    /// At most 200 unknown outcomes, first those that only a person can end, then at most 200 that
    /// stand still, then at most 200 that cannot be approved, then the last 200 alarms.
    pub data: Vec<Attention>,
    /// How many outcomes are unknown: `GET /v1/actions?status=unknown` lists them all.
    pub unknown_total: u64,
    /// How many could be called and are not: at least so many, where there are thousands.
    pub stuck_total: u64,
    /// How many wait for more people than may vote on them: at least so many, where thousands wait.
    pub short_total: u64,
    /// How many ended with an alarm in the last 7 days: at least so many, where there are thousands.
    pub alarm_total: u64,
}

impl From<&engine::AttentionList> for AttentionList {
    fn from(found: &engine::AttentionList) -> Self {
        Self {
            data: found.iter().map(Into::into).collect(),
            unknown_total: found.unknown_total,
            stuck_total: found.stuck_total,
            short_total: found.short_total,
            alarm_total: found.alarm_total,
        }
    }
}

/// An action that needs a person, explained.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Attention {
    /// `act_…`
    pub id: String,
    /// One sentence, made by the server.
    pub summary: String,
    /// The tool.
    pub tool: String,
    /// The status of the action.
    pub status: String,
    /// `unknown`, `stuck`, `short` (fewer people may vote than are asked for), or `alarm`: the target
    /// answered 422, so that it may know the key with another request.
    pub trouble: String,
    /// Since when.
    pub since: String,
    /// What was tried, and what the source of truth said, in order.
    pub tried: Vec<String>,
    /// What happens next by itself, and when.
    pub next: String,
    /// What a person can do.
    pub help: String,
}

impl From<&engine::Attention> for Attention {
    fn from(found: &engine::Attention) -> Self {
        let action = &found.view.action;
        let why = &found.why;
        Self {
            id: action.id.to_string(),
            summary: action.proposal.summary.clone(),
            tool: action.proposal.tool.clone(),
            status: action.status().name().into(),
            trouble: why.trouble.name().into(),
            since: why.since.rfc3339(),
            tried: why.tried.clone(),
            next: why.next.clone(),
            help: why.help.clone(),
        }
    }
}
