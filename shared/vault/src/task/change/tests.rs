use super::*;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

const DAY: &str = "2026-01-02";

/// Changes a task that is not part of a note.
fn change(text: &str, wanted: &Change, format: Format) -> Result<String, ChangeError> {
    super::change(text, &tags_alone(text), wanted, format)
}

fn one(field: Field, value: Option<&str>) -> Change {
    Change { fields: vec![(field, value.map(str::to_owned))], ..Change::default() }
}

#[track_caller]
fn changed(text: &str, wanted: &Change) -> String {
    change(text, wanted, Format::Emoji).unwrap()
}

#[test]
fn all_that_a_task_says_is_read() {
    let text = "Call #home/now ann 🆔 a1 ⛔ b2, c3 ⏫ 🔁 every week when done 🏁 delete ➕ 2026-01-01 🛫 2026-01-02 ⏳ 2026-01-03 📅 2026-01-04 ❌ 2026-01-05 ✅ 2026-01-06 #later ^id";
    assert_eq!(
        fields(text),
        TaskFields {
            description: "Call #home/now ann #later".into(),
            id: Some("a1"),
            depends_on: vec!["b2", "c3"],
            priority: Some(Priority::High),
            recurrence: Some("every week when done"),
            on_completion: Some("delete"),
            created: Some("2026-01-01"),
            start: Some("2026-01-02"),
            scheduled: Some("2026-01-03"),
            due: Some("2026-01-04"),
            cancelled: Some("2026-01-05"),
            done: Some("2026-01-06"),
            tags: vec!["home/now", "later"],
            block_id: Some("id"),
            format: Some(Format::Emoji),
        }
    );
    let text = "Call ann [id:: a1]  (dependsOn:: b2,c3) [priority:: lowest], [repeat:: every 2 days]  [due:: 2026-01-04] [completion::2026-01-06]";
    let read = fields(text);
    assert_eq!((read.description.as_ref(), read.id, read.depends_on), ("Call ann", Some("a1"), vec!["b2", "c3"]));
    assert_eq!((read.priority, read.recurrence), (Some(Priority::Lowest), Some("every 2 days")));
    assert_eq!((read.due, read.done, read.format), (Some("2026-01-04"), Some("2026-01-06"), Some(Format::Dataview)));
}

#[test]
fn what_does_not_stand_at_the_end_or_is_no_value_is_part_of_the_description() {
    for text in
        ["📅 2026-01-04 call", "call 📅 soon", "call [due:: soon]", "call [when:: 2026-01-04]", "call 📅", "", "^", "#"]
    {
        assert_eq!(fields(text), TaskFields { description: text.into(), ..TaskFields::default() }, "{text}");
    }
    assert_eq!(fields("call 📅\u{FE0F} 2026-01-04").due, Some("2026-01-04"));
    assert_eq!(fields("call 🗓️2026-01-04 🔼\u{FE0F}").due, Some("2026-01-04"));
    assert_eq!(fields("call 📅 2026-01-04 📅 2026-01-05").due, Some("2026-01-04"));
    assert_eq!(fields("call 📅 2026-01-04 #2 ⏳ 2026-01-05").due, Some("2026-01-04"));
}

#[test]
fn a_field_is_written_where_its_like_stand_and_as_they_are() {
    let due = one(Field::Due, Some(DAY));
    assert_eq!(changed("call", &due), "call 📅 2026-01-02");
    assert_eq!(changed("", &due), "📅 2026-01-02");
    assert_eq!(changed("call ^id", &due), "call 📅 2026-01-02 ^id");
    assert_eq!(changed("call  ➕ 2026-01-01  ✅ 2026-01-03", &due), "call  ➕ 2026-01-01 📅 2026-01-02  ✅ 2026-01-03");
    assert_eq!(changed("call 📆2026-01-09 #a", &due), "call 📆2026-01-02 #a");
    assert_eq!(changed("call [start:: 2026-01-01] #a", &due), "call [start:: 2026-01-01]  [due:: 2026-01-02] #a");
    assert_eq!(change("call", &due, Format::Dataview).unwrap(), "call  [due:: 2026-01-02]");
    assert_eq!(changed("call 🔽 #a", &one(Field::Priority, Some("highest"))), "call 🔺 #a");
    assert_eq!(changed("call 📅 2026-01-01 📅 2026-01-02 #a", &one(Field::Due, None)), "call #a");
}

