//! The API for people to read: pages made from the OpenAPI document and the list of problems, with
//! nothing from anywhere else.

use askama::Template;
use axum::response::{Html, IntoResponse, Response};
use http::header::CONTENT_TYPE;
use utoipa::openapi::path::{Operation, Parameter, ParameterIn};
use utoipa::openapi::{OpenApi, PathItem, Ref, RefOr, Schema};

use crate::problem::{Code, Problem};

const STYLE: &str = include_str!("docs.css");

#[derive(Template)]
#[template(path = "docs/api.html")]
struct ApiPage<'a> {
    title: &'a str,
    about: &'a str,
    groups: Vec<Group<'a>>,
}

struct Group<'a> {
    name: &'a str,
    about: &'a str,
    routes: Vec<Route<'a>>,
}

struct Route<'a> {
    id: &'a str,
    method: &'static str,
    path: &'a str,
    title: &'a str,
    about: &'a str,
    is_open: bool,
    parameters: Vec<Param<'a>>,
    body: Vec<Member>,
    answers: Vec<Answer<'a>>,
}

pub(super) struct Param<'a> {
    pub(super) name: &'a str,
    pub(super) place: &'static str,
    is_required: bool,
    about: &'a str,
}

/// One member of a body that a route takes.
struct Member {
    name: String,
    is_required: bool,
    about: String,
}

struct Answer<'a> {
    status: &'a str,
    about: &'a str,
}

#[derive(Template)]
#[template(path = "docs/problems.html")]
struct ProblemsPage {
    codes: Vec<Explained>,
}

struct Explained {
    name: &'static str,
    statuses: Vec<String>,
    title: &'static str,
    help: Vec<&'static str>,
}

/// The API as a page
#[utoipa::path(
    get, path = "/docs", tag = "operations", operation_id = "docs",
    responses((status = 200, description = "A page", body = String, content_type = "text/html"))
)]
pub(super) async fn page() -> Result<Response, Problem> {
    let api = super::openapi();
    let page = ApiPage {
        title: &api.info.title,
        about: api.info.description.as_deref().unwrap_or_default(),
        groups: groups(api),
    };
    html(page.render())
}

/// The codes of problems as a page
#[utoipa::path(
    get, path = "/docs/problems", tag = "operations", operation_id = "docs_problems",
    responses((status = 200, description = "A page", body = String, content_type = "text/html"))
)]
pub(super) async fn problems() -> Result<Response, Problem> {
    let mut codes: Vec<Explained> = Vec::new();
    for code in Code::ALL {
        let status = code.status().to_string();
        // Some codes travel with two statuses; they are one entry, since they are one address.
        match codes.iter_mut().find(|one| one.name == code.name()) {
            Some(one) => {
                one.statuses.push(status);
                one.help.push(code.help());
            }
            None => codes.push(Explained {
                name: code.name(),
                statuses: vec![status],
                title: code.title(),
                help: vec![code.help()],
            }),
        }
    }
    html(ProblemsPage { codes }.render())
}

/// The style of these pages
#[utoipa::path(
    get, path = "/docs/style.css", tag = "operations", operation_id = "docs_style",
    responses((status = 200, description = "A style sheet", body = String, content_type = "text/css"))
)]
pub(super) async fn style() -> Response {
    ([(CONTENT_TYPE, "text/css; charset=utf-8")], STYLE).into_response()
}

fn html(rendered: askama::Result<String>) -> Result<Response, Problem> {
    rendered
        .map(|text| Html(text).into_response())
        .map_err(|error| {
            tracing::error!(%error, "a page could not be made");
            Problem::new(
                Code::Internal,
                "the page could not be made; the log has more",
            )
        })
}

fn groups(api: &OpenApi) -> Vec<Group<'_>> {
    let tags = api.tags.as_deref().unwrap_or_default();
    tags.iter()
        .map(|tag| Group {
            name: &tag.name,
            about: tag.description.as_deref().unwrap_or_default(),
            routes: operations(api)
                .filter(|(_, _, operation)| {
                    operation
                        .tags
                        .iter()
                        .flatten()
                        .any(|name| *name == tag.name)
                })
                .map(|(path, method, operation)| route(api, path, method, operation))
                .collect(),
        })
        .collect()
}

