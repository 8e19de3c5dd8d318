//! The functions that a program registers.

use std::collections::BTreeMap;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::context::Context;
use super::error::Failure;
use super::words_of_panic;

type Running = Pin<Box<dyn Future<Output = Result<Value, Failure>> + Send>>;
type Calling = Arc<dyn Fn(Context, Value) -> Running + Send + Sync>;

/// A registered function.
#[derive(Clone)]
pub(in crate::run) struct Function {
    /// Whether the input is one that it reads; else why not.
    pub(in crate::run) check: fn(&Value) -> Result<(), String>,
    /// Calls it.
    pub(in crate::run) call: Calling,
}

/// Functions by name and version.
///
/// A run is finished by the version that began it, so a version stays registered for as long as there
/// are runs of it; what is changed in a way that an open run would notice is a new version.
#[derive(Clone, Default)]
pub struct Workflows {
    functions: BTreeMap<String, BTreeMap<u32, Function>>,
}

impl Workflows {
    /// Registers a function under a name and a version, in place of the one that was there. New runs take
    /// the highest version. What it takes and answers is any type that serde reads and writes;
    /// [`Value`] for any JSON. An input that cannot be read as that type is refused before there is a run.
    #[must_use]
    pub fn with<I, O, F, Fut>(mut self, name: impl Into<String>, version: u32, function: F) -> Self
    where
        I: DeserializeOwned + 'static,
        O: Serialize + 'static,
        F: Fn(Context, I) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, Failure>> + Send + 'static,
    {
        let call: Calling = Arc::new(move |context, input| match read::<I>(&input) {
            Ok(input) => {
                let running = function(context, input);
                Box::pin(async move { Ok(serde_json::to_value(running.await?)?) })
            }
            Err(message) => Box::pin(async move { Err(Failure::Message(message)) }),
        });
        let check = |input: &Value| {
            let read = AssertUnwindSafe(|| read::<I>(input).map(|_| ()));
            catch_unwind(read).unwrap_or_else(|panic| {
                let words = words_of_panic(panic.as_ref());
                Err(format!("an input at whose reading {words}"))
            })
        };
        let versions = self.functions.entry(name.into()).or_default();
        versions.insert(version, Function { check, call });
        self
    }

    /// The names, each with its versions.
    pub fn iter(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = u32> + '_)> {
        let all = self.functions.iter();
        all.map(|(name, versions)| (name.as_str(), versions.keys().copied()))
    }

    pub(in crate::run) fn get(&self, name: &str, version: u32) -> Option<Function> {
        self.functions.get(name)?.get(&version).cloned()
    }

    /// The version that a new run takes; else what is wrong.
    pub(crate) fn resolve(&self, name: &str, version: Option<u32>) -> Result<u32, String> {
        let Some(versions) = self.functions.get(name) else {
            let near = crate::tool::nearest(name, self.functions.keys().map(String::as_str));
            let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
            return Err(format!("there is no workflow named {name}{near}"));
        };
        let version = version.or_else(|| versions.keys().next_back().copied());
        version
            .filter(|version| versions.contains_key(version))
            .ok_or_else(|| {
                let known = versions.keys().map(u32::to_string).collect::<Vec<_>>();
                format!("the workflow {name} has the versions {}", known.join(", "))
            })
    }
}

fn read<I: DeserializeOwned>(input: &Value) -> Result<I, String> {
    serde_path_to_error::deserialize(input).map_err(|error| match error.path().to_string() {
        at if at == "." => format!("the input: {}", error.inner()),
        at => format!("the input, at {at}: {}", error.inner()),
    })
}

impl std::fmt::Debug for Workflows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map()
            .entries(
                self.functions
                    .iter()
                    .map(|(name, versions)| (name, versions.keys().collect::<Vec<_>>())),
            )
            .finish()
    }
}
