//! The HTML that may stay: markup of text, without scripts, styles, forms, frames, foreign identifiers and addresses that load something from elsewhere.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::LazyLock;

use ammonia::Builder;

use super::PREFIX;
use super::callouts::KINDS;
use super::parts::FORMATTING;

/// Longest value of an attribute, in bytes.
const MAX_VALUE: usize = 4096;

/// How addresses of other sites begin.
pub(super) const OUTSIDE: [&str; 3] = ["https://", "http://", "mailto:"];
/// How the addresses of notes, files and tags begin.
const WITHIN: [&str; 3] = ["/ui/note?path=", "/ui/file?path=", "/ui/search?q=tag%3A"];

static PLAIN: LazyLock<Builder<'static>> = LazyLock::new(|| builder(false));
static WITH_PICTURES: LazyLock<Builder<'static>> = LazyLock::new(|| builder(true));

/// `html`, as far as it is harmless. Pictures of other sites stay only `with_pictures`.
pub(super) fn clean(html: &str, with_pictures: bool) -> String {
    let builder = if with_pictures { &WITH_PICTURES } else { &PLAIN };
    builder.clean(html).to_string()
}

fn builder(with_pictures: bool) -> Builder<'static> {
    let mut builder = Builder::default();
    builder
        .add_tags(["audio", "video", "mark"])
        .add_tag_attributes("audio", ["src", "controls"])
        .add_tag_attributes("video", ["src", "controls"])
        .add_tag_attributes("details", ["open"])
        .add_tag_attributes("img", ["width", "height", "alt"])
        .add_generic_attributes(["id"])
        .id_prefix(Some(PREFIX))
        .url_schemes(HashSet::from(["http", "https", "mailto"]))
        .link_rel(Some("noopener noreferrer nofollow"))
        .attribute_filter(move |element, attribute, value| address(element, attribute, value, with_pictures));
    for (tag, classes) in [
        ("a", vec!["tag"]),
        ("span", vec!["missing", "elsewhere", "picture", "box", "math", "math-inline", "math-display"]),
        ("div", [vec!["callout", "title", "embed", "from", "footnote-definition"], KINDS.to_vec()].concat()),
        ("details", [vec!["callout"], KINDS.to_vec()].concat()),
        ("sup", vec!["footnote-reference", "footnote-definition-label"]),
    ] {
        builder.add_allowed_classes(tag, classes);
    }
    builder
}

/// Whether a link may lead there: to another site, which the style marks by these beginnings, or where links and tags of a note lead. Other pages of the service
/// would look like part of the note.
fn leads_on(address: &str) -> bool {
    OUTSIDE.iter().chain(&WITHIN).any(|beginning| address.starts_with(beginning))
}

/// An attribute, as it may stay.
fn address<'v>(element: &str, attribute: &str, value: &'v str, with_pictures: bool) -> Option<Cow<'v, str>> {
    if value.len() > MAX_VALUE {
        return None;
    }
    match (element, attribute) {
        // These elements may be repeated, with all that they have.
        (_, "title" | "lang" | "hreflang") if FORMATTING.contains(&element) => None,
        (_, "id") if FORMATTING.contains(&element) && element != "a" => None,
        // Elements that load by themselves load from the vault.
        (_, "src") => {
            let is_own = value.starts_with("/ui/file?path=");
            let is_asked_for = with_pictures && element == "img" && value.starts_with("https://");
            (is_own || is_asked_for).then_some(value.into())
        }
        ("a", "href") => match value.strip_prefix('#') {
            Some(anchor) => Some(format!("#{PREFIX}{anchor}").into()),
            None => leads_on(value).then_some(value.into()),
        },
        (_, "cite" | "background" | "poster" | "longdesc" | "usemap") => None,
        _ => Some(value.into()),
    }
}
