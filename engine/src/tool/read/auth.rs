//! Reading how a call proves who we are.

use std::path::Path;

use ::http::HeaderName;

use crate::tool::fields::{Fields, Place};
use crate::tool::http::{Auth, SecretRef};
use crate::tool::problem::Report;

pub(super) fn auth(place: &Place<'_>, base: &Path, report: &mut Report<'_>) -> Option<Auth> {
    let fields = Fields::open(place, &["bearer", "basic", "header"], report)?;
    let kinds = ["bearer", "basic", "header"];
    let &[kind] = kinds
        .into_iter()
        .filter(|kind| fields.get(kind).is_some())
        .collect::<Vec<_>>()
        .as_slice()
    else {
        let help =
            "for instance \"auth\": { \"bearer\": { \"file\": \"secrets/token\" } }".to_owned();
        report.wrong_key(
            &place.pointer,
            "auth is one of bearer, basic, header",
            Some(help),
        );
        return None;
    };
    let place = fields.get(kind)?;
    match kind {
        "bearer" => secret(&place, base, report).map(Auth::Bearer),
        "basic" => {
            let fields = Fields::open(&place, &["user", "password"], report)?;
            let user = fields
                .require("user", report)
                .and_then(|place| place.text(report))?;
            if user.contains(':') {
                report.wrong(
                    &fields.at("user"),
                    "the name of a user has no colon in basic authentication",
                    None,
                );
            }
            let password = fields
                .require("password", report)
                .and_then(|place| secret(&place, base, report))?;
            Some(Auth::Basic {
                user: user.to_owned(),
                password,
            })
        }
        _ => {
            let fields = Fields::open(&place, &["name", "value"], report)?;
            let name = fields
                .require("name", report)
                .and_then(|place| place.text(report))?;
            if HeaderName::from_bytes(name.as_bytes()).is_err() {
                report.wrong(
                    &fields.at("name"),
                    format!("{name:?} is not the name of a header"),
                    None,
                );
            }
            let value = fields
                .require("value", report)
                .and_then(|place| secret(&place, base, report))?;
            Some(Auth::Header {
                name: name.to_owned(),
                value,
            })
        }
    }
}

fn secret(place: &Place<'_>, base: &Path, report: &mut Report<'_>) -> Option<SecretRef> {
    if place.value.is_string() {
        let help = "secrets stand in files: { \"file\": \"secrets/token\" }".to_owned();
        report.wrong(
            &place.pointer,
            "a secret does not stand in this file",
            Some(help),
        );
        return None;
    }
    let fields = Fields::open(place, &["file"], report)?;
    let name = fields
        .require("file", report)
        .and_then(|place| place.text(report))?;
    if name.is_empty() {
        report.wrong(&fields.at("file"), "the name of the file is missing", None);
        return None;
    }
    Some(SecretRef {
        name: name.to_owned(),
        path: base.join(name),
    })
}
