use serde_json::json;

use super::{RELEASE, one_step, skill};
use crate::skill::EditError;

#[test]
fn an_edit_changes_its_lines_and_nothing_else() {
    let before = skill(RELEASE);
    let edit = before
        .edit()
        .asserts(
            1,
            vec![
                "status == 201".into(),
                "json.versions length > 0".into(),
                "json.ok == true".into(),
            ],
        )
        .binds(1, vec!["version = json.newest".into()])
        .binds(2, vec!["id = json.id".into()])
        .args(
            2,
            json!({"url": "https://chat.example/v2", "body": "{{version}}"}),
        )
        .changelog("2026-03-01: healed\nin one line");
    let after = edit.apply().expect("changed");
    let expected = RELEASE
        .replace("status == 200", "status == 201")
        .replace("length > 0\n", "length > 0\n- assert: json.ok == true\n")
        .replace("json.versions.0.num", "json.newest")
        .replace(
            "- exposure: internal\n",
            "- exposure: internal\n- bind: id = json.id\n",
        )
        .replace(
            "- 2026-01-01: made\n",
            "- 2026-01-01: made\n- 2026-03-01: healed in one line\n",
        );
    let at = expected.find("http.post {").expect("the call");
    let end = at + expected[at..].find('\n').expect("its end");
    let expected = format!(
        "{}http.post {{\"body\":\"{{{{version}}}}\",\"url\":\"https://chat.example/v2\"}}{}",
        &expected[..at],
        &expected[end..]
    );
    assert_eq!(after.text(), expected);
    assert_eq!(after.steps[0].asserts.len(), 3);

    let windows = skill(&RELEASE.replace('\n', "\r\n"));
    let edit = windows
        .edit()
        .binds(2, vec!["id = json.id".into()])
        .changelog("x");
    let text = edit.apply().expect("changed").text().to_owned();
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
    assert!(text.contains("- bind: id = json.id\r\n"));
}

#[test]
fn lines_are_removed_with_their_ends() {
    let before = skill(RELEASE);
    let after = before
        .edit()
        .asserts(1, vec![])
        .binds(1, vec![])
        .approve(1, None);
    // The condition of step 2 reads what step 1 binds no more.
    assert!(matches!(after.apply(), Err(EditError::Unreadable(_))));
    let after = before.edit().asserts(1, vec![]).apply().expect("changed");
    let expected = RELEASE
        .replace("- assert: status == 200\n", "")
        .replace("- assert: json.versions length > 0\n", "");
    assert_eq!(after.text(), expected);
}

#[test]
fn a_changelog_is_made_where_there_is_none() {
    for (text, expected) in [
        (
            one_step("- intent: i\n- action: t {}"),
            "\n## Changelog\n\n- one\n- two\n",
        ),
        (
            one_step("- intent: i\n- action: t {}")
                .trim_end()
                .to_owned(),
            "\n\n## Changelog\n\n- one\n- two\n",
        ),
        (
            one_step("- intent: i\n- action: t {}\n\n## Notes\ntext"),
            "\n## Changelog\n\n- one\n- two\n",
        ),
        (
            one_step("- intent: i\n- action: t {}\n\n## Changelog"),
            "\n- one\n- two\n",
        ),
        (
            one_step("- intent: i\n- action: t {}\n\n## Changelog")
                .trim_end()
                .to_owned(),
            "\n\n- one\n- two",
        ),
        (
            one_step("- intent: i\n- action: t {}\n\n## Changelog\n"),
            "- one\n- two\n",
        ),
    ] {
        let before = skill(&text);
        let after = before.edit().changelog("one").changelog("two").apply();
        let after = after.unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(after.text(), format!("{text}{expected}"));
    }
    let text = one_step("- intent: i\n- action: t {}\n\n## Changelog\n\n- zero\n\n## Notes\ntext");
    let after = skill(&text)
        .edit()
        .changelog("one")
        .apply()
        .expect("changed");
    assert_eq!(after.text(), text.replace("- zero\n", "- zero\n- one\n"));
}

#[test]
fn a_line_that_cannot_be_read_changes_nothing() {
    let before = skill(RELEASE);
    for (edit, part) in [
        (
            before.edit().asserts(1, vec!["json.a ~ 1".into()]),
            "an assertion is one of",
        ),
        (
            before
                .edit()
                .asserts(1, vec!["status == 200\n### Step 9 — X".into()]),
            "one line",
        ),
        (
            before.edit().binds(1, vec!["a = b".into()]),
            "is not a bind",
        ),
        (before.edit().args(1, json!([])), "not a JSON object"),
        (before.edit().asserts(3, vec![]), "no step 3"),
        (
            before.edit().args(1, json!({"a": "{{ x }}"})),
            "could not be read",
        ),
        (
            before.edit().binds(1, vec!["token = json.a".into()]),
            "could not be read",
        ),
    ] {
        let told = edit.apply().expect_err(part).to_string();
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn approve_lines_come_and_go() {
    let before = skill(RELEASE);
    let digest = before.steps[1].approve_digest();
    let approved = before
        .edit()
        .approve(2, Some(digest))
        .apply()
        .expect("changed");
    assert_eq!(approved.steps[1].approved(), Some(true));
    let back = approved.edit().approve(2, None).apply().expect("changed");
    assert_eq!(back.text(), RELEASE);
}

#[test]
fn tidying_changes_spelling_only() {
    let untidy = RELEASE
        .replace("### Step 1 — Read", "###  Step  01-Read")
        .replace("- intent: Look", "  -intent :   Look")
        .replace("name: release-note", "name :release-note  ")
        .replace(
            "{\"url\": \"https://chat.example/hook\"",
            "{ \"url\" : \"https://chat.example/hook\"",
        );
    let tidy = skill(&untidy).tidied().expect("tidied");
    let expected = RELEASE
        .replace("### Step 2 - Tell", "### Step 2 — Tell")
        .replace("\": ", "\":")
        .replace(", \"", ",\"");
    assert_eq!(tidy.text(), expected);
    assert!(tidy.says_the_same(&skill(&untidy)));
    assert_eq!(tidy.tidied().expect("tidied").text(), tidy.text());
    let spaced = skill(&one_step(
        "- intent: i\n- action: t {\"a\": \"x  \\\\\\\"  y\", \"b\" : [ 1 , 2 ]}",
    ));
    let tidy = spaced.tidied().expect("tidied");
    assert!(
        tidy.text()
            .contains("t {\"a\":\"x  \\\\\\\"  y\",\"b\":[1,2]}"),
        "{}",
        tidy.text()
    );
}
