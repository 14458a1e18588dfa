//! The page for people at `/ui`: what agents did, what they want to do, and the notes. It is a door like the others: every page is rendered on the
//! server from answers of operations, which pass the same gates as any call.
//!
//! Notes, names of callers and messages are hostile input. All of it is escaped or sanitised, no page runs or loads anything that is not the service's own, and
//! no form does anything without the token of its session.
//!
//! # Layout
//!
//! - this file: the routes
//! - [`session`]: how visitors are known: links that work once, cookies, sign-out; `entrance`: what others
//!   get; `sign_in`: signing in and out; `upstream`: through another service
//! - `visit`: a request of a visitor, and a form that they sent; `frame`: what all pages have in common; `response`: their headers;
//!   `assets`: the style sheet and the script; `answer`: reads answers of operations; `links`: addresses of pages; `words`: numbers and names in words
//! - `approvals`: calls that wait; `activity`: commits; `undo`: takes them back; `changes`: files before and after; `diff`: their lines
//! - `search`: search as you type; `note`: a note, and what is around it; `markdown`: notes as HTML; `history`: versions of a note;
//!   `files`: attachments
//! - `sync`, `connect`, `access`: about the deployment; `conflict`: a file and its conflict copy; `vaults`: which one is looked at; `grants`: what clients were allowed
//! - `authorize`, `device`: a client or a terminal asks for tokens; `consent`: what the person allows it

mod access;
mod activity;
mod answer;
mod approvals;
mod assets;
mod authorize;
mod changes;
mod conflict;
mod connect;
mod consent;
mod device;
mod diff;
mod entrance;
mod files;
mod frame;
mod grants;
mod history;
mod links;
mod markdown;
mod note;
mod response;
mod search;
pub mod session;
mod sign_in;
mod sync;
mod undo;
mod upstream;
mod vaults;
mod visit;
mod words;

use atlas_tools::access::approve::Approve;
use atlas_tools::access::list_approvals::ListApprovals;
use atlas_tools::access::refuse::Refuse;
use atlas_tools::attachments::get_attachment::GetAttachment;
use atlas_tools::conflicts::read_conflict::ReadConflict;
use atlas_tools::conflicts::resolve_conflict::ResolveConflict;
use atlas_tools::entry;
use atlas_tools::history::list_commits::ListCommits;
use atlas_tools::history::note_history::NoteHistory;
use atlas_tools::history::read_commit::ReadCommit;
use atlas_tools::history::restore_note::RestoreNote;
use atlas_tools::history::undo_changes::UndoChanges;
use atlas_tools::notes::read_note::ReadNote;
use atlas_tools::search::Search;
use atlas_web::Routes;
use axum::http::HeaderMap;
use axum::routing::{get, post};

/// The routes of the page.
#[must_use]
pub fn routes() -> Routes {
    let (list, approve, refuse) = (entry::<ListApprovals>(), entry::<Approve>(), entry::<Refuse>());
    let (commits, commit, undo) = (entry::<ListCommits>(), entry::<ReadCommit>(), entry::<UndoChanges>());
    let (read, versions, restore) = (entry::<ReadNote>(), entry::<NoteHistory>(), entry::<RestoreNote>());
    let (conflict, resolve) = (entry::<ReadConflict>(), entry::<ResolveConflict>());
    let (search, file) = (entry::<Search>(), entry::<GetAttachment>());
    Routes::default()
        .merge(sign_in_routes())
        .serve("/", &[], get(sign_in::home))
        .serve("/ui", &[], get(approvals::page))
        .serve("/ui/", &[], get(sign_in::home))
        .serve("/ui/open/{code}", &[], get(sign_in::open))
        .serve("/ui/vault", &[], post(vaults::choose))
        .serve("/ui/sign-out", &[], post(sign_in::sign_out))
        .serve("/ui/approvals", &[list], get(approvals::page))
        .serve("/ui/approvals/list", &[list], get(approvals::list))
        .serve("/ui/approvals/approve", &[approve], post(approvals::decide::approve))
        .serve("/ui/approvals/refuse", &[refuse], post(approvals::decide::refuse))
        .serve("/ui/approvals/{id}", &[list], get(approvals::one))
        .serve("/ui/activity", &[commits], get(activity::page))
        .serve("/ui/activity/{generation}", &[commit], get(activity::commit))
        .serve("/ui/undo", &[undo], get(undo::preview).post(undo::undo))
        .serve("/ui/search", &[search], get(search::page))
        .serve("/ui/search/results", &[search], get(search::results))
        .serve("/ui/note", &[read], get(note::page).post(note::with_pictures))
        .serve("/ui/history", &[versions], get(history::page))
        .serve("/ui/restore", &[restore], post(history::restore))
        .serve("/ui/file", &[file], get(files::file))
        .serve("/ui/sync", &[], get(sync::page).post(sync::ask))
        .serve("/ui/conflict", &[conflict, resolve], get(conflict::page).post(conflict::resolve))
        .serve("/ui/connect", &[], get(connect::page))
        .serve("/ui/access", &[], get(access::page))
        .serve("/ui/access/revoke", &[], post(grants::revoke))
}

/// The routes to sign in, and what their pages load. They are among [`routes`].
#[must_use]
pub fn sign_in_routes() -> Routes {
    Routes::default()
        .with_pages(is_page)
        .serve("/ui/sign-in", &[], get(sign_in::page).post(sign_in::by_form))
        .serve(atlas_oauth::upstream::BEGIN, &[], post(upstream::begin))
        .serve(atlas_oauth::upstream::BACK, &[], get(upstream::back))
        .serve("/ui/assets/{name}", &[], get(assets::asset))
}

/// The routes where a person decides about clients.
#[must_use]
pub fn consent_routes() -> Routes {
    Routes::default()
        .with_pages(is_page)
        .serve(atlas_oauth::metadata::AUTHORIZE, &[], get(authorize::page).post(authorize::decide))
        .serve("/ui/device", &[], get(device::page).post(device::decide))
}

/// Whether a request is for the page. A browser that asks for the service itself is sent to it.
fn is_page(path: &str, headers: &HeaderMap) -> bool {
    path == "/ui" || path.starts_with("/ui/") || (path == "/" && response::takes_html(headers))
}
