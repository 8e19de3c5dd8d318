//! What the oracle knows of each tool, written by hand beside the tools file of [`crate::tools`]: what
//! the engine makes of that file is what is tested.

use holdpoint_engine::target::Outgoing;
use serde_json::Value;

use crate::model::must;

/// One tool.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    name: &'static str,
    /// What its keys begin with; the id of the action is the key of a tool without.
    key: Option<&'static str>,
    call: Call,
    /// Whether there is a source of truth.
    pub(crate) has_check: bool,
    pub(crate) approval: Option<Approval>,
}

/// How it is carried out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Call {
    /// By a worker.
    Worker,
    /// By a request to this part of the bank.
    To(&'static str),
    /// The same, for the version of the order that was read.
    OfVersion(&'static str),
}

/// Who must agree.
#[derive(Clone, Copy)]
pub(crate) struct Approval {
    /// How many, and of which group; of any where none is named.
    need: (usize, Option<&'static str>),
    /// How many for what is more than this.
    above: Option<(i64, usize)>,
    /// Until when, counted from the submission.
    pub(crate) expires_ms: i64,
    /// How long the call is held back after the last vote.
    pub(crate) hold_ms: i64,
}

const MINUTE: i64 = 60_000;

/// One approver, whoever it is.
const fn anybody(minutes: i64) -> Approval {
    Approval {
        need: (1, None),
        above: None,
        expires_ms: minutes * MINUTE,
        hold_ms: 0,
    }
}

const fn tool(name: &'static str, key: &'static str, call: Call, has_check: bool) -> Known {
    let key = if key.is_empty() { None } else { Some(key) };
    Known {
        name,
        key,
        call,
        has_check,
        approval: None,
    }
}

impl Known {
    const fn by(self, approval: Approval) -> Self {
        let approval = Some(approval);
        Self { approval, ..self }
    }
}

const ALL: [Known; 14] = [
    tool("refund", "refund:", Call::To("plain"), true).by(Approval {
        need: (2, Some("finance")),
        above: None,
        expires_ms: 60 * MINUTE,
        hold_ms: 20_000,
    }),
    tool("refund_closed", "closed:", Call::OfVersion("plain"), true).by(Approval {
        need: (1, None),
        above: Some((500, 2)),
        expires_ms: 120 * MINUTE,
        hold_ms: 0,
    }),
    tool("refund_blind", "", Call::To("plain"), false).by(anybody(30)),
    tool("charge", "charge:", Call::To("plain"), true),
    tool("charge_kept", "kept:", Call::To("kept"), true),
    tool("charge_again", "again:", Call::To("brief"), false),
    tool("refund_again", "refund-again:", Call::To("kept"), false).by(anybody(60)),
    tool("refund_secret", "refund-secret:", Call::To("plain"), true).by(anybody(60)),
    tool("charge_secret", "charge-secret:", Call::To("kept"), false),
    tool("wipe", "wipe:", Call::To("plain"), true),
    tool("wipe_blind", "", Call::To("plain"), false),
    tool("wipe_again", "wipe-again:", Call::To("brief"), false),
    tool("deliver", "deliver:", Call::Worker, true).by(anybody(60)),
    tool("deliver_blind", "", Call::Worker, false),
];

/// What is known of a tool, in one of the tools files.
pub(crate) fn of(tool: &str, version: usize) -> Result<Known, String> {
    let found = ALL.iter().find(|known| known.name == tool);
    let mut known = *found.ok_or_else(|| format!("no tool is called {tool}"))?;
    match (version, tool) {
        (2, "charge") => known.call = Call::To("moved"),
        (2, "refund_closed") => known.call = Call::OfVersion("moved"),
        (3, "refund_blind") => {
            known.approval = known.approval.map(|approval| Approval {
                need: (2, None),
                ..approval
            });
        }
        (3, "wipe_blind") => known.approval = Some(anybody(30)),
        (_, _) => {}
    }
    Ok(known)
}

fn text<'a>(args: &'a Value, name: &str) -> &'a str {
    args[name].as_str().unwrap_or_default()
}

impl Known {
    /// The key of an action with these arguments.
    pub(crate) fn key(&self, id: &str, args: &Value) -> String {
        let (order, reference) = (text(args, "order"), text(args, "reference"));
        self.key.map_or_else(
            || format!("act_{id}"),
            |start| format!("{start}{order}:{reference}"),
        )
    }

    /// How many people of which group must agree to these arguments; all of these needs hold.
    pub(crate) fn needs(&self, args: &Value) -> Vec<(usize, Option<&'static str>)> {
        let amount = args["amount"].as_i64().unwrap_or(i64::MAX);
        let more = self.approval.and_then(|approval| approval.above);
        let more = more.filter(|(limit, _)| *limit < amount);
        let least = self.approval.map(|approval| approval.need);
        let more = more.map(|(_, required)| (required, None));
        least.into_iter().chain(more).collect()
    }

    /// Whether exactly this is sent for these arguments (I13, I17), on a state with this version.
    pub(crate) fn sends(
        &self,
        outgoing: &Outgoing,
        args: &Value,
        version: Option<&str>,
    ) -> Result<(), String> {
        let (part, version) = match self.call {
            Call::Worker => return Err("I12: what a worker carries out is sent".to_owned()),
            Call::To(part) => (part, None),
            Call::OfVersion(part) => (part, version),
        };
        let url = format!("https://bank.example/{part}/{}", text(args, "order"));
        must!(
            outgoing.method == "POST" && outgoing.url == url,
            "I13: {} {} is sent, and {url} was approved",
            outgoing.method,
            outgoing.url
        );
        let origin = &outgoing.origin;
        must!(
            (origin.scheme.as_str(), origin.host.as_str(), origin.port)
                == ("https", "bank.example", 443),
            "I17: it is sent to {origin:?}"
        );
        let body = format!("{{\"amount\":{}}}", args["amount"]);
        must!(
            outgoing.body.as_ref() == Some(&body),
            "I13: {:?} is sent, and {body} was approved",
            outgoing.body
        );
        let named = |wanted: &str| {
            let mut headers = outgoing.headers.iter();
            let found = headers.find(|(name, _)| name.eq_ignore_ascii_case(wanted));
            found.map(|(_, value)| value.as_str())
        };
        must!(
            named("if-match") == version,
            "I3: it is sent for version {:?}, and {version:?} was read",
            named("if-match")
        );
        Ok(())
    }
}
