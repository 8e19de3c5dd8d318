//! What the engine asks the world, and what it sends.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::aside::{self, Asides, undecided};
use super::classify::{Rules, classify};
use super::filled::{filled, fits, set_apart};
use super::local::{LocalCall, Locals};
use super::prepare::{CONNECT_TIMEOUT, add_content_type, has_header, left, outgoing, request};
use super::secrets::{self, SecretSource, Secrets};
use super::{Answer, CallError, CommitPermit, LOCAL_METHOD, Outgoing, Target};
use crate::action::{
    ActionId, AnswerBody, AttemptOutcome, Finding, Rendered, SafetyClass, SecretVersion, Snapshot,
};
use crate::canon::CanonicalJson;
use crate::limits::HEADER_BYTES_MAX;
use crate::seeded::Bug;
use crate::store::EngineTime;
use crate::time::Timestamp;
use crate::tool::{Context, Execute, HttpCall, StateView, Tool, resolve_etag};

/// How much later than its time limit a call is given up, where it has not ended by itself.
const GRACE: Duration = Duration::from_secs(1);

/// The longest `ETag` that is taken: what is longer cannot be sent back.
const ETAG_BYTES_MAX: usize = HEADER_BYTES_MAX;

/// The longest state that is kept: an approver could not take in more, and every view holds it.
pub(crate) const STATE_BYTES_MAX: usize = 256 * 1024;

/// The world, as the engine sees it.
pub(crate) struct World {
    target: Arc<dyn Target>,
    /// What calls the URLs that arguments name.
    requests: Arc<dyn Target>,
    locals: Locals,
    secrets: Arc<dyn SecretSource>,
    /// What is held beside the steps of runs.
    pub(crate) asides: Asides,
}

impl World {
    pub(crate) fn new(
        target: Arc<dyn Target>,
        requests: Arc<dyn Target>,
        locals: Locals,
        secrets: Arc<dyn SecretSource>,
    ) -> Self {
        Self {
            target,
            requests,
            locals,
            secrets,
            asides: Asides::default(),
        }
    }

    /// The version that the secret of a tool's calls is at; none where they need none, or where that
    /// cannot be seen.
    pub(crate) async fn secret_of(&self, tool: &Tool) -> Option<SecretVersion> {
        secrets::version_for(tool, self.secrets.as_ref()).await
    }

    /// Reads the state; none where the tool has no state query. Fails with words for people.
    pub(crate) async fn read_state(
        &self,
        tool: &Tool,
        ctx: &Context<'_>,
        time: &EngineTime,
    ) -> Result<Option<Snapshot>, String> {
        let Some(query) = tool.state_query() else {
            return Ok(None);
        };
        let rendered = tool.render_state(ctx).map_err(|error| error.message)?;
        let answer = self
            .read(tool, &query.http, &rendered, ctx.action_id)
            .await?;
        if !(200..300).contains(&answer.status) {
            return Err(format!(
                "the state query was answered with {}",
                answer.status
            ));
        }
        let body =
            body_of(&answer).map_err(|why| format!("the answer of the state query {why}"))?;
        if STATE_BYTES_MAX < CanonicalJson::of(&body).as_str().len() {
            return Err(format!("the state is longer than {STATE_BYTES_MAX} bytes"));
        }
        let etag = answer.etag.filter(|etag| etag.len() <= ETAG_BYTES_MAX);
        Ok(Some(tool.snapshot(&body, etag, time.now())))
    }

    /// Asks the source of truth.
    pub(crate) async fn ask(&self, tool: &Tool, ctx: &Context<'_>) -> Finding {
        match self.try_ask(tool, ctx).await {
            Ok(finding) => finding,
            Err(message) => Finding::Inconclusive { message },
        }
    }

    async fn try_ask(&self, tool: &Tool, ctx: &Context<'_>) -> Result<Finding, String> {
        let Some(check) = tool.check() else {
            return Err("the tool has no check any more".to_owned());
        };
        let rendered = tool.render_check(ctx).map_err(|error| error.message)?;
        let answer = self
            .read(tool, &check.http, &rendered, ctx.action_id)
            .await?;
        // Only these can speak of the effect. All others speak of the way there, of our credential
        // or of the question itself, and a rule such as `status == 200` would take them for a no.
        if !matches!(answer.status, 200..=299 | 404 | 410) {
            return Err(format!("the check was answered with {}", answer.status));
        }
        let body = body_of(&answer).map_err(|why| format!("the answer of the check {why}"));
        let body = match body {
            Ok(body) => body,
            // A "not found" page need not be JSON; the rule may look at the status alone.
            Err(_) if matches!(answer.status, 404 | 410) => Value::Null,
            Err(message) => return Err(message),
        };
        let evidence = answer.body.evidence();
        let happened = tool
            .happened(answer.status, &body, ctx)
            .map_err(|error| error.to_string())?;
        Ok(if happened {
            Finding::Happened { evidence }
        } else {
            Finding::NotFound { evidence }
        })
    }

