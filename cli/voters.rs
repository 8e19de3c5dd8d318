//! Whether there are enough people for what the tools ask of approvers.

use std::collections::BTreeSet;

use holdpoint_engine::action::SafetyClass;
use holdpoint_engine::tool::{Registry, Tool};

/// That a tool asks for more approvals than there are people who can give one.
pub(crate) struct Lack {
    /// The name of the tool.
    pub(crate) tool: String,
    /// What is missing.
    pub(crate) words: String,
    /// What to do.
    pub(crate) help: String,
}

/// What a tool asks of approvers: how many, out of which groups, and in which case.
struct Asked<'a> {
    required: u32,
    groups: &'a BTreeSet<String>,
    case: Option<&'a str>,
}

/// What the tools ask for and cannot get; of each approver there are the groups.
pub(crate) fn lacks(registry: &Registry, approvers: &[&BTreeSet<String>]) -> Vec<Lack> {
    let groups: BTreeSet<&str> = approvers
        .iter()
        .flat_map(|groups| groups.iter().map(String::as_str))
        .collect();
    let known = if groups.is_empty() {
        "none".to_owned()
    } else {
        groups.into_iter().collect::<Vec<_>>().join(", ")
    };
    let bound = registry
        .iter()
        .filter(|tool| tool.class == SafetyClass::ApprovalBound);
    let asked = bound.flat_map(|tool| asked(tool).map(move |asked| (tool, asked)));
    asked
        .filter_map(|(tool, asked)| {
            let people = approvers.iter();
            let can = people
                .filter(|groups| asked.groups.is_empty() || !asked.groups.is_disjoint(groups))
                .count();
            let is_enough = u32::try_from(can).is_ok_and(|can| asked.required <= can);
            (!is_enough).then(|| lack(&tool.name, &asked, can, &known))
        })
        .collect()
}

fn asked(tool: &Tool) -> impl Iterator<Item = Asked<'_>> {
    let policy = &tool.approval;
    let always = Asked {
        required: policy.required,
        groups: &policy.groups,
        case: None,
    };
    let rules = policy.rules.iter().map(|rule| Asked {
        required: rule.required,
        groups: &rule.groups,
        case: Some(&rule.reason),
    });
    std::iter::once(always).chain(rules)
}

fn lack(tool: &str, asked: &Asked<'_>, can: usize, known: &str) -> Lack {
    let case = asked
        .case
        .map_or_else(String::new, |reason| format!(" where it is {reason:?}"));
    let group = asked
        .groups
        .first()
        .map_or_else(String::new, |group| format!(" --group {group}"));
    Lack {
        tool: tool.to_owned(),
        words: format!(
            "{tool} needs {} approvals{case}, and {can} people can give one",
            asked.required
        ),
        help: format!(
            "holdpoint user add … --role approver{group}; groups with approvers: {known}"
        ),
    }
}
