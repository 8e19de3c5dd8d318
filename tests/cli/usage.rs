//! Help, mistakes on the command line, exit codes, colours.

use crate::support::Place;

#[test]
fn the_bare_command_and_help_show_the_commands_and_the_exit_codes() {
    let place = Place::new();
    let bare = place.run(&[]).code(2);
    let help = place.run(&["--help"]).ok();
    for text in [&bare.err, &help] {
        for word in ["serve", "check", "actions", "  6  conflict", "docs/CLI.md"] {
            assert!(text.contains(word), "{word}: {text}");
        }
    }
}

#[test]
fn every_command_has_help() {
    let place = Place::new();
    for command in [
        &["serve"][..],
        &["check"],
        &["init"],
        &["user", "add"],
        &["user", "link"],
        &["key", "create"],
        &["actions", "submit"],
        &["actions", "approve"],
        &["actions", "settle"],
        &["events", "tail"],
        &["login"],
        &["doctor"],
        &["verify"],
        &["bench"],
        &["completions"],
    ] {
        let mut args = command.to_vec();
        args.push("--help");
        let help = place.run(&args).ok();
        assert!(help.contains("Usage: holdpoint"), "{command:?}: {help}");
    }
}

#[test]
fn a_mistyped_command_or_flag_is_answered_with_what_was_meant() {
    let place = Place::new();
    let run = place.run(&["actoins"]).code(2);
    assert!(run.err.contains("'actions'"), "{}", run.err);
    let run = place.run(&["serve", "--lisen", "x"]).code(2);
    assert!(run.err.contains("--listen"), "{}", run.err);
    assert!(run.out.is_empty(), "{}", run.out);
}

#[test]
fn an_unknown_role_is_answered_with_the_roles() {
    let place = Place::new();
    let args = [
        "user",
        "add",
        "a@b.example",
        "--name",
        "A",
        "--role",
        "boss",
    ];
    let run = place.run(&args).code(2);
    assert!(
        run.err
            .contains("admin, approver, auditor, operator, requester"),
        "{}",
        run.err
    );
}

#[test]
fn a_server_that_is_not_there_is_a_failure_with_a_way_on() {
    let place = Place::new();
    let run = place
        .run(&["actions", "ls", "--server", "http://127.0.0.1:1"])
        .code(1);
    assert!(
        run.err
            .contains("cannot reach a server at http://127.0.0.1:1"),
        "{}",
        run.err
    );
    assert!(run.err.contains("holdpoint serve"), "{}", run.err);
    assert!(run.out.is_empty(), "{}", run.out);
}

#[test]
fn an_error_as_json_goes_to_stderr() {
    let place = Place::new();
    let run = place
        .run(&["--json", "actions", "ls", "--server", "http://127.0.0.1:1"])
        .code(1);
    assert!(run.out.is_empty(), "{}", run.out);
    let error: serde_json::Value = serde_json::from_str(&run.err).expect("JSON");
    assert_eq!(error["error"]["exit_code"], 1);
}

#[test]
fn a_token_is_not_sent_unencrypted_to_another_machine() {
    let place = Place::new();
    place.write("token", "hps_secret");
    let args = [
        "actions",
        "ls",
        "--server",
        "http://192.0.2.1",
        "--token-file",
        "token",
    ];
    let run = place.run(&args).code(2);
    assert!(run.err.contains("unencrypted"), "{}", run.err);
}

#[test]
fn what_is_no_action_id_never_becomes_a_path() {
    let place = Place::new();
    let run = place.run(&["actions", "show", "../people"]).code(2);
    assert!(run.err.contains("act_"), "{}", run.err);
}

#[test]
fn a_script_cannot_approve_what_it_does_not_name() {
    let place = Place::new();
    let id = "act_0190c7e2000070008000000000000000";
    let run = place.run(&["actions", "approve", id, "--yes"]).code(2);
    assert!(run.err.contains("--digest"), "{}", run.err);
}

#[test]
fn no_colour_codes_are_printed_when_they_are_not_wanted() {
    let place = Place::new();
    place.write(
        "holdpoint.json",
        "{ \"tools\": { \"a\": { \"safetyClas\": 1 } } }",
    );
    for (args, env) in [
        (&["check"][..], &[][..]),
        (&["check", "--no-color"], &[("CLICOLOR_FORCE", "1")]),
        (&["check"], &[("NO_COLOR", "1"), ("TERM", "xterm")]),
        (&["--help"], &[("NO_COLOR", "1")]),
        (&["nonsense", "--no-color"], &[("CLICOLOR_FORCE", "1")]),
    ] {
        let run = place.run_with(args, env);
        let printed = format!("{}{}", run.out, run.err);
        assert!(!printed.contains('\u{1b}'), "{args:?} {env:?}: {printed:?}");
    }
}

#[test]
fn completions_are_printed_for_each_shell() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(
            place
                .run(&["completions", shell])
                .ok()
                .contains("holdpoint"),
            "{shell}"
        );
    }
}
