//! Which addresses are called, and how few clients that takes.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;
use crate::target::{Notice, Notifier as _};

fn checked(addresses: &[&str], named: bool) -> bool {
    let found = addresses
        .iter()
        .map(|text| SocketAddr::new(text.parse().expect("an address"), 0))
        .collect();
    let allow = ["10.1.0.0/16".parse().expect("a range")];
    all_checked(found, named, &allow).is_ok()
}

#[test]
fn i17_a_name_that_leads_inside_is_not_called_not_even_at_its_public_addresses() {
    assert!(checked(&["93.184.216.34", "2606:2800:220:1::1"], false));
    assert!(checked(&["10.1.2.3"], false), "allowed by the operator");
    for inside in ["127.0.0.1", "::1", "10.2.0.1", "192.168.1.1", "fd00::1"] {
        assert!(!checked(&[inside], false), "{inside}");
        assert!(!checked(&["93.184.216.34", inside], false), "{inside}");
        assert!(!checked(&[inside, "93.184.216.34"], false), "{inside}");
    }
    assert!(!checked(&["169.254.169.254"], true), "never");
}

#[tokio::test]
async fn i17_a_name_is_looked_up_once_so_a_second_answer_gains_nothing() {
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let rebinding = || async {
        let before = asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let address: IpAddr = ["93.184.216.34", "127.0.0.1"][before.min(1)]
            .parse()
            .expect("an address");
        Ok(vec![SocketAddr::new(address, 0)])
    };
    let called = checked_addresses(false, rebinding, &[]).await;
    let called = called.expect("the first answer may be called");
    let inside = called.iter().find(|socket| socket.ip().is_loopback());
    assert_eq!(inside, None, "what is called was not checked");
    assert_eq!(asked.into_inner(), 1, "look-ups");
}

#[tokio::test]
async fn i17_localhost_is_named_by_the_definition_and_other_names_for_it_are_not() {
    let resolver = CheckedResolver {
        allow: Vec::new(),
        trusts_names: true,
        lookup: Arc::new(look_up),
    };
    let resolve = |name: &str| resolver.resolve(name.parse().expect("a name"));
    assert!(resolve("localhost").await.is_ok());
    assert!(resolve("localhost.").await.is_err());
}

fn notice(url: String) -> Notice {
    Notice {
        url,
        headers: Vec::new(),
        body: "{}".to_owned(),
        timeout: Duration::from_secs(10),
    }
}

#[tokio::test]
async fn i17_a_name_that_turns_inward_between_two_messages_is_not_called_again() {
    let receiver = tokio::net::TcpListener::bind("127.0.0.1:0").await;
    let receiver = receiver.expect("a free port");
    let port = receiver.local_addr().expect("bound").port();
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = receiver.accept().await {
            let mut asked = [0; 1024];
            let _ = connection.read(&mut asked).await;
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            let _ = connection.write_all(answer).await;
        }
    });
    let network = NetworkOptions {
        allow: vec!["127.0.0.1/32".parse().expect("a range")],
    };
    let answers = Mutex::new(vec![
        "169.254.169.254",
        "10.0.0.1",
        "127.0.0.2",
        "127.0.0.1",
    ]);
    let lookup: Lookup = Arc::new(move |_| {
        let next = answers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let address = next.and_then(|text| text.parse().ok()).expect("an address");
        Box::pin(async move { Ok(vec![SocketAddr::new(address, 0)]) })
    });
    let target = HttpTarget::with(network, false, lookup);
    let url = format!("http://receiver:{port}/");
    let first = target.notify(notice(url.clone())).await;
    assert_eq!(first.map(|noticed| noticed.status), Ok(200));
    for address in ["127.0.0.2", "10.0.0.1", "169.254.169.254"] {
        match target.notify(notice(url.clone())).await {
            Err(CallError::NotDelivered(why)) => assert!(why.contains(address), "{why}"),
            other => panic!("{address}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn i17_an_endpoint_that_names_an_address_inside_needs_its_range_allowed() {
    let target = HttpTarget::strict(NetworkOptions::default());
    for url in [
        "http://127.0.0.1:9/",
        "http://localhost:9/",
        "http://2130706433:9/",
        "http://0x7f.1:9/",
        "http://[::ffff:127.0.0.1]:9/",
        "https://10.0.0.1/",
        "https://169.254.169.254/latest/",
        "https://[64:ff9b::a9fe:a9fe]/",
    ] {
        match target.notify(notice(url.to_owned())).await {
            Err(CallError::NotDelivered(why)) => {
                assert!(why.contains("is an address"), "{url}: {why}");
            }
            other => panic!("{url}: {other:?}"),
        }
    }
}

#[test]
fn i21_calls_with_ever_other_time_left_share_a_few_clients() {
    let target = HttpTarget::new(crate::target::NetworkOptions::default());
    for milliseconds in 1..12_000 {
        let left = Duration::from_millis(milliseconds);
        assert!(target.client(left).is_ok());
        assert!(step(left) <= left.max(Duration::from_millis(50)));
    }
    let clients = target
        .clients
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    assert!(clients.len() <= 11, "{} clients", clients.len());
}
