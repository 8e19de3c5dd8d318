//! Webhook endpoints that somebody should look at: from the folder or from the server, in the same words.

use std::path::Path;
use std::sync::Arc;

use holdpoint::client::Client;
use holdpoint_engine::time::{SystemClock, SystemEntropy};
use holdpoint_engine::webhook::{SigningKey, Webhooks};
use holdpoint_storage::{EventLog, ReadError};
use holdpoint_web::wire;
use serde_json::Value;

use super::Findings;
use crate::commands::admin;
use crate::failure::{Outcome, chain};
use crate::output::{counted, field};

const WHAT: &str = "webhooks";

/// How many records are read from a log at once.
const RECORDS_AT_ONCE: usize = 1000;

/// Whose token sees all endpoints.
pub(super) const WHOSE_TOKEN: &str = "use the token of an operator, an auditor or an administrator";

/// How many endpoints are told of one by one.
const TOLD_MAX: usize = 20;

/// Looks at the endpoints in a folder that no server holds.
pub(super) fn in_folder(folder: &Path, log: &Arc<dyn EventLog>, findings: &mut Findings) {
    let key = match SigningKey::look(folder) {
        Ok(key) => key.ok_or_else(|| "there is no webhook.key in the data folder; restore it from a backup before the next start, \
             which makes a new one: then every endpoint needs a new secret"
                .to_owned()),
        Err(error) => {
            findings.bad(
                WHAT,
                format!("none are sent: {}", chain(&error)),
                "then start the server again: it has the key only from its start",
            );
            Err(error.brief())
        }
    };
    let opened = Webhooks::open(
        Arc::clone(log),
        Arc::new(SystemClock),
        Arc::new(SystemEntropy),
        key,
    );
    let hooks = match opened {
        Ok(hooks) => hooks,
        Err(error) => return findings.bad(WHAT, chain(&error), "look at the disk"),
    };
    match recorded(log.as_ref()) {
        Ok(count) if count == hooks.list().len() => {}
        Ok(_) => {
            let why = "the folder has no index of its endpoints (it was imported); the next start \
                       of `holdpoint serve` builds it";
            let help = "start it once with `holdpoint serve --confirm-restore`, when the log that \
                        it comes from is not used any more";
            return not_looked_at(why, help, findings);
        }
        Err(error) => return findings.bad(WHAT, chain(&error), "look at the disk"),
    }
    let mut all = Vec::new();
    for endpoint in hooks.list() {
        let kept = match hooks.deliveries(endpoint.id) {
            Ok(kept) => kept,
            Err(error) => return findings.bad(WHAT, chain(&error), "look at the disk"),
        };
        let seen = admin::wire(&wire::WebhookEndpoint::from(&endpoint)).and_then(|endpoint| {
            let kept = kept.iter().map(wire::WebhookDelivery::from);
            let kept = kept.map(|delivery| admin::wire(&delivery));
            Ok((endpoint, kept.collect::<Outcome<_>>()?))
        });
        match seen {
            Ok(seen) => all.push(seen),
            Err(failure) => return findings.bad(WHAT, failure.in_a_line(), "look at the disk"),
        }
    }
    tell(&all, findings);
}

/// How many endpoints there are by the records of a log alone.
fn recorded(log: &dyn EventLog) -> Result<usize, ReadError> {
    let (mut count, mut position) = (0_usize, 0);
    loop {
        let records = log.read_all(position, RECORDS_AT_ONCE)?;
        let Some(last) = records.last() else {
            return Ok(count);
        };
        position = last.position;
        for record in &records {
            match record.kind.as_str() {
                "webhook.created" => count += 1,
                "webhook.deleted" => count = count.saturating_sub(1),
                _ => {}
            }
        }
    }
}

/// Says that nobody knows how the endpoints are, and why.
pub(super) fn not_looked_at(why: &str, help: &str, findings: &mut Findings) {
    findings.warn(WHAT, format!("not looked at: {why}"), help);
}

/// Asks the server for the endpoints, with a token that may see all of them.
pub(super) async fn at_server(client: &Client, findings: &mut Findings) {
    match ask(client).await {
        Ok(all) => tell(&all, findings),
        Err(failure) => {
            let help = failure.next().unwrap_or(WHOSE_TOKEN);
            not_looked_at(&failure.in_a_line(), help, findings);
        }
    }
}

/// An endpoint, and the messages to it that are kept.
type Seen = (Value, Vec<Value>);

async fn ask(client: &Client) -> Outcome<Vec<Seen>> {
    let body = client.get("/v1/webhook-endpoints").await?.body;
    let mut all = Vec::new();
    for endpoint in admin::list(&body)? {
        let path = format!("/v1/webhook-deliveries?endpoint={}", field(endpoint, "/id"));
        let kept = client.get(&path).await?.body;
        all.push((endpoint.clone(), admin::list(&kept)?.to_vec()));
    }
    Ok(all)
}

fn tell(all: &[Seen], findings: &mut Findings) {
    let troubled: Vec<_> = all.iter().filter_map(trouble).collect();
    if troubled.is_empty() {
        return findings.good(
            WHAT,
            match all.len() {
                0 => "there is no endpoint".to_owned(),
                count => format!(
                    "{}, none disabled and none behind",
                    counted(count, "endpoint")
                ),
            },
        );
    }
    for (words, help) in troubled.iter().take(TOLD_MAX) {
        findings.warn(WHAT, words, help);
    }
    if TOLD_MAX < troubled.len() {
        findings.warn(
            WHAT,
            format!("{} more", troubled.len() - TOLD_MAX),
            "`holdpoint webhooks ls` lists them",
        );
    }
}

