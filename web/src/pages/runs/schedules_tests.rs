//! The page of schedules with a real engine behind it.

use holdpoint_engine::engine::NewSchedule;
use holdpoint_engine::run::{Flags, Inputs, NewOrigin, RunStatus};
use http::StatusCode;

use crate::pages::house::{House, body, fields};

const READ: &str = "---\nname: watch\ndescription: Look at it\n---\n\n### Step 1 — Read\n- intent: Look\n- action: read_balance {}\n";

#[tokio::test]
async fn a_schedule_is_read_run_and_deleted_by_its_name() {
    let house = House::new().await;
    let identity = house.engine.identity();
    let by = identity.person_by_email("rita@example.com").expect("rita");
    let by = identity.principal(&by.id).expect("enabled");
    let new = NewSchedule {
        name: "nightly \"<b>\" \u{202e}".to_owned(),
        what: NewOrigin::Skill {
            text: READ.to_owned(),
            inputs: Inputs::Values(Vec::new()),
            ignore_manifest: false,
        },
        flags: Flags::default(),
        cron: "0 0 1 1 *".to_owned(),
        zone: "Europe/Berlin".to_owned(),
        overlap: false,
    };
    let made = house.engine.create_schedule(&by, new).await;
    let id = made.expect("it is made").schedule.id.to_string();
    let mut rita = house.signed_in("rita").await;
    let page = rita.get("/schedules").await.text;
    for fact in [
        "aria-label=\"Run now: nightly &#34;&#60;b&#62;&#34; ⟦U+202E⟧\"",
        "At 00:00, on day 1, in January, Europe/Berlin",
        ", 00:00 CET",
        "31 Dec",
        "23:00:00 UTC",
        "It has started no run yet.",
    ] {
        assert!(page.contains(fact), "{fact}: {page}");
    }
    assert!(!page.contains("00:00.,"), "{page}");

    let form = fields(&page, &format!("delete-{id}"));
    let here = format!("/schedules/{id}");
    let sent = rita
        .send("POST", &format!("{here}/run"), &body(&form, ""))
        .await;
    assert_eq!(sent.status, StatusCode::SEE_OTHER);
    let run = sent.location.trim_start_matches("/runs/").to_owned();
    house
        .until(run.parse().expect("a run"), RunStatus::Passed)
        .await;
    let page = rita.get("/schedules").await.text;
    assert!(
        page.contains(&format!(
            "Last run: <a href=\"/runs/{run}\"><span class=\"badge good\">"
        )),
        "{page}"
    );
    let link = format!("by the schedule <a href=\"/schedules#{id}\"><bdi");
    for path in ["/runs", &format!("/runs?schedule={id}"), &sent.location] {
        let page = rita.get(path).await.text;
        assert!(page.contains(&link), "{path}: {page}");
        // The history of the run keeps the id: it is evidence.
        let is_list = path.starts_with("/runs?") || path == "/runs";
        assert!(
            !is_list || !page.contains(&format!(">{id}<")),
            "{path}: {page}"
        );
    }

    let delete = format!("{here}/delete");
    let without = rita.send("POST", &delete, &body(&form, " ")).await;
    assert_eq!(without.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(without.text.contains("say why"), "{}", without.text);
    let gone = rita
        .send("POST", &delete, &body(&form, "nobody reads it"))
        .await;
    assert_eq!(gone.status, StatusCode::SEE_OTHER);
    let page = rita.get("/schedules").await.text;
    assert!(page.contains("There are no schedules yet."), "{page}");
    let page = rita.get("/runs").await.text;
    assert!(page.contains("(deleted)"), "{page}");
}
