//! The registry, for people.

use askama::Template;
use axum::response::Response;
use holdpoint_engine::action::SafetyClass;
use holdpoint_engine::approval::groups_in_words;
use holdpoint_engine::tool::Tool;

use super::error::PageError;
use super::query;
use super::shell::{Shell, Visit, page};
use super::view::{ClassView, span_words};
use crate::display::Shown;

struct ToolView {
    name: Shown,
    class: &'static str,
    class_words: String,
    description: Option<Shown>,
    rules: Vec<Shown>,
    digest: String,
    query: String,
    is_built_in: bool,
}

impl ToolView {
    fn new(tool: &Tool) -> Self {
        Self {
            name: Shown::line(&tool.name),
            class: tool.class.name(),
            class_words: ClassView::of_tool(tool).words(),
            description: tool.description.as_deref().map(Shown::block),
            rules: rules(tool).iter().map(|rule| Shown::line(rule)).collect(),
            digest: tool.digest.to_string(),
            query: query::pair("tool", &tool.name),
            is_built_in: tool.is_built_in(),
        }
    }
}

/// What is asked of a call, in words.
fn rules(tool: &Tool) -> Vec<String> {
    let mut rules = Vec::new();
    if !tool.required_scopes.is_empty() {
        let scopes: Vec<_> = tool.required_scopes.iter().map(String::as_str).collect();
        rules.push(format!("The caller needs the scopes {}", scopes.join(", ")));
    }
    if tool.class == SafetyClass::ApprovalBound {
        let policy = &tool.approval;
        let people = |required: u32, groups| {
            let who = if std::collections::BTreeSet::is_empty(groups) {
                "any approvers".to_owned()
            } else {
                format!("approvers in {}", groups_in_words(groups))
            };
            format!("{required} of {who}")
        };
        rules.push(format!(
            "Approval: {}, within {}",
            people(policy.required, &policy.groups),
            span_words(policy.expires_in)
        ));
        for rule in &policy.rules {
            rules.push(format!(
                "Sometimes also {}: {}",
                people(rule.required, &rule.groups),
                rule.reason
            ));
        }
        if !policy.hold.is_zero() {
            rules.push(format!(
                "Held back for {} after the last approval",
                span_words(policy.hold)
            ));
        }
    }
    for condition in tool.preconditions() {
        rules.push(format!("Refused where: {}", condition.message));
    }
    if let Some(state) = tool.state_query() {
        rules.push(if !tool.class.revalidates() {
            "The state is read when the call is proposed".into()
        } else if state.watch.is_empty() {
            "The whole state is read again before the call".into()
        } else {
            format!("Read again before the call: {}", state.watch.join(", "))
        });
    }
    rules.extend(ClassView::of_tool(tool).doubt_rule().map(str::to_owned));
    rules
}

#[derive(Template)]
#[template(path = "tools.html")]
struct ToolsPage {
    shell: Shell,
    tools: Vec<ToolView>,
    has_built_in: bool,
}

/// `GET /tools`.
pub(super) async fn get(visit: Visit) -> Result<Response, PageError> {
    visit.person()?;
    let tools = visit.state.engine.registry().iter();
    let tools: Vec<_> = tools.map(|tool| ToolView::new(tool)).collect();
    let template = ToolsPage {
        shell: visit.shell("Tools").section("tools"),
        has_built_in: tools.iter().any(|tool| tool.is_built_in),
        tools,
    };
    page(&visit, &template)
}
