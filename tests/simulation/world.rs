//! The world of one seed: clock, disk, bank, people, and the process that is under test.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use axum::Router;
use holdpoint_engine::engine::{Engine, Options, WebhookOptions};
use holdpoint_engine::full;
use holdpoint_engine::identity::Principal;
use holdpoint_engine::webhook::SigningKey;
use holdpoint_storage::{EventLog, MemoryLog};
use holdpoint_web::{AppState, WebConfig, router};

use crate::bank::{Bank, Line, secret_of};
use crate::clock::SimClock;
use crate::copies::Copies;
use crate::dice::Dice;
use crate::disk::{Parts, SimDisk};
use crate::eyes::Eyes;
use crate::hooks::Post;
use crate::people::People;
use crate::safe::Safe;
use crate::tools;
use crate::watch::Watch;
use crate::weather::{Fault, Weather};

/// More than a simulation can ask for in a second of real time: the limits on requests are measured
/// by the clock of the machine, and are not what is tested here.
const REQUESTS_PER_SECOND: u32 = 1_000_000;

/// What is broken on purpose, to see that the checks find it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Broken {
    #[default]
    Nothing,
    /// The disk says that something is durable before it is.
    Disk,
    /// The source of truth never finds anything.
    Source,
    /// The log says that it is paused, and the engine does not look.
    Switch,
    /// One message in ten is lost, and answered as if it had been taken.
    Post,
    /// A message that was taken is sent once more.
    PostTwice,
    /// The engine overlooks half of what the source of truth is to be asked about.
    Forgets,
    /// Each request arrives twice, whether or not the key is kept.
    Twice,
    /// One message in ten is changed on its way.
    Forged,
    /// The engine is told that a write succeeded that failed.
    Deaf,
    /// The engine shows nobody what is unknown.
    Hides,
    /// The engine overlooks what was on its way in a copy of the log.
    ForgetsCopies,
}

/// The process under test.
struct Process {
    engine: Engine,
    router: Router,
}

/// The world. See the [module](self).
pub(crate) struct World {
    pub(crate) dice: Dice,
    pub(crate) clock: Arc<SimClock>,
    pub(crate) weather: Arc<Weather>,
    pub(crate) bank: Arc<Bank>,
    pub(crate) safe: Arc<Safe>,
    entropy: Arc<Dice>,
    /// Of the way to webhook endpoints.
    pub(crate) post: Dice,
    /// How many webhook endpoints there are.
    pub(crate) ears: u64,
    key: SigningKey,
    pub(crate) broken: Broken,
    parts: Parts,
    watch: Mutex<Watch>,
    people: Mutex<People>,
    pub(crate) copies: Arc<Copies>,
    disk: Mutex<Arc<SimDisk>>,
    process: Mutex<Option<Process>>,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    pub(crate) fn new(seed: u64, broken: Broken) -> Arc<Self> {
        let clock = Arc::new(SimClock::default());
        let weather = Arc::new(Weather::drawn(&Dice::new(seed, "weather")));
        let parts = Parts {
            dice: Arc::new(Dice::new(seed, "disk")),
            weather: Arc::clone(&weather),
            clock: Arc::clone(&clock),
            lies: broken == Broken::Disk,
        };
        let safe = Arc::new(Safe::new(Dice::new(seed, "safe"), Arc::clone(&weather)));
        // The bank tells the world of each request, and the world asks the bank for the truth.
        let known: Arc<OnceLock<Weak<Self>>> = Arc::default();
        let told = Arc::clone(&known);
        let bank = Arc::new(Bank::new(
            Dice::new(seed, "bank"),
            Arc::clone(&weather),
            Arc::clone(&clock),
            Arc::clone(&safe),
            broken,
            Box::new(move |books, outgoing, key| {
                let Some(world) = told.get().and_then(Weak::upgrade) else {
                    return 0;
                };
                let disk = world.disk();
                let mut watch = held(&world.watch);
                watch.pull(disk.durable(), books);
                let secret = secret_of(outgoing);
                let version = secret.map(|secret| world.safe.version_of(secret));
                watch.must_be_named(key, version.as_deref());
                watch.sends(books, outgoing, key, disk.failure())
            }),
        ));
        let disk = SimDisk::over(MemoryLog::new(), parts.clone());
        let world = Arc::new(Self {
            dice: Dice::new(seed, "deeds"),
            clock,
            weather,
            bank,
            safe,
            entropy: Arc::new(Dice::new(seed, "entropy")),
            ears: match Dice::new(seed, "ears").below(1000) {
                0..150 => 1,
                150..330 => 2,
                _ => 0,
            },
            key: SigningKey::random(&Dice::new(seed, "key")).expect("dice never fail"),
            post: Dice::new(seed, "post"),
            broken,
            parts,
            watch: Mutex::default(),
            people: Mutex::default(),
            copies: Arc::default(),
            disk: Mutex::new(Arc::new(disk)),
            process: Mutex::default(),
        });
        drop(known.set(Arc::downgrade(&world)));
        world
    }