/// What is wrong with an endpoint, and what to do about it; none where nothing is.
fn trouble((endpoint, kept): &Seen) -> Option<(String, String)> {
    let id = field(endpoint, "/id");
    let who = format!("{} ({id})", field(endpoint, "/name"));
    // A test that failed was seen by whoever sent it.
    let given_up = kept
        .iter()
        .filter(|delivery| delivery["status"] == "failed" && !delivery["position"].is_null())
        .count();
    let lost = match given_up {
        0 => String::new(),
        count => format!("; {} given up", counted(count, "message")),
    };
    if !endpoint["disabled"].is_null() {
        let words = format!(
            "{who} is disabled since {}, and hears nothing: {}{lost}",
            field(endpoint, "/disabled/at"),
            field(endpoint, "/disabled/reason"),
        );
        let cause = field(endpoint, "/disabled/cause");
        return Some((words, to_enable(&cause, &id)));
    }
    if let Some(why) = endpoint["silent"].as_str() {
        let words = format!("{who} is enabled, and hears nothing: {why}{lost}");
        let help =
            "what it says is what to do; events wait in the log, so that none is missing then";
        return Some((words, help.to_owned()));
    }
    if !endpoint["trying"].is_null() {
        let words = format!(
            "{who} falls behind: it did not take the event at position {} in {}; the next is at {}{lost}",
            field(endpoint, "/trying/position"),
            counted(attempts(endpoint), "attempt"),
            field(endpoint, "/trying/next_attempt_at"),
        );
        let help = format!(
            "everything after it waits. `holdpoint webhooks deliveries {id}` says what it answered; \
             `holdpoint webhooks change {id} --url URL` where it has moved"
        );
        return Some((words, help));
    }
    (0 < given_up).then(|| {
        let words = format!("{who} works{lost}");
        let help = format!(
            "`holdpoint webhooks deliveries {id}` lists them; `holdpoint webhooks redeliver MESSAGE` \
             sends one again"
        );
        (words, help)
    })
}

fn attempts(endpoint: &Value) -> usize {
    let made = endpoint.pointer("/trying/attempts").and_then(Value::as_u64);
    made.and_then(|made| usize::try_from(made).ok())
        .unwrap_or_default()
}

/// What to do about an endpoint that was disabled, by the cause.
fn to_enable(cause: &str, id: &str) -> String {
    let enable = format!("`holdpoint webhooks enable {id} --reason …`");
    let first = match cause {
        "gone" => format!(
            "its receiver wants no messages: `holdpoint webhooks rm {id} --reason …`, or give it the \
             right address (`holdpoint webhooks change {id} --url URL`) and then {enable}"
        ),
        "exhausted" => {
            format!("mend the receiver (`holdpoint webhooks test {id}` tries it), then {enable}")
        }
        "owner_lost" => format!(
            "its owner may not act any more: make another one for somebody who may, and \
             `holdpoint webhooks rm {id} --reason …`"
        ),
        "secret_lost" => format!(
            "webhook.key in the data folder is another one than before: put the old file back, or \
             `holdpoint webhooks rotate {id}` and tell the receiver; then {enable}"
        ),
        _ => format!("when it should hear again: {enable}"),
    };
    format!("{first}. It goes on where it stood, so that no event is missing")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn endpoint() -> Value {
        json!({ "id": "whk_1", "name": "orders", "disabled": null, "trying": null })
    }

    fn told(seen: &Seen) -> String {
        trouble(seen).map_or_else(String::new, |(words, help)| format!("{words} -> {help}"))
    }

    #[test]
    fn an_endpoint_that_takes_everything_is_not_worth_a_word() {
        let kept = vec![
            json!({ "status": "delivered", "position": 7 }),
            json!({ "status": "pending", "position": 8 }),
            json!({ "status": "failed", "position": null }),
        ];
        assert_eq!(told(&(endpoint(), kept)), "");
    }

    #[test]
    fn each_cause_of_a_disabled_endpoint_says_what_to_do_about_it() {
        let expected = [
            ("person", "webhooks enable whk_1"),
            ("gone", "webhooks rm whk_1"),
            ("exhausted", "webhooks test whk_1"),
            ("owner_lost", "for somebody who may"),
            ("secret_lost", "webhooks rotate whk_1"),
        ];
        for (cause, help) in expected {
            let mut one = endpoint();
            one["disabled"] = json!({ "cause": cause, "reason": "words", "at": "then" });
            let told = told(&(one, Vec::new()));
            assert!(
                told.contains("since then") && told.contains("words"),
                "{told}"
            );
            assert!(told.contains(help), "{told}");
        }
    }

    #[test]
    fn i27_one_that_is_enabled_and_hears_nothing_says_why() {
        let mut one = endpoint();
        one["silent"] = json!("no webhooks are sent: there is no key");
        let told = told(&(one, Vec::new()));
        assert!(
            told.contains("enabled, and hears nothing: no webhooks"),
            "{told}"
        );
    }

    #[test]
    fn one_that_falls_behind_and_messages_that_were_given_up_are_told() {
        let mut one = endpoint();
        one["trying"] = json!({ "position": 42, "attempts": 3, "next_attempt_at": "soon" });
        let failed = vec![json!({ "status": "failed", "position": 7 })];
        let behind = told(&(one, failed.clone()));
        for words in ["position 42 in 3 attempts", "soon", "1 message given up"] {
            assert!(behind.contains(words), "{behind}");
        }
        let works = told(&(endpoint(), failed));
        assert!(
            works.contains("works") && works.contains("redeliver"),
            "{works}"
        );
    }
}
