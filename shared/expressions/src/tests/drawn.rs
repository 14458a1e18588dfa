use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::world::World;
use crate::pages::Pages as _;
use crate::syntax::tree::{Expr, Node, Operator};
use crate::time::{Duration, Unit};
use crate::value::{Link, Value};
use crate::{Dialect, Kind, dql, plan};

const OPERATORS: [Operator; 13] = [
    Operator::Or,
    Operator::And,
    Operator::Equal,
    Operator::Unequal,
    Operator::Less,
    Operator::AtMost,
    Operator::Greater,
    Operator::AtLeast,
    Operator::Plus,
    Operator::Minus,
    Operator::Times,
    Operator::Over,
    Operator::Modulo,
];

fn expr(node: Node) -> Expr {
    Expr::new(node, 0)
}

fn text() -> impl Strategy<Value = Arc<str>> {
    prop_oneof![
        "[ -~]{0,8}".prop_map(Arc::from),
        any::<String>().prop_map(|text| text.chars().take(6).collect::<String>().into()),
        prop::sample::select(vec![
            "a",
            "B",
            "a-b",
            "name",
            "(a+)",
            "x y",
            "2021-04-18",
            "\\w+",
            "",
            "yyyy-MM-dd",
            "1 day",
            "+",
            "EUR"
        ])
        .prop_map(Arc::from),
    ]
}

fn name(dialect: Dialect) -> impl Strategy<Value = Arc<str>> {
    let names = match dialect {
        Dialect::Dataview => vec!["a", "b", "file", "this", "row", "time-played", "ünï", "📷", "ratinG_2"],
        Dialect::Bases => vec!["a", "b", "file", "this", "note", "formula", "value", "ünï", "_x$", "📷"],
    };
    prop::sample::select(names).prop_map(Arc::from)
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![(0..100_u32).prop_map(f64::from), (0..3_u32).prop_map(f64::from), 0.0..1e6_f64, Just(1e30)]
}

fn leaf(dialect: Dialect) -> BoxedStrategy<Expr> {
    let both = prop_oneof![
        Just(Node::Null),
        any::<bool>().prop_map(Node::Boolean),
        number().prop_map(Node::Number),
        text().prop_map(Node::Text),
        name(dialect).prop_map(Node::Variable),
    ];
    match dialect {
        Dialect::Bases => {
            let regex = prop::sample::select(vec!["a+", "\\d", "[/]", "(x)|y"]);
            let regex = regex.prop_map(|source| Node::Regex(source.into(), "g".into()));
            prop_oneof![5 => both, 1 => regex].prop_map(expr).boxed()
        }
        Dialect::Dataview => {
            let link = ("[a-z #|^]{0,8}", any::<bool>())
                .prop_map(|(inner, embed)| Node::Link(Link { embed, ..Link::inner(&inner) }));
            let duration = (0..8_usize, 0..100_u32).prop_map(|(unit, count)| {
                let unit = Unit::ALL.get(unit % 7).copied().unwrap_or(Unit::Day);
                Node::Duration(Duration::of(unit, f64::from(count)))
            });
            let date = prop::sample::select(vec![
                "date(2021-04-18)",
                "date(2020-02)",
                "date(2021-04-18T12:30:05+02:00)",
                "date(today)",
                "date(eow)",
            ]);
            let date = date.prop_map(|text| Dialect::Dataview.parse(text).unwrap().node);
            prop_oneof![5 => both, 1 => link, 1 => duration, 1 => date, 1 => (-100..0_i32).prop_map(|n| Node::Number(n.into()))]
                .prop_map(expr)
                .boxed()
        }
    }
}

/// Expressions that call functions there are, with arguments of all kinds.
pub(super) fn expressions(dialect: Dialect) -> impl Strategy<Value = Expr> {
    leaf(dialect).prop_recursive(4, 40, 4, move |inner| {
        let some = prop::collection::vec(inner.clone(), 0..4);
        let pair = (inner.clone(), inner.clone());
        let of = move |parts: Vec<&'static str>| {
            prop::sample::select(parts).prop_map(|name| expr(Node::Variable(name.into())))
        };
        let index = (inner.clone(), prop_oneof![inner.clone(), text().prop_map(|text| expr(Node::Text(text)))]);
        let object = prop::collection::btree_map("[a-c\"\\\\ ]{0,2}", inner.clone(), 0..3);
        let both = prop_oneof![
            some.clone().prop_map(Node::List),
            object.prop_map(|entries| Node::Object(
                entries.into_iter().map(|(name, value)| (name.into(), value)).collect()
            )),
            inner.clone().prop_map(|inner| Node::Not(Box::new(inner))),
            (prop::sample::select(OPERATORS.to_vec()), pair)
                .prop_map(|(operator, (left, right))| { Node::Binary(operator, Box::new(left), Box::new(right)) }),
            index.prop_map(|(object, index)| Node::Index(Box::new(object), Box::new(index))),
        ];
        let own = match dialect {
            Dialect::Dataview => {
                let names: Vec<&'static str> = crate::eval::functions::names().collect();
                let lambda = (prop::collection::vec(name(dialect), 0..3), inner.clone());
                let lambda = lambda.prop_map(|(names, body)| Node::Lambda(names.into(), Arc::new(body)));
                let function = prop_oneof![8 => of(names), 1 => inner.clone()];
                prop_oneof![
                    1 => lambda,
                    4 => (function, some).prop_map(|(function, arguments)| Node::Call(Box::new(function), arguments)),
                ]
                .boxed()
            }
            Dialect::Bases => {
                let (global, methods) = crate::eval::methods::names();
                let method = (inner.clone(), prop::sample::select(methods))
                    .prop_map(|(on, name)| expr(Node::Index(Box::new(on), Box::new(expr(Node::Text(name.into()))))));
                let function = prop_oneof![of(global), method];
                prop_oneof![
                    1 => inner.clone().prop_map(|inner| Node::Negative(Box::new(inner))),
                    4 => (function, some).prop_map(|(function, arguments)| Node::Call(Box::new(function), arguments)),
                ]
                .boxed()
            }
        };
        prop_oneof![both, own].prop_map(expr)
    })
}

