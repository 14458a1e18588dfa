//! The frame of all pages: the head, the bar with the sections, and the foot.

use maud::{DOCTYPE, Markup, html};

use crate::assets;

/// The field that shows that a form is of a page of the session.
pub(crate) const FORM_TOKEN: &str = "form_token";
/// The field with the id of the vault that a form is of.
pub(crate) const OF_VAULT: &str = "of-vault";
/// The field with the id of a vault that no list names.
pub(crate) const OTHER_VAULT: &str = "other-vault";

/// The visitor of a page.
#[derive(Clone, Copy)]
pub(crate) struct Who<'a> {
    pub(crate) name: &'a str,
    pub(crate) form_token: &'a str,
    /// The vaults that they may look at, by their ids and names, and the id of the one that they do.
    pub(crate) vaults: &'a [(String, String)],
    pub(crate) vault: &'a str,
    /// Whether they may look at one that is not in the list, by its id.
    pub(crate) takes_id: bool,
}

impl Who<'_> {
    /// The hidden fields that every form has.
    pub(crate) fn field(self) -> Markup {
        html! {
            input type="hidden" name=(FORM_TOKEN) value=(self.form_token);
            input type="hidden" name=(OF_VAULT) value=(self.vault);
        }
    }
}

/// A section of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Approvals,
    Activity,
    Search,
    Sync,
    Connect,
    Access,
    /// None of those in the bar.
    Other,
}

const SECTIONS: [(Section, &str, &str); 6] = [
    (Section::Approvals, "/ui", "Approvals"),
    (Section::Activity, "/ui/activity", "Activity"),
    (Section::Search, "/ui/search", "Search"),
    (Section::Sync, "/ui/sync", "Sync"),
    (Section::Connect, "/ui/connect", "Connect"),
    (Section::Access, "/ui/access", "Access"),
];

/// A whole page. For nobody it has no sections.
pub(crate) fn page(who: Option<Who<'_>>, section: Section, title: &str, content: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(title, html! {}))
            body {
                a.skip href="#content" { "Skip to the content" }
                header.bar {
                    a.brand href="/ui" { (mark()) "Atlas Mirror" }
                    @if let Some(who) = who { (sections(section)) (visitor(who)) }
                }
                main #content tabindex="-1" { (content) }
            }
        }
    }
}

/// The page that sends the browser on to `address`, as if the visitor had followed a link of this very site. A browser that does not go by itself shows the link.
pub(crate) fn onward(address: &str) -> Markup {
    let refresh = html! { meta http-equiv="refresh" content=(format!("0;url={address}")); };
    html! {
        (DOCTYPE)
        html lang="en" {
            (head("Atlas Mirror", refresh))
            body { main #content { p { a href=(address) { "Continue" } } } }
        }
    }
}

fn head(title: &str, more: Markup) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            meta name="robots" content="noindex";
            title { (atlas_vault::visible::visible(title)) " · Atlas Mirror" }
            link rel="icon" href=(assets::address(assets::ICON)) type="image/svg+xml";
            link rel="stylesheet" href=(assets::address(assets::STYLE));
            script src=(assets::address(assets::SCRIPT)) defer {}
            (more)
        }
    }
}

/// The mark of the program: a note and its image in the water.
fn mark() -> Markup {
    html! {
        svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true" {
            path d="M6 3h8l4 4v4H6z" fill="currentColor" {}
            path d="M6 13h12v2l-4 4H6z" fill="currentColor" opacity="0.35" {}
        }
    }
}

fn sections(section: Section) -> Markup {
    html! {
        nav.sections aria-label="Sections" {
            @for (one, address, name) in SECTIONS {
                a href=(address) aria-current=[(one == section).then_some("page")] { (name) }
            }
        }
    }
}

/// Leads to the other vaults, if there are any.
fn vaults(who: Who<'_>) -> Markup {
    html! {
        @if who.vaults.len() > 1 || who.takes_id {
            form.vaults method="post" action="/ui/vault" {
                (who.field())
                select name="vault" aria-label="Vault" {
                    @for (id, name) in who.vaults { option value=(id) selected[id == who.vault] { (name) } }
                }
                @if who.takes_id {
                    input name=(OTHER_VAULT) aria-label="Another vault, by its id" placeholder="or by its id" size="12" maxlength="64" autocomplete="off" autocapitalize="none" spellcheck="false";
                }
                button type="submit" { "Switch" }
            }
        }
    }
}

fn visitor(who: Who<'_>) -> Markup {
    html! {
        (vaults(who))
        form.who method="post" action="/ui/sign-out" {
            (who.field())
            span.name title="Signed in as" { (who.name) }
            button.plain type="submit" { "Sign out" }
        }
    }
}

/// The notice of a page after something was done.
pub(crate) fn said(text: Option<&str>) -> Markup {
    html! { @if let Some(text) = text { p.said role="status" { (text) } } }
}