/// Every operation of a document with its path and method.
pub(crate) fn operations(api: &OpenApi) -> impl Iterator<Item = (&str, &'static str, &Operation)> {
    api.paths.paths.iter().flat_map(|(path, item)| {
        methods(item)
            .into_iter()
            .filter_map(|(method, operation)| Some((path.as_str(), method, operation.as_ref()?)))
    })
}

fn methods(item: &PathItem) -> [(&'static str, &Option<Operation>); 5] {
    [
        ("GET", &item.get),
        ("POST", &item.post),
        ("PUT", &item.put),
        ("PATCH", &item.patch),
        ("DELETE", &item.delete),
    ]
}

fn route<'a>(
    api: &'a OpenApi,
    path: &'a str,
    method: &'static str,
    operation: &'a Operation,
) -> Route<'a> {
    let responses = operation.responses.responses.iter();
    Route {
        id: operation.operation_id.as_deref().unwrap_or_default(),
        method,
        path,
        title: operation.summary.as_deref().unwrap_or_default(),
        about: operation.description.as_deref().unwrap_or_default(),
        is_open: operation.security.is_none(),
        parameters: operation
            .parameters
            .iter()
            .flatten()
            .filter_map(parameter)
            .collect(),
        body: body(api, operation),
        answers: responses
            .filter_map(|(status, response)| match response {
                RefOr::T(response) => Some(Answer {
                    status,
                    about: &response.description,
                }),
                RefOr::Ref(_) => None,
            })
            .collect(),
    }
}

/// A parameter as it is shown; none where it is only referred to.
pub(super) fn parameter(parameter: &RefOr<Parameter>) -> Option<Param<'_>> {
    let RefOr::T(parameter) = parameter else {
        return None;
    };
    Some(Param {
        name: &parameter.name,
        place: match parameter.parameter_in {
            ParameterIn::Query | ParameterIn::QueryString => "query",
            ParameterIn::Path => "path",
            ParameterIn::Header => "header",
            ParameterIn::Cookie => "cookie",
        },
        is_required: matches!(parameter.required, utoipa::openapi::Required::True),
        about: parameter.description.as_deref().unwrap_or_default(),
    })
}

fn body(api: &OpenApi, operation: &Operation) -> Vec<Member> {
    let Some(RefOr::T(body)) = &operation.request_body else {
        return Vec::new();
    };
    let schema = body.content.values().find_map(|content| match content {
        RefOr::T(content) => content.schema.as_ref(),
        RefOr::Ref(_) => None,
    });
    let Some(Schema::Object(object)) = schema.and_then(|schema| resolve(api, schema)) else {
        return Vec::new();
    };
    object
        .properties
        .iter()
        .map(|(name, schema)| Member {
            name: name.clone(),
            is_required: object.required.contains(name),
            about: description(schema),
        })
        .collect()
}

fn description(schema: &RefOr<Schema>) -> String {
    let text = match schema {
        RefOr::T(Schema::Object(object)) => object.description.as_deref(),
        RefOr::T(Schema::Array(array)) => array.description.as_deref(),
        RefOr::T(Schema::OneOf(one)) => one.description.as_deref(),
        RefOr::Ref(Ref { description, .. }) => Some(description.as_str()),
        RefOr::T(_) => None,
    };
    text.unwrap_or_default().to_owned()
}

/// The schema itself: behind a reference, or behind "this or null".
fn resolve<'a>(api: &'a OpenApi, schema: &'a RefOr<Schema>) -> Option<&'a Schema> {
    match schema {
        RefOr::T(Schema::OneOf(one)) => one.items.iter().find_map(|item| match item {
            RefOr::Ref(_) => resolve(api, item),
            RefOr::T(_) => None,
        }),
        RefOr::T(schema) => Some(schema),
        RefOr::Ref(reference) => {
            let name = reference.ref_location.rsplit('/').next()?;
            match api.components.as_ref()?.schemas.get(name)? {
                RefOr::T(schema) => Some(schema),
                RefOr::Ref(_) => None,
            }
        }
    }
}
