//! The form where the person decides what a client may do, and for how long; reading alone is the first choice.

use std::time::Duration;

use atlas_access::Scope;
use atlas_access::token::{MAX_FOLDER, MAX_FOLDERS};
use atlas_oauth::Choice;
use atlas_vault::VaultPath;
use maud::{Markup, html};

use crate::frame::OTHER_VAULT;
use crate::visit::{Form, Visit};

const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;
/// How long a grant may last, in seconds, and the words for it.
const TIMES: [(u64, &str); 6] = [
    (HOUR, "an hour"),
    (DAY, "a day"),
    (7 * DAY, "a week"),
    (30 * DAY, "30 days"),
    (90 * DAY, "90 days"),
    (366 * DAY, "a year"),
];
/// The one that is chosen first.
const FIRST: u64 = 30 * DAY;

/// The form at `action`. `hidden` are fields that come back as they are. A form that was sent before, and has a problem, comes back with all that
/// it had.
pub(crate) fn form(
    visit: &Visit,
    action: &str,
    hidden: &[(&str, &str)],
    scopes: &[Scope],
    sent: Option<(&Form, &str)>,
) -> Markup {
    let vaults = visit.app().atlas.vaults();
    let first = scopes.iter().find(|scope| **scope == Scope::ReadVault).or(scopes.first());
    let sent_text = |name: &str| sent.map_or("", |(form, _)| form.text(name));
    let chosen = sent_text("vault");
    let is_listed = vaults.iter().any(|vault| vault.id == chosen);
    let other = match sent_text(OTHER_VAULT).trim() {
        // A chosen vault that this page does not list stays, as an id.
        "" if !is_listed => chosen,
        other => other,
    };
    let is_chosen = |scope: &Scope| match sent {
        Some((form, _)) => form.all("scope").any(|chosen| chosen == scope.as_str()),
        None => Some(scope) == first,
    };
    let time = sent_text("time").parse().unwrap_or(FIRST.min(longest(visit)));
    html! {
        @if let Some((_, problem)) = sent { p.problem role="alert" { (problem) } }
        form.stack method="post" action=(action) {
            (visit.form_token())
            @for (name, value) in hidden { input type="hidden" name=(name) value=(value); }
            @if vaults.len() > 1 {
                label for="vault" { "Vault" }
                select #vault name="vault" { @for vault in vaults { option value=(vault.id) selected[vault.id == chosen] { (vault.name()) } } }
            } @else {
                @for vault in vaults { input type="hidden" name="vault" value=(vault.id); }
            }
            @if visit.app().has_documented_vaults() {
                label for="other-vault" { "Or another vault, by its id" @if let [vault] = vaults { "; empty for " (vault.name()) } }
                input #other-vault name=(OTHER_VAULT) value=(other) maxlength="64" autocomplete="off" autocapitalize="none" spellcheck="false";
            }
            fieldset {
                legend { "It may" }
                @for scope in scopes {
                    label.choice { input type="checkbox" name="scope" value=(scope) checked[is_chosen(scope)]; " " (words(*scope)) }
                }
            }
            label for="folders" { "Only in these folders, one a line; empty for the whole vault" }
            textarea #folders name="folders" rows="2" spellcheck="false" placeholder="Projects/Boat" { (sent_text("folders")) }
            label for="time" { "For" }
            select #time name="time" {
                @for (seconds, text) in times(visit) { option value=(seconds) selected[seconds == time] { (text) } }
            }
            div.decide {
                button.primary type="submit" name="decision" value="allow" { "Allow" }
                button type="submit" name="decision" value="deny" { "Do not allow" }
            }
        }
    }
}

/// The choice of the person who sent the form; [`None`] if they said no.
pub(crate) async fn choice(form: &Form, scopes: &[Scope]) -> Result<Option<Choice>, String> {
    let visit = &form.visit;
    if form.text("decision") != "allow" {
        return Ok(None);
    }
    let other = form.text(OTHER_VAULT).trim();
    let vault = if other.is_empty() { form.text("vault") } else { other };
    if !visit.app().has_vault(vault).await.map_err(|error| error.message.to_string())? {
        return Err("There is no such vault: write its id, as its document has it.".to_owned());
    }
    let chosen: Vec<&str> = form.all("scope").collect();
    let scopes: Vec<Scope> = scopes.iter().copied().filter(|scope| chosen.contains(&scope.as_str())).collect();
    if scopes.is_empty() {
        return Err("Choose at least one thing that it may do, or do not allow it.".to_owned());
    }
    let known = |seconds: &u64| times(visit).any(|(time, _)| time == *seconds);
    let seconds = form.text("time").parse().ok().filter(known).ok_or("Choose how long it may do that.")?;
    Ok(Some(Choice {
        person: visit.visitor.caller.name().to_owned(),
        vault: vault.to_owned(),
        scopes,
        folders: folders(form.text("folders"))?,
        time: Duration::from_secs(seconds),
    }))
}

/// The folders in the lines of `text`; [`None`] if there are none.
fn folders(text: &str) -> Result<Option<Vec<String>>, String> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).take(MAX_FOLDERS + 1).collect();
    if lines.len() > MAX_FOLDERS {
        return Err(format!("Write at most {MAX_FOLDERS} folders."));
    }
    let folder = |line: &&str| {
        let path = VaultPath::parse(line.trim_end_matches('/')).ok().filter(|path| path.as_str().len() <= MAX_FOLDER);
        path.map(|path| path.as_str().to_owned())
            .ok_or_else(|| format!("{line} cannot be a folder: write one as Projects/Boat."))
    };
    let folders: Vec<String> = lines.iter().map(folder).collect::<Result<_, _>>()?;
    Ok((!folders.is_empty()).then_some(folders))
}

fn longest(visit: &Visit) -> u64 {
    visit.app().gate.issuer().map_or(DAY, |issuer| u64::from(issuer.options.max_grant_days) * DAY)
}

fn times(visit: &Visit) -> impl Iterator<Item = (u64, &'static str)> {
    let longest = longest(visit);
    TIMES.into_iter().filter(move |(seconds, _)| *seconds <= longest)
}

/// A scope in words.
const fn words(scope: Scope) -> &'static str {
    match scope {
        Scope::ReadVault => "read your notes",
        Scope::WriteVault => "create and change notes",
        Scope::DeleteVault => "delete notes",
        Scope::BulkVault => "change or delete many notes at once",
        Scope::ApproveVault => "decide on calls that wait for you",
        Scope::Admin => "administer this service",
        Scope::ExecuteCommand => "run commands of your Obsidian",
        Scope::ExecuteDataview => "ask the Dataview of your Obsidian",
        Scope::ExecuteOcr => "have your Obsidian read the text of pictures",
        Scope::ExecuteMakemd => "ask the make.md of your Obsidian",
        Scope::ExecuteWorkspace => "open and save workspaces of your Obsidian",
    }
}
