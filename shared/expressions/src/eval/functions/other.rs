use super::Function;
use super::shape::{each, unfit};
use crate::error::{Error, Result};
use crate::eval::Evaluator;
use crate::numbers;
use crate::value::{MAX_VALUE_BYTES, Object, Value};

pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("default", |evaluator, arguments| defaulted(evaluator, "default", arguments, &[0, 1])),
    ("ldefault", |evaluator, arguments| defaulted(evaluator, "ldefault", arguments, &[])),
    ("display", display),
    ("choice", choice),
    ("currencyformat", currency),
    ("hash", hash),
    ("meta", meta),
];

fn defaulted(evaluator: &Evaluator<'_>, name: &str, arguments: &[Value], positions: &[usize]) -> Result<Value> {
    each(evaluator, arguments, positions, &|arguments| match arguments {
        [Value::Null, other] => Ok(other.clone()),
        [value, _] => Ok(value.clone()),
        _ => Err(unfit(name, arguments)),
    })
}

fn choice(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    let positions: &[usize] = if arguments.len() == 3 { &[0] } else { &[] };
    each(evaluator, arguments, positions, &|arguments| match arguments {
        [condition, left, right] => Ok(if evaluator.truth(condition) { left } else { right }.clone()),
        _ => Err(unfit("choice", arguments)),
    })
}

fn display(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    match arguments {
        [value] => {
            let mut text = String::new();
            displayed(evaluator, value, 0, &mut text)?;
            Ok(text.into())
        }
        _ => Err(unfit("display", arguments)),
    }
}

fn displayed(evaluator: &Evaluator<'_>, value: &Value, depth: usize, text: &mut String) -> Result<()> {
    evaluator.spend(1)?;
    if depth > 40 {
        return Err(Error::limit("lists may nest 40 deep"));
    }
    match value {
        Value::Null => {}
        Value::List(items) => {
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    text.push_str(", ");
                }
                displayed(evaluator, item, depth + 1, text)?;
            }
        }
        Value::Text(own) => text.push_str(&plain(evaluator, own)?),
        Value::Link(link) => match &link.display {
            Some(display) if !display.is_empty() => text.push_str(&plain(evaluator, display)?),
            _ => text.push_str(&link.shown()),
        },
        _ => text.push_str(&evaluator.shown(value)?),
    }
    if text.len() > MAX_VALUE_BYTES { evaluator.make(text.len()) } else { Ok(()) }
}

/// Markdown as plain text: links are what they show, marks of emphasis, code, headings, quotes and lists go.
fn plain(evaluator: &Evaluator<'_>, text: &str) -> Result<String> {
    const STEPS: [(&str, &str); 10] = [
        (r"\[\[([^|\]]*)\]\]", "$1"),
        (r"\[\[[^\]]*?\|([^\]]*)\]\]", "$1"),
        (r"!\[([^\]]*)\]\([^)]*\)", "$1"),
        (r"\[([^\]]*)\]\([^)]*\)", "$1"),
        (r"(?:\*\*\*|___)(\S(?:[^*_]*\S)?)(?:\*\*\*|___)", "$1"),
        (r"(?:\*\*|__)(\S(?:[^*_]*\S)?)(?:\*\*|__)", "$1"),
        (r"\*(\S(?:[^*]*\S)?)\*", "$1"),
        (r"`([^`]+)`", "$1"),
        (r"~~([^~]+)~~", "$1"),
        (r"^(?:#{1,6} +|> ?|[*+-] )", ""),
    ];
    if !text.contains(['[', '*', '_', '`', '~', '#', '>', '+', '-', '!']) {
        return Ok(text.to_owned());
    }
    let mut plain = text.to_owned();
    for (pattern, by) in STEPS {
        plain = evaluator.pattern(pattern, "gm")?.replace(&plain, by, true);
    }
    Ok(plain)
}

fn currency(evaluator: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    each(evaluator, arguments, if arguments.len() == 2 { &[0] } else { &[] }, &|arguments| match arguments {
        [Value::Number(number)] => Ok(money(*number, "USD")?.into()),
        [Value::Number(number), Value::Text(code)] => Ok(money(*number, code)?.into()),
        [Value::Null] | [Value::Null, Value::Text(_)] => Ok(Value::Null),
        _ => Err(unfit("currencyformat", arguments)),
    })
}

