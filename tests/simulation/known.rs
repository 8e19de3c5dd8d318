//! What the oracle knows of each tool, written by hand beside the tools file of [`crate::tools`]: what
//! the engine makes of that file is what is tested.

/// One tool.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    name: &'static str,
    /// Whether there is a source of truth.
    pub(crate) has_check: bool,
}

const fn tool(name: &'static str, has_check: bool) -> Known {
    Known { name, has_check }
}

const ALL: [Known; 12] = [
    tool("refund", true),
    tool("refund_closed", true),
    tool("refund_blind", false),
    tool("charge", true),
    tool("charge_kept", true),
    tool("charge_again", false),
    tool("refund_again", false),
    tool("wipe", true),
    tool("wipe_blind", false),
    tool("wipe_again", false),
    tool("deliver", true),
    tool("deliver_blind", false),
];

/// What is known of a tool.
pub(crate) fn of(tool: &str) -> Result<Known, String> {
    let found = ALL.iter().find(|known| known.name == tool);
    found
        .copied()
        .ok_or_else(|| format!("no tool is called {tool}"))
}
