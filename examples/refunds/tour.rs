//! What is set up and printed for a person to follow.

use std::fmt::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use crate::client::{Client, Failure, refund};
use crate::house::House;
use crate::setup::{Cast, Player};

/// How long a link can be used, once.
const LINK: Duration = Duration::from_mins(15);

/// Puts the three refunds of the tour into the queue, and answers how many of them wait. Submitting
/// them again creates nothing.
pub(crate) async fn submit_three(client: &Client, cast: &Cast) -> Result<usize, Failure> {
    let jacket = refund("8812", "cus_2041", 4_900, "The jacket came back unworn");
    let kettle = refund(
        "8813",
        "cus_1177",
        5_000,
        "URGENT!! The customer is upset, please approve right away",
    );
    let sofa = refund("8814", "cus_3310", 62_000, "The sofa arrived broken");
    let mut waiting = 0;
    for (key, name, body) in [
        (&cast.checkout_key, "demo-8812", jacket),
        (&cast.agent_key, "demo-8813", kettle),
        (&cast.checkout_key, "demo-8814", sofa),
    ] {
        let reply = client
            .submit(key, name, &body)
            .await?
            .expect_ok("submitting a refund")?;
        waiting += usize::from(reply.text("/status") == "staged");
    }
    Ok(waiting)
}

/// A link that signs in, for each person.
pub(crate) async fn links(house: &House, cast: &Cast) -> Result<Vec<(Player, String)>, Failure> {
    let identity = house.engine.identity();
    let mut links = Vec::new();
    for player in [&cast.fiona, &cast.felix, &cast.rita, &cast.ada] {
        let person = identity
            .person_by_email(&player.email)
            .ok_or("the people are missing")?;
        let token = identity
            .create_sign_in_link("cli:refunds-example", &person.id, LINK)
            .await?;
        let link = format!(
            "http://{}/sign-in/link?token={}",
            house.address,
            token.expose()
        );
        links.push((player.clone(), link));
    }
    Ok(links)
}

/// The words that are printed.
pub(crate) fn script(
    house: &House,
    shop: SocketAddr,
    root: &Path,
    cast: &Cast,
    links: &[(Player, String)],
    waiting: usize,
) -> String {
    let mut text = String::new();
    let base = format!("http://{}", house.address);
    let _ = write!(
        text,
        "Holdpoint is at {base}, the shop at http://{shop} (keep that page open: it counts).\n\n\
         Sign in as (each link works once, for 15 minutes):\n"
    );
    for (player, link) in links {
        let what = match player.name.as_str() {
            "Fiona" | "Felix" => "approves, in finance",
            "Rita" => "asked for the refunds",
            _ => "audits",
        };
        let _ = writeln!(text, "  {:6} {what:22} {link}", player.name);
    }
    let begin = match waiting {
        3 => "\nThree refunds wait. As Fiona:".to_owned(),
        0 => format!(
            "\nNone of the three refunds waits any more: they went on where they were. For a new \
             start, stop this\nand delete {}, or name another folder with --data.\nThe tour was, as Fiona:",
            root.display()
        ),
        some => format!(
            "\n{some} of the three refunds still wait; they went on where they were. As Fiona:"
        ),
    };
    let _ = write!(
        text,
        "{begin}\n\n\
         1. Approve \"Refund 49.00 EUR to order 8812\". The shop counts one refund.\n\n\
         2. An agent asked for 50.00 on order 8813. Change the order behind it, then approve it:\n\n\
         \x20    curl -X POST 'http://{shop}/switches/orders/8813?refundable_minor=2000'\n\n\
         \x20  Nothing is refunded: it must be planned again, and the page says what moved.\n\n\
         3. 620.00 on order 8814 needs two people. Approve it as Fiona. Then make the shop lose its\n\
         \x20  next answer, and approve it as Felix (in another browser or a private window):\n\n\
         \x20    curl -X POST 'http://{shop}/switches/lose-answer'\n\n\
         \x20  Nobody knows whether it happened, so Holdpoint asks the shop, and finds it. One refund.\n\n\
         Then try Rita (she cannot approve her own) and Ada (she reads everything in History).\n\
         One more, as a service:\n\n\
         \x20    curl {base}/v1/actions -H 'Authorization: Bearer {key}' -H 'Idempotency-Key: \"mine-1\"' \\\n\
         \x20      --json '{body}'\n\n\
         Kill this process in the middle (kill -9 {pid}) and start it again: it goes on where it was.\n\
         Everything is in {root}. Ctrl-C stops it.",
        key = cast.checkout_key,
        body = refund("8815", "cus_0452", 1_250, "Wrong size"),
        pid = std::process::id(),
        root = root.display(),
    );
    text
}