fn world() -> World {
    World::default()
        .note("a/One.md", json!({ "a": 1, "b": "x", "list": [1, "x"], "day": "2024-05-01" }), &["#t/u"], &["Two"])
        .note("b/Two.md", json!({ "a": "x", "b": null, "list": [] }), &["#t"], &["One", "Nowhere"])
        .note("b/Three.md", json!({ "b": 3, "day": 5 }), &[], &[])
        .note("c/pic.png", json!({}), &[], &[])
}

/// Either a value or an error that is no defect; and no more steps than are allowed.
fn bounded(dialect: Dialect, expr: &Expr) {
    let world = world();
    for this in [None, Some("a/One.md")] {
        let evaluator = world.evaluator(dialect, this);
        for path in world.paths() {
            let value = evaluator.evaluate(expr, &Value::page(path));
            if let Ok(value) = &value {
                let _ = crate::show::json(value, &mut { 1_000_000 });
                if let Err(error) = crate::show::text(value, dialect) {
                    assert_eq!(error.kind, Kind::Limit, "{error}");
                }
            }
            if let Err(error) = value {
                assert_ne!(error.kind, Kind::Syntax, "{error}");
                assert!(!error.message.is_empty());
            }
        }
    }
}

/// A filter as people write it: comparisons, tags and folders, put together.
fn filters() -> impl Strategy<Value = (Dialect, String)> {
    let bases = vec![
        "file.hasTag(\"t\")",
        "file.hasTag(\"t/u\", \"v\")",
        "file.inFolder(\"b\")",
        "file.name == \"One.md\"",
        "file.ext == \"md\"",
        "a == 1",
        "a != \"x\"",
        "a > 0",
        "note.b == \"x\"",
        "3 <= b",
        "file.hasLink(\"Two\")",
        "file.hasLink(this)",
        "file.hasProperty(\"a\")",
        "list.contains(1)",
        "b",
        "file.name.contains(\"T\")",
        "day > \"2024-01-01\"",
        "file.folder == \"b\"",
    ];
    let dataview = vec![
        "a = 1",
        "a != \"x\"",
        "a > 0",
        "b < 4",
        "file.name = \"One\"",
        "file.folder = \"b\"",
        "contains(list, 1)",
        "b",
        "length(list) > 0",
        "day = 5",
        "\"x\" >= b",
    ];
    let combined = |atoms: Vec<&'static str>, and: &'static str, or: &'static str| {
        prop::sample::select(atoms).prop_map(str::to_owned).prop_recursive(4, 24, 3, move |inner| {
            prop_oneof![
                (inner.clone(), inner.clone()).prop_map(move |(left, right)| format!("({left} {and} {right})")),
                (inner.clone(), inner.clone()).prop_map(move |(left, right)| format!("({left} {or} {right})")),
                inner.prop_map(|inner| format!("!({inner})")),
            ]
        })
    };
    prop_oneof![
        combined(bases, "&&", "||").prop_map(|filter| (Dialect::Bases, filter)),
        combined(dataview, "and", "or").prop_map(|filter| (Dialect::Dataview, filter)),
    ]
}

