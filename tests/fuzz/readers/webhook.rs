//! Webhook endpoints: a URL, a name and an answer; what is sent is signed so that a receiver knows it.

use std::net::IpAddr;

use holdpoint_engine::target::Noticed;
use holdpoint_engine::target::address::{AddressKind, kind_of};
use holdpoint_engine::webhook::{DeliveryState, EVENT_TYPES, NewEndpoint};
use hyper::Uri;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use standardwebhooks::Webhook;

use super::house::house;

pub(crate) fn webhook(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut lines = text.splitn(4, '\n');
    let mut line = || lines.next().unwrap_or_default();
    let (url, name, status, retry_after) = (line(), line(), line(), line());
    let answer = status.parse().ok().map(|status: u16| Noticed {
        status,
        retry_after: Some(retry_after.to_owned()).filter(|text| !text.is_empty()),
    });
    let house = house();
    let new = NewEndpoint {
        name: name.to_owned(),
        url: url.to_owned(),
        types: [EVENT_TYPES[0].name.to_owned()].into(),
        ..NewEndpoint::default()
    };
    let made = house.wait(house.engine.create_webhook(&house.reader, new));
    let (endpoint, secret) = match made {
        Ok(made) => made,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    leads_outside_encrypted(&endpoint.url);
    house.post.will_answer(answer.clone());
    let sent = house.wait(house.engine.test_webhook(&house.reader, endpoint.id));
    let delivery = sent.expect("a test can always be sent");
    let taken = answer.is_some_and(|answer| (200..300).contains(&answer.status));
    assert_eq!(
        delivery.state == DeliveryState::Delivered,
        taken,
        "{delivery:?}"
    );
    let notice = house.post.last().expect("it was sent");
    assert_eq!(notice.url, endpoint.url);
    let headers: HeaderMap = notice
        .headers
        .iter()
        .map(|(name, value)| {
            let name: HeaderName = name.parse().expect("a name of a header");
            (name, HeaderValue::from_str(value).expect("a value of one"))
        })
        .collect();
    assert_eq!(headers["webhook-id"], delivery.id.to_string());
    let receiver = Webhook::new(secret.expose()).expect("a secret that receivers read");
    let known = |body: &str| receiver.verify(body.as_bytes(), &headers).is_ok();
    assert!(known(&notice.body), "the receiver knows who sent it");
    assert!(
        !known(&format!("{} ", notice.body)),
        "and that nothing was added"
    );
    house
        .wait(
            house
                .engine
                .delete_webhook(&house.reader, endpoint.id, "over"),
        )
        .expect("it is there");
}

/// Nobody on the way can read what goes there, as another reader of URLs sees it.
fn leads_outside_encrypted(url: &str) {
    // What a browser takes for a host is not always one for it.
    let Ok(uri) = url.parse::<Uri>() else {
        return;
    };
    let host = uri.host().unwrap_or_default();
    assert!(!host.is_empty(), "{url}");
    let authority = uri.authority().map_or("", |all| all.as_str());
    assert!(!authority.contains('@'), "{url}");
    if uri.scheme_str() == Some("https") {
        return;
    }
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let is_public = match bare.parse::<IpAddr>() {
        Ok(address) => kind_of(address) == AddressKind::Public,
        // What ends in a number is an address in an odd notation.
        Err(_) => bare
            .trim_end_matches('.')
            .rsplit_once('.')
            .is_some_and(|(_, last)| !last.starts_with(|first: char| first.is_ascii_digit())),
    };
    assert!(!is_public, "{url} is read on the way");
}