    /// Calls an idempotent tool. A repeat does no harm, so there is no permit.
    pub(crate) async fn call_idempotent(
        &self,
        tool: &Tool,
        rendered: &Rendered,
        ctx: Context<'_>,
        (id, timeout): (ActionId, Duration),
    ) -> AttemptOutcome {
        assert_eq!(tool.class, SafetyClass::Idempotent);
        let call = Call {
            id,
            rendered,
            etag: ctx.state.and_then(|state| state.etag),
            ctx,
            key: "",
            secret: None,
            secrets: self.asides.secrets(id),
            until: Instant::now() + timeout,
            permit: None,
        };
        self.execute(tool, call).await.0
    }

    /// Sends an attempt: the only function that sends what is not idempotent. Answers what became of it, and
    /// the body of the answer where there was one.
    pub(crate) async fn send(
        &self,
        permit: CommitPermit,
        tool: &Tool,
        time: &EngineTime,
    ) -> (AttemptOutcome, Option<AnswerBody>) {
        let not_delivered = |message: &str| {
            let message = message.to_owned();
            (AttemptOutcome::NotDelivered { message }, None)
        };
        let now = time.now();
        // The commit record may have taken long to become durable (invariant I9).
        if let Some(why) = too_late(&permit, now) {
            return not_delivered(why);
        }
        let until = Instant::now() + permit.send_deadline().since(now);
        let proposal = &permit.action().proposal;
        let secrets = match self.asides.to_send(permit.action(), permit.is_resend()) {
            Ok(secrets) => secrets,
            Err(why) => return not_delivered(&why),
        };
        if let Some(why) = undecided(tool, permit.action()) {
            return not_delivered(&why);
        }
        let args = proposal.args.value();
        let snapshot = permit.action().snapshot.as_ref();
        let state = snapshot.map(|snapshot| (snapshot.state.value(), snapshot.etag.as_deref()));
        let call = Call {
            id: permit.action().id,
            rendered: permit.request(),
            etag: permit.etag(),
            ctx: Context {
                args: &args,
                caller: &proposal.caller,
                state: state
                    .as_ref()
                    .map(|(body, etag)| StateView { body, etag: *etag }),
                action_id: Some(permit.action().id),
                idempotency_key: Some(&proposal.idempotency_key),
            },
            key: &proposal.idempotency_key,
            secret: permit.secret(),
            secrets,
            until,
            permit: Some((&permit, time)),
        };
        self.execute(tool, call).await
    }

    async fn execute(&self, tool: &Tool, call: Call<'_>) -> (AttemptOutcome, Option<AnswerBody>) {
        let not_delivered = |message: String| (AttemptOutcome::NotDelivered { message }, None);
        let secrets = call.secrets;
        let Call {
            rendered, until, ..
        } = call;
        let http = match &tool.execute {
            Execute::Local(name) => {
                assert_eq!(rendered.method, LOCAL_METHOD);
                let args = match secrets.fill(call.ctx.args) {
                    Ok(args) => args,
                    Err(error) => return not_delivered(error.message),
                };
                if let Err(message) = fits(tool, &args, &secrets) {
                    return not_delivered(message);
                }
                let local = LocalCall {
                    args,
                    idempotency_key: call.key.to_owned(),
                };
                let outcome = self.locals.call(name, local, left(until)).await;
                return (aside::without_secrets(outcome, &secrets), None);
            }
            Execute::Worker => {
                return not_delivered("a worker pulls the calls of this tool".to_owned());
            }
            Execute::Request(_) => None,
            Execute::Http(http) => Some(http),
        };
        let with = match filled(tool, &call.ctx, rendered, &secrets) {
            Ok(with) => with,
            Err(message) => return not_delivered(message),
        };
        let sent = with.as_ref().unwrap_or(rendered);
        let prepared = match http {
            Some(http) => outgoing(http, sent, self.secrets.as_ref(), until).await,
            None => request(sent, until),
        };
        let (mut outgoing, mut hidden) = match prepared {
            Ok(prepared) => prepared,
            Err(message) => return not_delivered(message),
        };
        if tool.class != SafetyClass::Idempotent && call.secret != hidden.version() {
            let message = "the secret changed after the commit record named its version";
            return not_delivered(message.to_owned());
        }
        if http.is_some_and(HttpCall::sends_state_etag) {
            let Some(etag) = call.etag else {
                return not_delivered("the state has no ETag to send along".to_owned());
            };
            outgoing.headers = resolve_etag(sent, etag);
            add_content_type(&mut outgoing, sent);
        }
        set_apart(&mut outgoing, rendered, sent);
        hidden.add_inputs(&secrets);
        let if_match = has_header(&outgoing.headers, "if-match");
        let target = if http.is_some() {
            &self.target
        } else {
            &self.requests
        };
        // The secret may have taken long to be read, or the machine may have slept meanwhile: the steady
        // clock does not count that.
        if let Some((permit, time)) = call.permit
            && let Some(why) = too_late(permit, time.now())
        {
            return not_delivered(why.to_owned());
        }
        let seen = call_once(target.as_ref(), outgoing, &hidden, until).await;
        if let Ok(answer) = &seen {
            self.asides.hear(call.id, answer);
        }
        let rules = Rules {
            success: &tool.success,
            refused: &tool.refused,
            keyed: tool.class != SafetyClass::Idempotent,
            if_match,
            fits: &|body| tool.result_fits(body),
        };
        let body = seen.as_ref().ok().map(|answer| answer.body.as_it_came());
        (classify(seen, &rules), body)
    }

