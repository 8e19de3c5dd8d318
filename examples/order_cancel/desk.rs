//! The desk: a log on disk, the engine with its tools and workflows, and the two people.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use holdpoint_engine::action::{Action, ActionId};
use holdpoint_engine::approval::Vote;
use holdpoint_engine::engine::{Ballot, Engine, Options, RunOptions};
use holdpoint_engine::identity::{NewPerson, Principal, Role};
use holdpoint_engine::run::event::Waiting;
use holdpoint_engine::run::{Flags, NewOrigin, NewRun, Run, RunId};
use holdpoint_engine::tool::{Format, ToolsFile};
use holdpoint_storage::{EventLog, SledLog, SledOptions};

use crate::shop::Shop;
use crate::workflow::{Wish, workflows};

/// Whatever went wrong: this is a demonstration, and prints it.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;

const TOOLS: &str = include_str!("holdpoint.json");

/// How long one look at a run waits for something new.
const LOOK: Duration = Duration::from_secs(10);

/// Holdpoint in this process.
pub(crate) struct Desk {
    engine: Engine,
    folder: PathBuf,
    shop: Shop,
    clerk: Principal,
    approver: Principal,
}

/// Where a run stands when somebody must do something.
pub(crate) enum Stand {
    /// A person must decide on this action.
    Waits(Box<Action>),
    /// It is over.
    Over(Arc<Run>),
}

impl Desk {
    /// Opens the log in the folder, and goes on with the runs that are open in it.
    pub(crate) async fn open(folder: &Path, shop: Shop) -> Result<Self, Failure> {
        let tools = ToolsFile::from_str(TOOLS, Format::Json)?;
        let path = folder.join("log");
        let open = move || SledLog::open(path, &SledOptions::default());
        let log: Arc<dyn EventLog> = Arc::new(tokio::task::spawn_blocking(open).await??);
        let options = Options {
            locals: shop.locals(),
            runs: RunOptions {
                workflows: workflows(),
                resume: true,
                ..RunOptions::default()
            },
            ..Options::default()
        };
        let engine = Engine::open(log, Arc::new(tools.registry), options).await?;
        Ok(Self {
            clerk: person(&engine, "Rita", Role::Requester).await?,
            approver: person(&engine, "Fiona", Role::Approver).await?,
            folder: folder.to_owned(),
            engine,
            shop,
        })
    }

    /// The shop behind the tools.
    pub(crate) fn shop(&self) -> &Shop {
        &self.shop
    }

    /// Stops, and starts again on the same folder, as after a new release of the program.
    pub(crate) async fn restart(self) -> Result<Self, Failure> {
        let (folder, shop) = (self.folder.clone(), self.shop.clone());
        self.close().await;
        Self::open(&folder, shop).await
    }

    /// Stops; what is open stays so.
    pub(crate) async fn close(self) {
        self.engine.shutdown(LOOK).await;
    }

    /// The clerk starts the workflow.
    pub(crate) async fn cancel_order(&self, wish: &Wish) -> Result<RunId, Failure> {
        let new = NewRun {
            what: NewOrigin::Code {
                name: "order_cancel".to_owned(),
                version: None,
                input: serde_json::to_value(wish)?,
            },
            flags: Flags::default(),
            unattended: true,
            schedule: None,
            continues: None,
        };
        Ok(self.engine.start_run(&self.clerk, new).await?.id)
    }

    /// Waits until somebody must do something about the run, or it is over.
    pub(crate) async fn stand(&self, id: RunId) -> Result<Stand, Failure> {
        let mut run = self.engine.run(&self.clerk, id)?;
        loop {
            if run.ended.is_some() {
                return Ok(Stand::Over(run));
            }
            let mut open = run.steps.iter().filter_map(|step| step.open());
            if let Some((action, Waiting::Approval)) = open.find_map(|made| made.waiting) {
                let view = self.engine.get(&self.clerk, action)?;
                return Ok(Stand::Waits(Box::new(view.action)));
            }
            run = self
                .engine
                .wait_run(&self.clerk, id, run.events, LOOK)
                .await?;
        }
    }

    /// The approver decides on what they saw.
    pub(crate) async fn vote(&self, action: &Action, vote: Vote) -> Result<(), Failure> {
        let ballot = Ballot {
            vote,
            reason: (vote == Vote::Reject).then(|| "the customer has kept it".to_owned()),
            revision: action.revision,
            digest: action.proposal.digest,
            snapshot_digest: action.snapshot.as_ref().map(|state| state.digest),
        };
        self.engine.vote(&self.approver, action.id, ballot).await?;
        Ok(())
    }

    /// Waits until the run has left the action behind.
    pub(crate) async fn after(&self, id: RunId, decided: ActionId) -> Result<Stand, Failure> {
        loop {
            match self.stand(id).await? {
                Stand::Waits(action) if action.id == decided => {
                    let known = self.engine.run(&self.clerk, id)?.events;
                    self.engine.wait_run(&self.clerk, id, known, LOOK).await?;
                }
                stand => return Ok(stand),
            }
        }
    }
}

/// The person of that name, entered where they are not there yet.
async fn person(engine: &Engine, name: &str, role: Role) -> Result<Principal, Failure> {
    let email = format!("{name}@example.com");
    let people = engine.identity();
    let person = if let Some(person) = people.person_by_email(&email) {
        person
    } else {
        let new = NewPerson {
            email,
            name: name.to_owned(),
            roles: BTreeSet::from([role]),
            groups: BTreeSet::new(),
            scopes: BTreeSet::new(),
            attributes: BTreeMap::new(),
            password: None,
        };
        people
            .create_person("cli:order-cancel-example", new)
            .await?
    };
    Ok(people
        .principal(&person.id)
        .ok_or("the person cannot act")?)
}
