//! What definitions do, from the text of a file to the exact request.

mod effect;
mod key;
mod policy;
mod render;
mod rule;
mod secret;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Context, Format, Tool, ToolsFile};
use crate::action::{Caller, PrincipalKind};

/// The tool `t` that has this definition.
fn tool(definition: &Value) -> Arc<Tool> {
    let text = json!({"tools": {"t": definition}}).to_string();
    let file = ToolsFile::from_str(&text, Format::Json).unwrap_or_else(|error| panic!("{error}"));
    Arc::clone(file.registry.get("t").expect("the tool"))
}

/// The mistakes of a definition, one a line.
fn mistakes(definition: &Value) -> String {
    let text = json!({"tools": {"t": definition}}).to_string();
    ToolsFile::from_str(&text, Format::Json)
        .expect_err("mistakes")
        .to_string()
}

fn caller() -> Caller {
    Caller {
        id: "key_1".to_owned(),
        name: "checkout".to_owned(),
        kind: PrincipalKind::Service,
        owner: Some("per_1".to_owned()),
        attributes: BTreeMap::from([("tenant".to_owned(), "acme".to_owned())]),
    }
}

fn context<'a>(args: &'a Value, caller: &'a Caller) -> Context<'a> {
    Context {
        args,
        caller,
        state: None,
        action_id: None,
        idempotency_key: Some("k:1"),
    }
}
