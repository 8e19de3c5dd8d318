use askama::Template as _;
use proptest::prelude::*;

use super::*;

/// Reads shown text back: what was written out becomes the character again, notes go.
fn read_back(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("↵\n") {
            out.push('\n');
            rest = after;
        } else if let Some(after) = rest.strip_prefix('⟦') {
            let (inside, after) = after.split_once('⟧').expect("a closing bracket");
            if let Some(hex) = inside.strip_prefix("U+") {
                let code = u32::from_str_radix(hex, 16).expect("a code point");
                out.push(char::from_u32(code).expect("a character"));
            }
            rest = after;
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

fn no_hidden_character_in(text: &str) {
    for c in text.chars() {
        let code = u32::from(c);
        let hidden = (c.is_control() && c != '\n')
            || matches!(code, 0xAD | 0x61C | 0x200B..=0x200F | 0x2028..=0x202F | 0x2060..=0x206F | 0xFEFF
                | 0xFE00..=0xFE0F | 0xE0000..=0xE0FFF | 0x3164 | 0x2800 | 0x00A0 | 0xE000..=0xF8FF);
        assert!(!hidden, "U+{code:04X} in {text:?}");
    }
}

/// Text with many of the characters that lie.
fn hostile() -> impl Strategy<Value = String> {
    let nasty = prop::sample::select(vec![
        '\u{202E}',
        '\u{2066}',
        '\u{200B}',
        '\u{E0041}',
        '\u{301}',
        '\u{FE0F}',
        '\u{1B}',
        '\r',
        '\n',
        '\t',
        ' ',
        '⟦',
        '⟧',
        '↵',
        'а',
        'a',
        'ο',
        '１',
        'א',
        '<',
        '&',
        '"',
        '\'',
        '\u{0}',
        '\u{3164}',
        '\u{2215}',
        '\u{FFFF}',
        '\u{E000}',
        'U',
        '+',
        '2',
        '0',
        'E',
    ]);
    prop::collection::vec(prop_oneof![3 => nasty, 1 => any::<char>()], 0..40)
        .prop_map(|chars| chars.into_iter().collect())
}

proptest! {
    #[test]
    fn i14_nothing_hidden_is_shown_raw_and_nothing_is_lost(text in hostile()) {
        for shown in [Shown::block(&text), Shown::line(&text)] {
            no_hidden_character_in(&shown.plain());
            prop_assert_eq!(read_back(&shown.plain()), text.clone());
        }
        prop_assert!(!Shown::line(&text).plain().contains('\n'));
    }

    #[test]
    fn i14_shown_text_holds_no_markup(text in hostile()) {
        let html = Shown::block(&text).render().expect("a template in memory");
        no_hidden_character_in(&html);
        let bare = html.replace("<bdi", "").replace("</bdi>", "").replace("<span", "").replace("</span>", "");
        prop_assert!(!bare.contains('<'), "{}", html);
    }

    #[test]
    fn ordinary_ascii_words_are_shown_as_they_are(text in "[a-zA-Z0-9.,:;/_@#-]( ?[a-zA-Z0-9.,:;/_@#-]){0,30}") {
        prop_assert_eq!(Shown::line(&text).plain(), text.clone());
        prop_assert!(!Shown::line(&text).is_marked());
    }
}

fn line(text: &str) -> String {
    Shown::line(text).plain()
}

#[test]
fn incident_87_direction_marks_and_line_breaks_are_written_out_in_every_field() {
    assert_eq!(line("acct\u{202E}0001"), "acct⟦U+202E⟧0001");
    assert_eq!(line("one\ntwo"), "one⟦U+000A⟧two");
    assert_eq!(Shown::block("one\ntwo").plain(), "one↵\ntwo");
    assert_eq!(line("a\u{200B}b\u{E0041}"), "a⟦U+200B⟧b⟦U+E0041⟧");
    assert_eq!(line("\u{1B}[31mred"), "⟦U+001B⟧[31mred");
}

#[test]
fn words_that_are_not_what_they_seem_are_marked() {
    assert_eq!(line("pаypal.com"), "pаypal⟦mixes Latin and Cyrillic⟧.com");
    assert_eq!(line("аррӏе"), "аррӏе⟦Cyrillic letters that look Latin⟧");
    assert_eq!(
        line("１00"),
        "１00⟦letters or digits in a look-alike style⟧"
    );
    assert_eq!(line("٤٨"), "٤٨⟦digits other than 0 to 9⟧");
    assert_eq!(line("a\u{2215}b"), "a\u{2215}⟦look-alike U+2215⟧b");
}

#[test]
fn honest_words_of_many_languages_are_left_alone() {
    for text in [
        "Zürich",
        "cafe\u{301}",
        "Привет",
        "Ελλάδα",
        "東京2020",
        "हिन्दी",
        "ไทย",
        "don’t",
        "5 €",
    ] {
        assert_eq!(line(text), text);
    }
}

#[test]
fn stacked_marks_are_capped() {
    let text = format!("a{}", "\u{301}".repeat(5));
    assert_eq!(line(&text), "a\u{301}\u{301}⟦U+0301⟧⟦U+0301⟧⟦U+0301⟧");
    assert_eq!(line("\u{301}a"), "⟦U+0301⟧a");
}

#[test]
fn our_notes_cannot_be_imitated() {
    assert_eq!(line("⟦U+202E⟧"), "⟦U+27E6⟧U+202E⟦U+27E7⟧");
}

#[test]
fn blanks_that_cannot_be_seen_are_written_out() {
    assert_eq!(line(" a b "), "⟦U+0020⟧a b⟦U+0020⟧");
    assert_eq!(line("a\u{A0}b"), "a⟦U+00A0⟧b");
}

#[test]
fn a_right_to_left_word_moves_nothing_around_it() {
    let html = Shown::line("שלום 100/200")
        .render()
        .expect("a template in memory");
    assert!(
        html.contains(r#"<bdi dir="rtl">שלום</bdi> 100/200"#),
        "{html}"
    );
}
