//! What the program says where something is in the way: a key that cannot be used, a pause, a folder that
//! cannot be opened.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use rustix::fs::Access;

use crate::story::{ADMIN, Story, id};
use crate::support::{Place, Server};
use crate::webhooks::{self, Receiver};

/// What a server answers to a plain `GET`.
pub(crate) fn get(server: &Server, path: &str) -> String {
    let address = server.url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).expect("connects");
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )
    .expect("is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("is answered");
    answer
}

fn set_mode(place: &Place, name: &str, mode: u32) {
    fs::set_permissions(place.path(name), fs::Permissions::from_mode(mode)).expect("is set");
}

#[test]
fn i27_a_webhook_key_that_cannot_be_used_is_told_wherever_somebody_looks() {
    let (place, receiver) = (webhooks::place(), Receiver::open());
    let (id, _) = webhooks::add(&place, &receiver.url);
    set_mode(&place, "holdpoint-data/webhook.key", 0o644);
    let why = "webhook.key in the data folder can be read by others (mode 644); run chmod 600";
    let found = place.run(&["doctor"]).code(1).out;
    for words in ["wrong    webhooks", "enabled, and hears nothing", why] {
        assert!(found.contains(words), "{words:?} in {found}");
    }

    let server = Server::start(&place, &[]);
    webhooks::sign_in(&place, &server);
    let at = ["--server", server.url.as_str(), "--token-file", "ada"];
    let run = |args: &[&str]| place.run(&[args, &at].concat());
    let shown = run(&["webhooks", "show", &id]).ok();
    assert!(
        shown.contains(&format!("enabled, but no webhooks are sent: {why}")),
        "{shown}"
    );
    for verb in ["test", "rotate"] {
        let refused = run(&["webhooks", verb, &id]);
        assert!(
            refused.code != 0 && refused.err.contains(why),
            "{verb}: {refused:?}"
        );
    }
    let found = run(&["doctor"]).out;
    assert!(found.contains(why), "{found}");
    let figures = get(&server, "/metrics");
    assert!(figures.contains("holdpoint_deliveries_off 1"), "{figures}");
    drop(server);

    set_mode(&place, "holdpoint-data/webhook.key", 0o600);
    let server = Server::start(&place, &[]);
    let at = ["--server", server.url.as_str(), "--token-file", "ada"];
    let shown = place
        .run(&[&["webhooks", "show", &id][..], &at].concat())
        .ok();
    assert!(!shown.contains("no webhooks are sent"), "{shown}");
    assert!(get(&server, "/metrics").contains("holdpoint_deliveries_off 0"));
}

#[test]
fn an_imported_folder_says_how_its_webhooks_come_to_be_looked_at() {
    let place = webhooks::place();
    webhooks::add(&place, "http://127.0.0.1:9/hook");
    place.write("log.jsonl.part", "left by an export that was stopped");
    set_mode(&place, "log.jsonl.part", 0o644);
    place.run(&["export", "log.jsonl"]).ok();
    let file = fs::metadata(place.path("log.jsonl")).expect("is there");
    assert_eq!(
        file.permissions().mode() & 0o777,
        0o600,
        "for its owner alone"
    );
    place.run(&["import", "log.jsonl", "--data", "new"]).ok();
    let found = place.run(&["doctor", "--data", "new"]).out;
    assert!(found.contains("serve --confirm-restore"), "{found}");
    assert!(!found.contains("use the token"), "{found}");
}

#[test]
fn a_folder_that_cannot_be_opened_is_told_with_the_file_and_with_help_that_fits() {
    let place = Place::new();
    // A new file system has such a folder, and may be given as a whole.
    fs::create_dir_all(place.path("disk/lost+found")).expect("a folder");
    place.run(&["user", "list", "--data", "disk"]).ok();

    let marker = fs::read_to_string(place.path("disk/log-format")).expect("a marker");
    let [title, format, ..] = marker.lines().collect::<Vec<_>>()[..] else {
        panic!("{marker}")
    };
    fs::create_dir(place.path("half")).expect("a folder");
    place.write(
        "half/log-format",
        &format!("{title}\n{format}\nimporting\n"),
    );
    fs::create_dir_all(place.path("odd/lock")).expect("a folder");
    place.write("odd/log-format", &format!("{title}\n{format}\nready\n"));
    for (folder, words, help) in [
        (
            "half",
            "an import into it did not end",
            "run the import again",
        ),
        (
            "odd",
            "odd/lock: Is a directory",
            "look at the folder, its owner",
        ),
    ] {
        let opened = place.run(&["user", "list", "--data", folder]).code(1).err;
        let doctor = place.run(&["doctor", "--data", folder]).code(1).out;
        for told in [opened, doctor] {
            assert!(told.contains(words) && told.contains(help), "{told}");
            assert!(!told.contains("before you try anything"), "{told}");
        }
    }
}

#[test]
fn a_level_of_the_log_that_there_is_not_is_refused_by_serve_and_by_check() {
    let place = Place::new();
    let file = "{ \"server\": { \"log\": \"eror\" }, \"tools\": {} }";
    place.write("holdpoint.json", file);
    for command in ["check", "serve"] {
        let told = place.run(&[command]).code(2).err;
        assert!(told.contains("\"eror\""), "{told}");
        assert!(told.contains("error, warn, info"), "{told}");
    }
}

#[test]
fn waiting_says_that_the_server_is_paused() {
    let story = Story::begin();
    let login = ["login", ADMIN, "--password-file", "pw"];
    let login = [&login[..], &["--token-file", "ada"]].concat();
    story.run("ada", &login).ok();
    let staged = story.submit("r1");
    story.approve(&staged).ok();
    story
        .run("key", &["actions", "wait", id(&staged), "--for", "30s"])
        .ok();
    story
        .run("ada", &["pause", "--reason", "the shop is being moved"])
        .ok();
    let staged = story.submit("r2");
    story.approve(&staged).ok();
    let wait = ["actions", "wait", id(&staged), "--for", "1ms"];
    for more in [&[][..], &["--json"]] {
        let waited = story.run("key", &[&wait[..], more].concat());
        let told = waited.code(5).err;
        assert!(told.contains("nothing new is sent"), "{told}");
        assert_eq!(told.matches("the shop is being moved").count(), 1, "{told}");
    }
    let decided = story.run("key", &[&wait[..], &["--decided"]].concat());
    assert!(!decided.ok().contains("paused"));
}

#[test]
fn a_data_folder_that_nothing_can_be_made_in_is_wrong_for_the_doctor() {
    let place = Place::new();
    place.write("holdpoint.json", "{ \"tools\": {} }");
    place.add_person(ADMIN, "admin");
    let folder = place.path("holdpoint-data");
    set_mode(&place, "holdpoint-data", 0o500);
    let mut doctor = place.command(&["doctor"]);
    // Whoever may write in spite of the mode gives that up first.
    if rustix::fs::access(&folder, Access::WRITE_OK).is_ok() {
        let mut bound = Command::new("setpriv");
        bound
            .args(["--bounding-set", "-dac_override", "--"])
            .arg(doctor.get_program())
            .args(["doctor", "--data"])
            .arg(&folder)
            .current_dir(place.path(""));
        doctor = bound;
    }
    let told = doctor.output().expect("it starts");
    set_mode(&place, "holdpoint-data", 0o700);
    let told = String::from_utf8(told.stdout).expect("UTF-8");
    for words in ["wrong    data folder", "may make no files in", "chmod 700"] {
        assert!(told.contains(words), "{words:?} in {told}");
    }
    let told = place.run(&["doctor"]).out;
    assert!(told.contains("ok       data folder"), "{told}");
}
