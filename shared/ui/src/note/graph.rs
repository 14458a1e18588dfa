//! The notes near a note, as a picture: itself in the middle, what is one link away around it, what is two away around that.

use std::collections::BTreeMap;
use std::f64::consts::TAU;

use atlas_vault::visible::visible;
use maud::{Markup, html};
use serde_json::Value;

use crate::answer::Answered as _;
use crate::links;

const MIDDLE: f64 = 150.0;
const NEAR: f64 = 68.0;
const FAR: f64 = 122.0;
/// Longest name that is shown, in letters, and most names.
const MAX_NAME: usize = 16;
const MAX_NAMES: usize = 12;

/// A note in the picture.
struct Dot<'a> {
    path: &'a str,
    x: f64,
    y: f64,
    /// Where the line to it begins.
    from: (f64, f64),
    is_far: bool,
}

/// The picture; nothing, if there is no other note.
pub(super) fn show(path: &str, neighbors: &[Value]) -> Markup {
    if neighbors.is_empty() {
        return html! {};
    }
    let dots = dots(neighbors);
    let near = dots.iter().filter(|dot| !dot.is_far).count();
    html! {
        h2 { "Near" }
        svg.graph viewBox="0 0 300 300" role="group" aria-label="Notes near this one" {
            @for dot in &dots { line x1=(dot.from.0) y1=(dot.from.1) x2=(dot.x) y2=(dot.y) {} }
            @for dot in &dots {
                a href=(links::document(dot.path)) aria-label=(visible(links::name(dot.path))) class=[dot.is_far.then_some("far")] {
                    title { (dot.path) }
                    circle cx=(dot.x) cy=(dot.y) r=(if dot.is_far { 4 } else { 6 }) {}
                    @if !dot.is_far && near <= MAX_NAMES { text x=(dot.x) y=(dot.y + 16.0) aria-hidden="true" { (short(dot.path)) } }
                }
            }
            g.here { title { (visible(path)) } circle cx=(MIDDLE) cy=(MIDDLE) r="8" {} }
        }
    }
}

fn dots(neighbors: &[Value]) -> Vec<Dot<'_>> {
    let of = |depth: u64| neighbors.iter().filter(move |one| one.number("depth") == depth);
    let mut places: BTreeMap<&str, f64> = BTreeMap::new();
    let mut dots = Vec::with_capacity(neighbors.len());
    let near = of(1).count().max(1);
    for (number, one) in of(1).enumerate() {
        let angle = TAU * number as f64 / near as f64 - TAU / 4.0;
        places.insert(one.text("path"), angle);
        let (x, y) = at(angle, NEAR);
        dots.push(Dot { path: one.text("path"), x, y, from: (MIDDLE, MIDDLE), is_far: false });
    }
    // Those behind one note stand beside each other.
    let mut behind: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in of(2) {
        behind.entry(one.text("via")).or_default().push(one.text("path"));
    }
    let room = TAU / near as f64;
    for (via, paths) in behind {
        let Some(angle) = places.get(via) else { continue };
        for (number, path) in paths.iter().enumerate() {
            let share = (number as f64 + 1.0) / (paths.len() as f64 + 1.0) - 0.5;
            let (x, y) = at(angle + room * share, FAR);
            dots.push(Dot { path, x, y, from: at(*angle, NEAR), is_far: true });
        }
    }
    dots
}

/// The point at this angle and distance from the middle, to a tenth.
fn at(angle: f64, distance: f64) -> (f64, f64) {
    let tenth = |number: f64| (number * 10.0).round() / 10.0;
    (tenth(MIDDLE + distance * angle.cos()), tenth(MIDDLE + distance * angle.sin()))
}

fn short(path: &str) -> String {
    let name = links::name(path);
    if name.chars().count() <= MAX_NAME {
        return visible(name).into_owned();
    }
    let begin: String = name.chars().take(MAX_NAME - 1).collect();
    format!("{}…", visible(&begin))
}