proptest! {
    #[test]
    fn printing_and_parsing_gives_the_same_expression_of_dataview(expr in expressions(Dialect::Dataview)) {
        let text = Dialect::Dataview.print(&expr);
        prop_assert_eq!(Dialect::Dataview.parse(&text), Ok(expr), "{}", text);
    }

    #[test]
    fn printing_and_parsing_gives_the_same_expression_of_bases(expr in expressions(Dialect::Bases)) {
        let text = Dialect::Bases.print(&expr);
        prop_assert_eq!(Dialect::Bases.parse(&text), Ok(expr), "{}", text);
    }

    #[test]
    fn evaluating_ends_and_does_not_panic(dataview in expressions(Dialect::Dataview), bases in expressions(Dialect::Bases)) {
        bounded(Dialect::Dataview, &dataview);
        bounded(Dialect::Bases, &bases);
    }

    #[test]
    fn parsing_any_text_ends_and_does_not_panic(text in any::<String>(), signs in "[\\[\\](){}\"'/.,!|&=<>+*%#^~ a1-]{0,40}") {
        for text in [&text, &signs] {
            for dialect in [Dialect::Dataview, Dialect::Bases] {
                if let Ok(expr) = dialect.parse(text) {
                    let printed = dialect.print(&expr);
                    prop_assert_eq!(dialect.parse(&printed), Ok(expr), "{}", printed);
                }
            }
            let _ = dql::parse(&format!("TABLE {text}"));
            let _ = dql::parse(&format!("LIST FROM {text}"));
        }
    }

    #[test]
    fn queries_are_printed_so_that_they_parse_to_the_same(
        values in prop::collection::vec((expressions(Dialect::Dataview), text()), 1..4),
        steps in prop::collection::vec(0..5_usize, 0..4),
        source in prop::option::of(prop::sample::select(vec!["#a", "\"x\" or [[y]]", "!(#a and outgoing([[b]])) or csv(\"c\")"])),
        header in 0..4_usize,
        with_id in any::<bool>(),
    ) {
        let columns: Vec<_> = values.iter().map(|(value, name)| dql::Column { name: name.to_string(), value: value.clone() }).collect();
        let first = columns.first().unwrap().clone();
        let steps = steps.into_iter().map(|step| match step {
            0 => dql::Step::Where(first.value.clone()),
            1 => dql::Step::Sort(values.iter().map(|(value, _)| (value.clone(), with_id)).collect()),
            2 => dql::Step::Limit(first.value.clone()),
            3 => dql::Step::Flatten(first.clone()),
            _ => dql::Step::Group(first.clone()),
        });
        let header = match header {
            0 => dql::Header::List { value: Some(first.value.clone()), with_id },
            1 => dql::Header::Table { columns: columns.clone(), with_id },
            2 => dql::Header::Task,
            _ => dql::Header::Calendar(first.clone()),
        };
        let source = source.map(|source| dql::parse(&format!("LIST\nFROM {source}")).unwrap().source.unwrap());
        let query = dql::Query { header, source, steps: steps.collect() };
        let text = query.to_string();
        prop_assert_eq!(dql::parse(&text), Ok(query), "{}", text);
    }

    #[test]
    fn what_an_index_decides_of_a_filter_and_the_rest_is_the_filter((dialect, filter) in filters()) {
        let world = world();
        let evaluator = world.evaluator(dialect, Some("b/Two.md"));
        let expr = dialect.parse(&filter).unwrap();
        let plan = plan::of(&expr, &evaluator);
        for path in world.paths() {
            let row = Value::page(path.clone());
            let naive = evaluator.truth(&evaluator.evaluate(&expr, &row).unwrap());
            let rest = plan.rest.iter().all(|rest| evaluator.truth(&evaluator.evaluate(rest, &row).unwrap()));
            let planned = plan.holds(&evaluator, &path).unwrap() && rest;
            prop_assert_eq!(planned, naive, "{} for {}: {:?}", filter, path, plan);
        }
    }
}

/// Without this, a plan that decides nothing would pass too.
#[test]
fn simple_filters_are_decided_whole() {
    let world = world();
    let evaluator = world.evaluator(Dialect::Bases, Some("b/Two.md"));
    let filter = "file.hasTag(\"t\", \"u\") && (a > 1 || !(b == 2)) && !(file.inFolder(\"x\") || file.hasLink(this.file)) && c.lower() == \"x\"";
    let plan = plan::of(&Dialect::Bases.parse(filter).unwrap(), &evaluator);
    assert_eq!(plan.clauses.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 1, 1]);
    assert_eq!(plan.rest.iter().map(|rest| Dialect::Bases.print(rest)).collect::<Vec<_>>(), ["c.lower() == \"x\""]);
    let evaluator = world.evaluator(Dialect::Dataview, None);
    let query = dql::parse("LIST FROM #t and ([[One]] or !#u)").unwrap();
    assert_eq!(
        plan::of_source(&query.source.unwrap(), &evaluator).clauses.iter().map(Vec::len).collect::<Vec<_>>(),
        [1, 2]
    );
}

#[test]
fn lists_that_grow_without_end_are_stopped() {
    let world = world();
    let evaluator = world.evaluator(Dialect::Dataview, None);
    let letters = "split(\"a\" * 100000, \"\")";
    let hostile = [
        format!("map({letters}, (a) => map({letters}, (b) => map({letters}, (c) => a + b + c)))"),
        format!("reduce({letters}, (a, b) => [a])"),
        format!("reduce({letters}, (a, b) => a + a)"),
        "((f) => f(f))((f) => f(f))".to_owned(),
        "\"a\" * 1000000000000".to_owned(),
        "padleft(\"a\", 1000000000000)".to_owned(),
        "regextest(\"(((a{1000}){1000}){1000}){1000}\", \"a\")".to_owned(),
    ];
    for text in hostile {
        let error = evaluator.evaluate(&Dialect::Dataview.parse(&text).unwrap(), &Value::Null).unwrap_err();
        assert_eq!(error.kind, Kind::Limit, "{text}: {error}");
    }
}
