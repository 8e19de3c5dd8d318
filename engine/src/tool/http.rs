//! HTTP calls of a definition.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::template::Template;
use crate::action::Rendered;

/// What stands for the version of the state in a rendered header, until the call is sent.
pub const STATE_ETAG: &str = "{state_etag}";

/// A method of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Reads.
    Get,
    /// Creates, or does something.
    Post,
    /// Replaces.
    Put,
    /// Changes a part.
    Patch,
    /// Removes.
    Delete,
}

impl Method {
    /// Every method.
    pub const ALL: [Self; 5] = [Self::Get, Self::Post, Self::Put, Self::Patch, Self::Delete];

    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// Its key in the tools file.
    pub fn key(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
            Self::Put => "put",
            Self::Patch => "patch",
            Self::Delete => "delete",
        }
    }
}

/// Where a call goes: constant text of the definition, never a matter of the arguments (I17).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// `https`, or `http`.
    pub scheme: String,
    /// The host name or address; an IPv6 address in brackets.
    pub host: String,
    /// The port, whether it is written or not.
    pub port: u16,
}

/// A secret by name; its value is read from the file when the call is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretRef {
    /// As written in the tools file.
    pub name: String,
    /// Where it is; a relative name is taken from the folder of the tools file.
    pub path: PathBuf,
}

/// How a call proves who we are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Auth {
    /// `Authorization: Bearer …`.
    Bearer(SecretRef),
    /// `Authorization: Basic …`.
    Basic {
        /// The name of the user.
        user: String,
        /// The password.
        password: SecretRef,
    },
    /// A header of its own.
    Header {
        /// Its name.
        name: String,
        /// Its value.
        value: SecretRef,
    },
}

impl Auth {
    /// The secret it needs.
    pub fn secret(&self) -> &SecretRef {
        match self {
            Self::Bearer(secret)
            | Self::Basic {
                password: secret, ..
            }
            | Self::Header { value: secret, .. } => secret,
        }
    }
}

/// A call with placeholders.
#[derive(Clone, Debug)]
pub struct HttpCall {
    /// The method.
    pub method: Method,
    /// Where it goes.
    pub origin: Origin,
    /// How it proves who we are.
    pub auth: Option<Auth>,
    pub(super) url: Template,
    pub(super) headers: Vec<(String, Template)>,
    pub(super) body: Body,
}

impl HttpCall {
    /// Whether the version of the state travels with the call.
    pub fn sends_state_etag(&self) -> bool {
        self.headers
            .iter()
            .flat_map(|(_, value)| value.slots())
            .any(|slot| slot.root == super::template::Root::StateEtag)
    }

    pub(super) fn has_header(&self, name: &str) -> bool {
        self.headers
            .iter()
            .any(|(other, _)| other.eq_ignore_ascii_case(name))
    }
}

/// The body of a call.
#[derive(Clone, Debug)]
pub(super) enum Body {
    None,
    Json(JsonTemplate),
    Form(Vec<(String, Template)>),
}

/// A JSON value with placeholders in its strings.
#[derive(Clone, Debug)]
pub(super) enum JsonTemplate {
    Literal(Value),
    Text(Template),
    Array(Vec<JsonTemplate>),
    Object(Vec<(String, JsonTemplate)>),
}

impl JsonTemplate {
    /// Fills it by `fill`, which turns a template into the value it stands for.
    pub(super) fn fill<E>(
        &self,
        fill: &impl Fn(&Template) -> Result<Value, E>,
    ) -> Result<Value, E> {
        match self {
            Self::Literal(value) => Ok(value.clone()),
            Self::Text(template) => fill(template),
            Self::Array(items) => items.iter().map(|item| item.fill(fill)).collect(),
            Self::Object(members) => {
                let mut map = Map::new();
                for (key, value) in members {
                    map.insert(key.clone(), value.fill(fill)?);
                }
                Ok(Value::Object(map))
            }
        }
    }
}

/// The headers as they are sent: `{state_etag}` is replaced by the version that was just read.
///
/// Only a header whose whole value is `{state_etag}` is touched; arguments cannot make one, since
/// rendering refuses them there.
pub fn resolve_etag(rendered: &Rendered, etag: &str) -> Vec<(String, String)> {
    let value = |value: &String| {
        if value == STATE_ETAG {
            etag.to_owned()
        } else {
            value.clone()
        }
    };
    rendered
        .headers
        .iter()
        .map(|(name, text)| (name.clone(), value(text)))
        .collect()
}
