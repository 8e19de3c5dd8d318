//! The functions that a program registers.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;

use super::context::Context;
use super::error::Failure;

type Running = Pin<Box<dyn Future<Output = Result<Value, Failure>> + Send>>;

/// A registered function.
pub(super) type Function = Arc<dyn Fn(Context, Value) -> Running + Send + Sync>;

/// Functions by name and version.
///
/// A run is finished by the version that began it, so a version stays registered for as long as there
/// are runs of it; what is changed in a way that an open run would notice is a new version.
#[derive(Clone, Default)]
pub struct Workflows {
    functions: BTreeMap<String, BTreeMap<u32, Function>>,
}

impl Workflows {
    /// Registers a function under a name and a version. New runs take the highest version.
    #[must_use]
    pub fn with<F, Fut>(mut self, name: impl Into<String>, version: u32, function: F) -> Self
    where
        F: Fn(Context, Value) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, Failure>> + Send + 'static,
    {
        let boxed: Function = Arc::new(move |context, input| Box::pin(function(context, input)));
        let versions = self.functions.entry(name.into()).or_default();
        versions.insert(version, boxed);
        self
    }

    /// The names, each with its versions.
    pub fn iter(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = u32> + '_)> {
        let all = self.functions.iter();
        all.map(|(name, versions)| (name.as_str(), versions.keys().copied()))
    }

    pub(super) fn get(&self, name: &str, version: u32) -> Option<Function> {
        self.functions.get(name)?.get(&version).cloned()
    }

    /// The version that a new run takes; else what is wrong.
    pub(super) fn resolve(&self, name: &str, version: Option<u32>) -> Result<u32, String> {
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