    pub(crate) fn watch(&self) -> MutexGuard<'_, Watch> {
        held(&self.watch)
    }

    pub(crate) fn people(&self) -> MutexGuard<'_, People> {
        held(&self.people)
    }

    pub(crate) fn disk(&self) -> Arc<SimDisk> {
        Arc::clone(&held(&self.disk))
    }

    pub(crate) fn router(&self) -> Option<Router> {
        held(&self.process)
            .as_ref()
            .map(|process| process.router.clone())
    }

    pub(crate) fn engine(&self) -> Option<Engine> {
        held(&self.process)
            .as_ref()
            .map(|process| process.engine.clone())
    }

    /// The engine, and the administrator who looks after it.
    pub(crate) fn administered(&self) -> Option<(Engine, Principal)> {
        let root = self.people().ids.get("root").cloned()?;
        let engine = self.engine()?;
        let by = engine.identity().principal(&root)?;
        Some((engine, by))
    }

    pub(crate) fn strikes(&self, fault: Fault) -> bool {
        self.weather.strikes(fault, &self.dice)
    }

    /// What must hold when everything is quiet.
    pub(crate) fn conserve(&self) {
        let books = self.bank.books();
        if self.watch().conserve(&books) {
            self.weather.count(Fault::Doubled);
        }
        drop(books);
        self.must_not_keep();
    }

    /// An engine whose disk takes and gives what it is asked to does not stop by itself: neither a
    /// full disk nor a read that fails ends it (I22, I27).
    pub(crate) fn must_be_ready(&self) {
        let ready = self.engine().map_or(Ok(()), |engine| engine.ready());
        if let Err(why) = ready
            && why != full::WORDS
            && !self.disk().has_stopped()
        {
            self.fail(format!("I27: the engine stopped by itself: {why}"));
        }
    }

    pub(crate) fn note(&self, line: impl std::fmt::Display) {
        let at = self.clock.true_ms();
        self.watch().note(format!("{at} {line}"));
    }

    pub(crate) fn fail(&self, what: String) {
        self.watch().fail(what);
    }

    /// Reads what has become durable, and checks it.
    pub(crate) fn pull(&self) {
        let disk = self.disk();
        let books = self.bank.books();
        self.watch().pull(disk.durable(), &books);
    }

    /// Starts the process over what the disk holds; somebody confirms that it is the log, or does not.
    pub(crate) async fn start(
        self: &Arc<Self>,
        tools: usize,
        confirm_restore: bool,
    ) -> Result<(), String> {
        let options = Options {
            confirm_restore,
            clock: Arc::clone(&self.clock) as Arc<_>,
            entropy: Arc::clone(&self.entropy) as Arc<_>,
            target: Some(Arc::new(Line(Arc::clone(&self.bank)))),
            secrets: Some(Arc::clone(&self.safe) as Arc<_>),
            calls_max: 8,
            webhooks: WebhookOptions {
                key: Ok(self.key.clone()),
                public_url: None,
                notifier: Some(Arc::new(Post(Arc::downgrade(self)))),
            },
            ..Options::default()
        };
        let log: Arc<dyn EventLog> = Arc::new(Eyes {
            disk: self.disk(),
            parts: self.parts.clone(),
            copies: Arc::clone(&self.copies),
            broken: self.broken,
        });
        let engine = Engine::open(log, tools::registry(tools), options)
            .await
            .map_err(|error| format!("{error}: {:?}", std::error::Error::source(&error)))?;
        let config = WebConfig {
            requests_per_second: REQUESTS_PER_SECOND
                .try_into()
                .unwrap_or(std::num::NonZeroU32::MAX),
            ..WebConfig::default()
        };
        let router = router(AppState::new(engine.clone(), config, None));
        *held(&self.process) = Some(Process { engine, router });
        Ok(())
    }

    /// The process is gone; what was on its way to the disk is lost or kept. To be called when
    /// nothing of it runs any more.
    pub(crate) fn bury(&self) {
        *held(&self.process) = None;
        let left = self.disk().crash();
        self.put(left);
        self.watch().switch.bury();
        self.watch().ears.bury();
        self.pull();
        self.watch().people.bury();
    }

    /// The next process finds this log.
    pub(crate) fn put(&self, log: MemoryLog) {
        let disk = SimDisk::over(log, self.parts.clone());
        *held(&self.disk) = Arc::new(disk);
    }

    /// Forgets the process, without burying it: its runtime is about to go.
    pub(crate) fn forget_process(&self) {
        *held(&self.process) = None;
    }
}
