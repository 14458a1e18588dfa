//! Numbers as JavaScript writes and rounds them.

/// The number as JavaScript writes it.
pub(crate) fn text(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let size = number.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    if (1e-6..1e21).contains(&size) {
        return number.to_string();
    }
    let text = format!("{number:e}");
    match text.split_once('e') {
        Some((digits, power)) if !power.starts_with('-') => format!("{digits}e+{power}"),
        _ => text,
    }
}

/// The number with `places` digits (at most 100) after the point; halves are rounded away from zero.
pub(crate) fn fixed(number: f64, places: usize) -> String {
    if !number.is_finite() || number.abs() >= 1e21 {
        return text(number);
    }
    let places = places.min(100);
    // 25 more digits tell a half from what is next to it, since a number has 17 digits.
    let long = format!("{:.*}", places + 25, number.abs());
    let (kept, rest) = long.split_at(long.len() - 25);
    let up = rest.as_bytes().first().is_some_and(|digit| *digit >= b'5');
    let mut digits: Vec<u8> = kept.bytes().collect();
    if up {
        let mut at = digits.len();
        loop {
            if at == 0 {
                digits.insert(0, b'1');
                break;
            }
            at -= 1;
            match digits.get_mut(at) {
                Some(digit) if *digit == b'9' => *digit = b'0',
                Some(digit) if digit.is_ascii_digit() => {
                    *digit += 1;
                    break;
                }
                _ => {}
            }
        }
    }
    let written = String::from_utf8(digits).unwrap_or_default();
    let written = written.strip_suffix('.').unwrap_or(&written);
    if number < 0.0 { format!("-{written}") } else { written.to_owned() }
}

/// The nearest whole number; halves go up.
pub(crate) fn round(number: f64) -> f64 {
    let floor = number.floor();
    if number - floor >= 0.5 { floor + 1.0 } else { floor }
}

/// A number as JavaScript reads it from a whole text (`Number("…")`), without its hexadecimal and other forms.
pub(crate) fn read(text: &str) -> Option<f64> {
    let text = text.trim_matches(crate::emoji::is_space);
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+' | b'e' | b'E'));
    if text.is_empty() || !plain {
        return None;
    }
    text.parse().ok()
}

/// The whole number of steps from `from`, counted as JavaScript counts them: below 0 from the end; at most `length`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "clamped before"
)]
pub(crate) fn index(from: f64, length: usize) -> usize {
    let whole = if from.is_nan() { 0.0 } else { from.trunc() };
    let at = if whole < 0.0 { length as f64 + whole } else { whole };
    at.clamp(0.0, length as f64) as usize
}

/// Thousands are set apart with commas, as in English.
pub(crate) fn grouped(digits: &str) -> String {
    let (whole, rest) = digits.split_once('.').map_or((digits, None), |(whole, rest)| (whole, Some(rest)));
    let mut written = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            written.push(',');
        }
        written.push(digit);
    }
    if let Some(rest) = rest {
        written.push('.');
        written.push_str(rest);
    }
    written
}
