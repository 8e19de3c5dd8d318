use proptest::prelude::*;
use serde_json::{Value, json};

use crate::tool::rule::Rule;

const ALL: [&str; 5] = ["args", "state", "caller", "body", "status"];

fn holds(source: &str, input: &Value) -> Result<bool, String> {
    let rule = Rule::compile(source, &ALL)?;
    let input: Vec<(&str, &Value)> = input
        .as_object()
        .expect("an object")
        .iter()
        .map(|(name, value)| (name.as_str(), value))
        .collect();
    rule.holds(&input).map_err(|error| error.to_string())
}

#[test]
fn numbers_of_json_compare_with_literals_of_either_kind() {
    let input = json!({
        "args": {"amount_minor": 50001, "tenant": "acme", "half": 0.5, "whole": 2.0},
        "state": {"refundable_minor": 60000},
        "caller": {"tenant": "acme"},
        "body": {"refunds": [1]},
        "status": 200,
    });
    for source in [
        "args.amount_minor > 50000",
        "args.amount_minor > 50000.5",
        "args.amount_minor == 50001.0",
        "args.amount_minor >= 50001u",
        "args.half < 1",
        "args.whole == 2",
        "state.refundable_minor >= args.amount_minor",
        "state.refundable_minor - args.amount_minor == 9999",
        "caller.tenant == args.tenant",
        "size(body.refunds) > 0",
        "status == 200 && body.refunds.exists(r, r == 1)",
        "has(args.half) && !has(args.nothing)",
        "args.tenant.startsWith('ac') && args.tenant in ['acme', 'other']",
    ] {
        assert_eq!(holds(source, &input), Ok(true), "{source}");
    }
}

#[test]
fn what_is_no_answer_is_an_error() {
    let input = json!({"args": {"a": 1, "s": "x"}});
    for source in [
        "args.a",
        "args.a + 1",
        "args.missing == 1",
        "args.a == 1 && args.nothing > 2",
        "state.a == 1",
        "args.s > 1",
        "args.a / 0 == 1",
        "args.s.matches('(')",
    ] {
        let error = holds(source, &input).expect_err(source);
        assert!(
            error.contains("could not be evaluated"),
            "{source}: {error}"
        );
    }
}

#[test]
fn unknown_names_are_found_when_the_file_is_read() {
    assert!(
        holds("arg.amount > 1", &json!({}))
            .expect_err("a typo")
            .contains("did you mean args?")
    );
    assert!(
        holds("sizeof(args) > 1", &json!({}))
            .expect_err("a typo")
            .contains("no function sizeof")
    );
    assert!(
        holds("x > 1", &json!({}))
            .expect_err("unknown")
            .contains("args, state")
    );
    assert!(holds("", &json!({})).is_err());
    assert!(
        holds("args.a >", &json!({}))
            .expect_err("cut off")
            .contains("not a CEL expression")
    );
    assert!(
        holds("args.a = 1", &json!({}))
            .expect_err("an assignment")
            .ends_with("(== compares)")
    );
}

#[test]
fn i21_no_rule_is_too_long_too_deep_or_too_slow() {
    let deep = |open: &str, close: &str| {
        let n = 1900;
        format!("{}true{}", open.repeat(n), close.repeat(n))
    };
    for source in [
        deep("(", ")"),
        deep("[", "]"),
        format!("r'\\' == {}1", "(".repeat(70)),
        format!("// '\n{}1", "[".repeat(79)),
        format!("{}1{}", "size(".repeat(79), ")".repeat(79)),
        format!("{}1{}", "{1:[(".repeat(26), ")]}".repeat(26)),
        deep("!", ""),
        deep("-", ""),
        "true ? ".repeat(500) + "true",
        format!("args{}", ".a".repeat(2000)),
        format!("args{}", "[0]".repeat(1200)),
        format!("true{}", " && true".repeat(450)),
        format!("1{} > 0", " + 1".repeat(900)),
        format!("args.a == '{}'", "x".repeat(5000)),
        "args.a.all(a, args.a.all(b, args.a.all(c, a == b && b == c)))".to_owned(),
        format!("args{}", ".a()".repeat(900)),
        "{".repeat(100),
        "\"".repeat(99),
        "\\".to_owned(),
        "'\\u12'".to_owned(),
        "0x".to_owned(),
        "99999999999999999999 > 1".to_owned(),
        "\u{0}".to_owned(),
        "a.?b".to_owned(),
    ] {
        // An answer or an error, but neither a crash nor a hang.
        let _ = holds(&source, &json!({"args": {"a": [1, 2, 3]}}));
    }
    // The deepest rule that is taken is evaluated on half the stack of a usual thread.
    let deepest =
        "args.a.all(a, args.a.exists(b, ((a + b + a + b + a + b + a + b) * 2) % 2 == 0 || a != b))";
    let half = std::thread::Builder::new().stack_size(1 << 20);
    let evaluated = half.spawn(move || holds(deepest, &json!({"args": {"a": [1, 2, 3]}})));
    assert_eq!(
        evaluated.expect("a thread").join().expect("no panic"),
        Ok(true)
    );
    let nested = "args.a.all(a, args.a.all(b, a == b || a != b))";
    let long: Vec<u32> = (0..3000).collect();
    assert!(
        holds(nested, &json!({"args": {"a": long}}))
            .expect_err("too large")
            .contains("too large")
    );
    assert_eq!(holds(nested, &json!({"args": {"a": [1, 2, 3]}})), Ok(true));
}

proptest! {
    #[test]
    fn no_text_makes_the_compiler_crash(source in "[-a-z0-9 .!?:&|<>=+*/%()\\[\\]{}'\",\\\\]{0,40}") {
        let _ = holds(&source, &json!({"args": {"a": [1, 2, 3]}}));
    }

    #[test]
    fn no_characters_make_the_compiler_crash(source in any::<String>()) {
        let _ = Rule::compile(&source, &ALL);
    }
}