/// An amount as it is written in American English.
fn money(number: f64, code: &str) -> Result<String> {
    const SIGNS: [(&str, &str); 22] = [
        ("USD", "$"),
        ("EUR", "€"),
        ("GBP", "£"),
        ("JPY", "¥"),
        ("INR", "₹"),
        ("CNY", "CN¥"),
        ("KRW", "₩"),
        ("CAD", "CA$"),
        ("AUD", "A$"),
        ("MXN", "MX$"),
        ("BRL", "R$"),
        ("NZD", "NZ$"),
        ("HKD", "HK$"),
        ("TWD", "NT$"),
        ("ILS", "₪"),
        ("VND", "₫"),
        ("PHP", "₱"),
        ("XAF", "FCFA"),
        ("XOF", "F\u{202f}CFA"),
        ("XPF", "CFPF"),
        ("XCD", "EC$"),
        ("XXX", "¤"),
    ];
    if code.len() != 3 || !code.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return Err(Error::evaluation(format!("\"{code}\" is not a currency: write three letters, like EUR")));
    }
    if !number.is_finite() {
        return Err(Error::evaluation("there is no such amount of money"));
    }
    let code = code.to_ascii_uppercase();
    let places = match code.as_str() {
        "JPY" | "KRW" | "VND" | "XAF" | "XOF" | "XPF" | "CLP" | "ISK" | "UGX" | "PYG" | "RWF" | "GNF" | "DJF"
        | "KMF" | "BIF" | "VUV" => 0,
        "KWD" | "BHD" | "OMR" | "JOD" | "TND" | "LYD" => 3,
        _ => 2,
    };
    let digits = numbers::grouped(&numbers::fixed(number.abs(), places));
    let sign = SIGNS
        .iter()
        .find(|(own, _)| *own == code)
        .map_or_else(|| format!("{code}\u{a0}"), |(_, sign)| (*sign).to_owned());
    // A sign of letters stands apart from the digits.
    let gap = if sign.ends_with(char::is_alphabetic) { "\u{a0}" } else { "" };
    Ok(format!("{}{sign}{gap}{digits}", if number.is_sign_negative() { "-" } else { "" }))
}

fn hash(_: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    let (text, variant) = match arguments {
        [Value::Text(seed), Value::Number(variant)] => (seed.to_string(), *variant),
        [Value::Text(seed), Value::Text(text)] => (format!("{seed}{text}"), 0.0),
        [Value::Text(seed), Value::Text(text), Value::Number(variant)] => (format!("{seed}{text}"), *variant),
        _ => return Err(unfit("hash", arguments)),
    };
    Ok(Value::Number(cyrb53(&text, variant)))
}

/// The hash `cyrb53` of the text: a whole number below 2^53.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the hash is of 32 bits, as JavaScript has them"
)]
fn cyrb53(text: &str, seed: f64) -> f64 {
    let seed = if seed.is_finite() { seed.trunc().rem_euclid(4_294_967_296.0) as u32 } else { 0 };
    let (mut high, mut low) = (0xdead_beef_u32 ^ seed, 0x41c6_ce57_u32 ^ seed);
    for unit in text.encode_utf16() {
        high = (high ^ u32::from(unit)).wrapping_mul(2_654_435_761);
        low = (low ^ u32::from(unit)).wrapping_mul(1_597_334_677);
    }
    let mix = |one: u32, other: u32| {
        (one ^ (one >> 16)).wrapping_mul(2_246_822_507) ^ (other ^ (other >> 13)).wrapping_mul(3_266_489_909)
    };
    high = mix(high, low);
    low = mix(low, high);
    4_294_967_296.0 * f64::from(low & 0x1f_ffff) + f64::from(high)
}

fn meta(_: &Evaluator<'_>, arguments: &[Value]) -> Result<Value> {
    let [Value::Link(link)] = arguments else { return Err(unfit("meta", arguments)) };
    let mut object = Object::new();
    object.insert("display".into(), link.display.as_deref().into());
    object.insert("embed".into(), link.embed.into());
    object.insert("path".into(), Value::Text(link.path.clone()));
    object.insert("subpath".into(), link.subpath.as_deref().into());
    object.insert("type".into(), link.target.name().into());
    Ok(Value::object(object))
}
