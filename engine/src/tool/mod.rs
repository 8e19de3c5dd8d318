//! The tools file and what a definition can do.
//!
//! A [`ToolsFile`] is read whole or not at all: every mistake is reported at once, with its place
//! (see [`ToolsFileError`]). What it defines is pinned: a [`Tool`] never changes, and its digest
//! covers everything the file says of it, so that a vote can bind to it.
//!
//! * `built_in`: what every run can call besides
//! * `effect`: what a repeat of a call does, told from the tool's name
//! * `source`, `fields`, `problem`: text, places, mistakes · `read`, `lint`: from there
//!   to a definition · `definition`, `http`: what a definition is
//! * `template`, `values`, `request`, `render`: placeholders, escaped for where they land · `rule`: CEL · `schema`: JSON
//!   Schema · `policy`: what the rules of a definition say about one call · `reads`: by which arguments it decides
//!
//! Arguments are values, never templates (a brace in an argument is a brace), and they never choose
//! the scheme, host or port of a call (invariant I17).

mod ahead;
mod built_in;
mod definition;
mod duration;
mod effect;
mod fields;
mod file;
mod http;
mod lint;
mod money;
mod policy;
mod problem;
mod read;
mod reads;
mod render;
mod request;
mod rule;
mod schema;
mod schema_reads;
mod source;
mod template;
#[cfg(test)]
mod tests;
mod values;

pub use ahead::{Open, OpenText};
pub(crate) use built_in::origin as origin_of;
pub use definition::{
    ApprovalPolicy, ApprovalRule, Check, Execute, Mode, OnMismatch, Precondition, Retry,
    StateQuery, StatusSet, Tool,
};
pub use duration::{DurationError, parse as parse_duration};
pub use effect::{Annotations, Classified, EffectClass, classify_effect};
pub use file::{Registry, ToolsFile};
pub use http::{Auth, HttpCall, Method, Origin, STATE_ETAG, SecretRef, resolve_etag};
pub use policy::differences;
pub use problem::{Problem, ToolsFileError, Warning};
pub(crate) use problem::{did_you_mean, nearest};
pub use reads::SecretHole;
pub use rule::{Rule, RuleError};
pub use schema::{ArgError, Schema};
pub use source::Format;
pub use values::{Context, RenderError, StateView};
pub(crate) use values::{percent, unreserved};