    async fn read(
        &self,
        tool: &Tool,
        call: &HttpCall,
        rendered: &Rendered,
        id: Option<ActionId>,
    ) -> Result<Answer, String> {
        assert_eq!(rendered.method, "GET", "reading changes nothing");
        let until = Instant::now() + tool.timeout;
        let source = self.secrets.as_ref();
        let (mut outgoing, mut hidden) = outgoing(call, rendered, source, until).await?;
        if let Some(id) = id {
            // What was sent may be what is read.
            hidden.add_inputs(&self.asides.secrets(id));
        }
        // A cache could answer with what was true before.
        outgoing
            .headers
            .push(("Cache-Control".to_owned(), "no-cache".to_owned()));
        if !has_header(&outgoing.headers, "accept") {
            outgoing
                .headers
                .push(("Accept".to_owned(), "application/json".to_owned()));
        }
        let seen = call_once(self.target.as_ref(), outgoing, &hidden, until).await;
        seen.map_err(|error| match error {
            CallError::NotDelivered(message) | CallError::Unknown(message) => message,
        })
    }
}

/// Makes one call. Nothing leaves once the time is over, nobody waits much longer than that,
/// and no secret comes back in the answer.
async fn call_once(
    target: &dyn Target,
    mut outgoing: Outgoing,
    secrets: &Secrets,
    until: Instant,
) -> Result<Answer, CallError> {
    outgoing.timeout = left(until);
    if outgoing.timeout.is_zero() {
        let message = "the time to send it was over before it could be sent";
        return Err(CallError::NotDelivered(message.to_owned()));
    }
    outgoing.connect_timeout = CONNECT_TIMEOUT.min(outgoing.timeout);
    if Bug::ReencodeAfterDigest.is_on() {
        let read = |body: String| serde_json::from_str::<Value>(&body).ok();
        outgoing.body = outgoing.body.and_then(read).map(|body| format!("{body:#}"));
    }
    let again = Bug::RetryOnTimeout.is_on().then(|| outgoing.clone());
    let seen = tokio::time::timeout_at(until + GRACE, target.call(outgoing)).await;
    let mut seen =
        seen.unwrap_or_else(|_| Err(CallError::Unknown("there was no answer in time".to_owned())));
    if let Some(outgoing) = again.filter(|_| until <= Instant::now()) {
        seen = target.call(outgoing).await;
    }
    secrets.hide(seen)
}

/// One call, as it is to be made.
struct Call<'a> {
    id: ActionId,
    rendered: &'a Rendered,
    etag: Option<&'a str>,
    ctx: Context<'a>,
    key: &'a str,
    /// The version of the secret that the commit record names: what needs a commit record is sent with
    /// that one and with no other (invariant I16).
    secret: Option<&'a SecretVersion>,
    /// What its run was given, for the holes in its arguments.
    secrets: Arc<crate::skill::Secrets>,
    until: Instant,
    /// What it is sent by, and the time that it is held against; none where a repeat does no harm.
    permit: Option<(&'a CommitPermit, &'a EngineTime)>,
}

/// Why what has a commit record may not leave any more.
fn too_late(permit: &CommitPermit, now: Timestamp) -> Option<&'static str> {
    if permit.send_deadline() <= now {
        Some("the time to send it was over before it could be sent")
    } else if permit.action().deadline().is_some_and(|end| end <= now) {
        Some("the approval ended before it could be sent")
    } else {
        None
    }
}

fn body_of(answer: &Answer) -> Result<Value, String> {
    answer.body.strict_json()
}
