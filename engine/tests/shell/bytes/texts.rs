//! The texts that everything is made from, every byte of them changed to every other one, and what
//! an approval binds to.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use holdpoint_engine::canon::{CanonicalJson, Digest, parse_strict};
use holdpoint_engine::time::Timestamp;
use holdpoint_engine::tool::{Context, Format, StateView, Tool, ToolsFile};
use serde_json::{Value, json};

use crate::world::service;

/// The texts, in canonical form: no byte of them is without meaning.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Texts {
    pub(super) tools: Vec<u8>,
    pub(super) args: Vec<u8>,
    pub(super) state: Vec<u8>,
}

const POLICY: &str = r#""approval":{"expiresIn":"5h","groups":["finance"],"required":1}"#;

pub(super) fn texts() -> Texts {
    static TEXTS: LazyLock<Texts> = LazyLock::new(write);
    TEXTS.clone()
}

fn write() -> Texts {
    let text = |value| CanonicalJson::of(&value).as_str().as_bytes().to_vec();
    Texts {
        tools: text(json!({ "tools": { "refund": {
            "description": "Refund an order",
            "safetyClass": "approval-bound",
            "summary": "Refund {amount} for order {order}",
            "idempotencyKey": "refund:{order}",
            "state": { "http": { "get": "https://shop.example/orders/{order}" }, "watch": ["/left"] },
            "execute": {
                "http": {
                    "post": "https://shop.example/refunds",
                    "json": { "amount": "{amount}", "order": "{order}", "note": "{state.note}" },
                },
                "timeout": "7s",
            },
            "approval": { "required": 1, "groups": ["finance"], "expiresIn": "5h" },
        } } })),
        args: text(json!({ "amount": 1200, "order": "8812", "why": ["late", "broken", true] })),
        state: text(json!({ "left": 5000, "note": "of the third of May" })),
    }
}

/// What is changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    Args,
    /// The definition without the policy.
    Definition,
    Policy,
    /// What is watched.
    Snapshot,
    /// What the request is made from beside the arguments.
    Request,
}

impl Part {
    pub(super) const ALL: [Self; 5] = [
        Self::Args,
        Self::Definition,
        Self::Policy,
        Self::Snapshot,
        Self::Request,
    ];

    fn text(self, texts: &mut Texts) -> &mut Vec<u8> {
        match self {
            Self::Args => &mut texts.args,
            Self::Definition | Self::Policy => &mut texts.tools,
            Self::Snapshot | Self::Request => &mut texts.state,
        }
    }

    fn is_of_tools(self) -> bool {
        matches!(self, Self::Definition | Self::Policy)
    }

    /// Every place in its text.
    fn places(self) -> Vec<usize> {
        let texts = texts();
        let policy = find(&texts.tools, POLICY);
        match self {
            Self::Args => (0..texts.args.len()).collect(),
            Self::Definition => (0..texts.tools.len())
                .filter(|place| !policy.contains(place))
                .collect(),
            Self::Policy => policy.collect(),
            Self::Snapshot => find(&texts.state, r#""left":5000"#).collect(),
            Self::Request => find(&texts.state, "of the third of May").collect(),
        }
    }
}

fn find(text: &[u8], part: &str) -> Range<usize> {
    let text = std::str::from_utf8(text).expect("text");
    let start = text.find(part).expect("the part is there");
    start..start + part.len()
}

/// One byte that is another one, and nothing else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Change {
    part: Part,
    place: usize,
    to: u8,
}

impl Change {
    /// Every one of a part.
    pub(super) fn all(part: Part) -> Vec<Self> {
        let before = part.text(&mut texts()).clone();
        let places = part.places().into_iter();
        places
            .flat_map(|place| (0..=u8::MAX).map(move |to| Self { part, place, to }))
            .filter(|change| before[change.place] != change.to)
            .collect()
    }

    /// Those where one bit is another one.
    fn flips(part: Part) -> Vec<Self> {
        let before = part.text(&mut texts()).clone();
        let mut changes = Self::all(part);
        changes.retain(|change| (before[change.place] ^ change.to).is_power_of_two());
        changes
    }

    pub(super) fn texts(self) -> Texts {
        let mut texts = texts();
        self.part.text(&mut texts)[self.place] = self.to;
        texts
    }
}

/// What a vote and a commit record are bound to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bound {
    pub(super) binding: Digest,
    pub(super) snapshot: Digest,
    /// None where the request cannot be made.
    pub(super) request: Option<Digest>,
}

/// The tools file; none where it is refused.
pub(super) fn file(texts: &Texts) -> Option<ToolsFile> {
    // Most changes are no JSON, which is found out sooner.
    parse_strict(&texts.tools).ok()?;
    let text = std::str::from_utf8(&texts.tools).ok()?;
    ToolsFile::from_str(text, Format::Json).ok()
}

/// The definition in the tools file; none where the file is refused, or names it otherwise.
pub(super) fn tool(texts: &Texts) -> Option<Arc<Tool>> {
    file(texts)?.registry.get("refund").cloned()
}

/// What is bound to; none where the arguments or the state are refused.
pub(super) fn bound(tool: &Tool, texts: &Texts) -> Option<Bound> {
    let args = parse_strict(&texts.args).ok().filter(Value::is_object)?;
    let state = parse_strict(&texts.state).ok()?;
    let caller = service().caller();
    let ctx = Context {
        args: &args,
        caller: &caller,
        state: Some(StateView {
            body: &state,
            etag: None,
        }),
        action_id: None,
        idempotency_key: Some("refund"),
    };
    Some(Bound {
        binding: tool.binding_digest(&CanonicalJson::of(&args), &caller, None),
        snapshot: tool.snapshot(&state, None, Timestamp(0)).digest,
        request: tool.render_execute(&ctx).ok().map(|request| request.digest),
    })
}

/// The changes of a part that are accepted, with what is then bound to: all of them, but of the
/// tools file, which takes its time, one bit of each byte unless `HOLDPOINT_BYTES=all`.
pub(super) fn accepted(part: Part) -> Vec<(Change, Bound)> {
    let original = tool(&texts()).expect("a tool");
    let takes_all = std::env::var("HOLDPOINT_BYTES").is_ok_and(|which| which == "all");
    let changes = if takes_all || !part.is_of_tools() {
        Change::all(part)
    } else {
        Change::flips(part)
    };
    let seen = |change: Change| {
        let texts = change.texts();
        let tool = if part.is_of_tools() {
            tool(&texts)?
        } else {
            Arc::clone(&original)
        };
        Some((change, bound(&tool, &texts)?))
    };
    changes.into_iter().filter_map(seen).collect()
}