#[test]
fn tags_and_description_are_changed_apart_from_the_fields() {
    let wanted = |add: &[&str], remove: &[&str]| Change {
        add_tags: add.iter().map(|tag| (*tag).to_owned()).collect(),
        remove_tags: remove.iter().map(|tag| (*tag).to_owned()).collect(),
        ..Change::default()
    };
    assert_eq!(changed("call 📅 2026-01-02", &wanted(&["#new", "b"], &[])), "call #new #b 📅 2026-01-02");
    assert_eq!(changed("call #New 📅 2026-01-02", &wanted(&["new"], &[])), "call #New 📅 2026-01-02");
    assert_eq!(changed("call #a/b #A x 📅 2026-01-02 #a", &wanted(&[], &["a"])), "call #a/b x 📅 2026-01-02");
    assert_eq!(changed("run `grep #a f` #a", &wanted(&[], &["a"])), "run `grep #a f`");
    let said = |text: &str| Change { description: Some(text.to_owned()), ..Change::default() };
    assert_eq!(changed("call #a 📅 2026-01-02 #b ^id", &said("Ring #c")), "Ring #c 📅 2026-01-02 ^id");
    for text in ["x 📅 2026-01-02", "a\nb", "a ^b"] {
        assert_eq!(change("call", &said(text), Format::Emoji), Err(ChangeError::Description), "{text}");
    }
    assert!(matches!(change("call", &wanted(&["1"], &[]), Format::Emoji), Err(ChangeError::Tag(_))));
    for (field, value) in [(Field::Due, "soon"), (Field::Recurrence, "a]b"), (Field::Id, ""), (Field::Priority, "🔼")]
    {
        let refused = change("call", &one(field, Some(value)), Format::Emoji);
        assert!(matches!(refused, Err(ChangeError::Value { .. })), "{value}: {refused:?}");
    }
}

#[test]
fn a_field_that_is_there_very_often_goes_wholly_or_not_at_all() {
    let text = |count: usize| format!("call{}", " 📅 2026-01-02".repeat(count));
    assert_eq!(changed(&text(100), &one(Field::Due, None)), "call");
    let refused = change(&text(200_000), &one(Field::Due, None), Format::Emoji);
    assert_eq!(refused, Err(ChangeError::Entangled { field: Field::Due }));
}

/// Fields in their order, each with a value.
fn any_fields() -> impl Strategy<Value = Vec<(Field, String)>> {
    let day = "20[0-9]{2}-[01][0-9]-[0-3][0-9]";
    (subsequence(Field::ALL.to_vec(), 0..=Field::ALL.len()), vec(day, 11), "[a-z0-9]{1,6}", "every [a-z]{1,5}")
        .prop_map(|(fields, days, id, rule)| {
            let values = fields.iter().zip(days).map(|(field, day)| match field {
                Field::Id | Field::DependsOn => id.clone(),
                Field::Priority => "high".to_owned(),
                Field::Recurrence => rule.clone(),
                Field::OnCompletion => "delete".to_owned(),
                _ => day,
            });
            fields.iter().copied().zip(values.collect::<Vec<_>>()).collect()
        })
}

fn any_task() -> impl Strategy<Value = String> {
    const WORDS: &[&str] = &[
        " ",
        " ",
        "call",
        "#a",
        "#b/c",
        "📅 2026-01-02",
        "📅",
        "🔁 every day",
        "⏫",
        "🆔 x",
        "⛔ x,y",
        "[due:: 2026-01-02]",
        "(id:: x)",
        "[",
        "::",
        "]",
        ",",
        " ^id",
        "✅2026-01-03",
        "\u{FE0F}",
        "é",
        "\t",
    ];
    vec(select(WORDS), 0..12).prop_map(|words| words.concat().trim().to_owned())
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(said in "[a-z]{1,8}( #[a-z]{1,4})?", written in any_fields(), dataview: bool) {
        let format = if dataview { Format::Dataview } else { Format::Emoji };
        let wanted = Change {
            fields: written.iter().rev().map(|(field, value)| (*field, Some(value.clone()))).collect(),
            ..Change::default()
        };
        let text = change(&said, &wanted, format).unwrap();
        let line = Line::read(&text);
        let read: Vec<(Field, String)> = line.tokens.iter().filter_map(|token| {
            let value = text.get(token.value.clone())?;
            Some((token.field?, told(token.field?, value).into_owned()))
        }).collect();
        prop_assert_eq!(&read, &written);
        prop_assert_eq!(fields(&text).description, said.as_str());
        // Setting a value again changes nothing; removing the field restores the text.
        prop_assert_eq!(change(&text, &wanted, format).unwrap(), text.as_str());
        let none = Change { fields: written.iter().map(|(field, _)| (*field, None)).collect(), ..Change::default() };
        prop_assert_eq!(change(&text, &none, format).unwrap(), said);
    }

    #[test]
    fn a_change_of_any_task_changes_what_it_names_or_nothing(text in any_task(), field in select(Field::ALL.to_vec()), written in any_fields()) {
        let value = written.iter().find(|(other, _)| *other == field).map(|(_, value)| value.clone());
        let wanted = Change { fields: vec![(field, value.clone())], ..Change::default() };
        if let Ok(edited) = change(&text, &wanted, Format::Emoji) {
            let (mut before, mut after) = (fields(&text), fields(&edited));
            prop_assert_eq!(Line::read(&edited).value(field).map(|value| told(field, value).into_owned()), value);
            clear(&mut before, field);
            clear(&mut after, field);
            prop_assert_eq!(before, after);
        }
    }

    #[test]
    fn a_tag_that_is_added_and_removed_leaves_no_trace(text in any_task(), name in "[d-z]{1,4}") {
        let add = Change { add_tags: vec![name.clone()], ..Change::default() };
        let remove = Change { remove_tags: vec![name.clone()], ..Change::default() };
        let added = changed(&text, &add);
        prop_assert!(fields(&added).tags.contains(&name.as_str()), "{:?}", added);
        prop_assert_eq!(changed(&added, &remove), text);
    }

    #[test]
    fn any_text_is_read(text in "(?s).{0,40}") {
        let _ = fields(&text);
    }
}
