//! What a repeat of a call does to the world, told from the name of the tool.
//!
//! One classifier for everybody who has to guess: the tools file (which class a tool has that says
//! none), the gate of runs, the command line. A name is split into words, and the verb decides; the
//! hints of a tool server are claims, so they settle names without a verb and tighten all others.

mod words;

use std::fmt;

use bincode::{Decode, Encode};
use serde_json::{Map, Value};

use crate::action::SafetyClass;

/// What a repeat of a call does to the world, from the mildest to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum EffectClass {
    /// Nothing: it only looks.
    Read,
    /// Nothing more than the first call did.
    IdempotentWrite,
    /// Something that cannot be taken back, or once more what the first call did.
    Destructive,
}

impl EffectClass {
    /// All of them, from the mildest to the worst.
    pub const ALL: [Self; 3] = [Self::Read, Self::IdempotentWrite, Self::Destructive];

    /// Its name in files and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::IdempotentWrite => "idempotent-write",
            Self::Destructive => "destructive",
        }
    }

    /// The safety class of a tool that names none.
    pub fn safety_class(self) -> SafetyClass {
        match self {
            Self::Read => SafetyClass::Idempotent,
            Self::IdempotentWrite => SafetyClass::WriteOnceCheckable,
            Self::Destructive => SafetyClass::ApprovalBound,
        }
    }
}

impl fmt::Display for EffectClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a tool server says of its own tool (the annotations of the Model Context Protocol).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Annotations {
    /// `readOnlyHint`: it changes nothing.
    pub read_only: bool,
    /// `destructiveHint`: it may destroy.
    pub destructive: bool,
    /// `idempotentHint`: a repeat changes nothing more.
    pub idempotent: bool,
}

impl Annotations {
    /// The hints among the members of an object. Only the JSON value `true` has force: what is
    /// missing, or of another type, says nothing.
    pub fn of(members: &Map<String, Value>) -> Self {
        let says = |hint: &str| members.get(hint) == Some(&Value::Bool(true));
        Self {
            read_only: says("readOnlyHint"),
            destructive: says("destructiveHint"),
            idempotent: says("idempotentHint"),
        }
    }
}

/// The answer of the classifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classified {
    /// The class.
    pub effect: EffectClass,
    /// Whether nothing spoke for it, so that a person should look.
    pub review: bool,
    /// Why, in words.
    pub reason: String,
}

/// The built-in tools, whose names are exact.
const BUILT_IN: [(&str, EffectClass); 7] = [
    ("http.get", EffectClass::Read),
    ("http.head", EffectClass::Read),
    ("http.options", EffectClass::Read),
    ("http.post", EffectClass::IdempotentWrite),
    ("http.put", EffectClass::IdempotentWrite),
    ("http.patch", EffectClass::IdempotentWrite),
    ("http.delete", EffectClass::Destructive),
];

/// The effect class of a tool, from its name and what its server says of it.
///
/// A name in which nothing speaks, and one with characters that a name should not have, is
/// destructive and to be reviewed, unless a hint settles it. No hint weakens what a verb says.
pub fn classify_effect(tool: &str, hints: Annotations) -> Classified {
    let sure = |effect, reason| Classified {
        effect,
        review: false,
        reason,
    };
    if hints.destructive {
        let reason = "its server says that it is destructive".to_owned();
        return sure(EffectClass::Destructive, reason);
    }
    if let Some((name, effect)) = BUILT_IN.iter().find(|(name, _)| *name == tool) {
        return sure(*effect, format!("{name} is built in"));
    }
    match words::deciding(tool) {
        Some((EffectClass::Read, verb)) if hints.idempotent && !hints.read_only => sure(
            EffectClass::IdempotentWrite,
            format!("{verb:?} reads, but its server speaks of repeats, so it may write"),
        ),
        Some((effect, verb)) => sure(effect, format!("of the verb {verb:?}")),
        None if hints.read_only => sure(
            EffectClass::Read,
            "no word of its name decides; its server says that it only reads".to_owned(),
        ),
        None if hints.idempotent => sure(
            EffectClass::IdempotentWrite,
            "no word of its name decides; its server says that a repeat changes nothing".to_owned(),
        ),
        None => Classified {
            effect: EffectClass::Destructive,
            review: true,
            reason: if words::is_plain(tool) {
                "no word of its name decides, so the worst is assumed".to_owned()
            } else {
                "its name has characters that hide what it says, so the worst is assumed".to_owned()
            },
        },
    }
}
