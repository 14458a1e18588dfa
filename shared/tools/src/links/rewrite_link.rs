//! `rewrite_link`: gives links to a file, or with a target, another target, in all notes.

use std::sync::Arc;

use atlas_access::Access;
use atlas_mirror::{Attempt, ChangeSet, Snapshot};
use atlas_ops::arguments::{self, Given, Message, Root, Text};
use atlas_ops::error::{Error, Reason};
use atlas_ops::operation::{Answer, Context, Info, Operation, PathAccess, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::pipeline::response_limit::cut;
use atlas_ops::read::index::{Index, Want};
use atlas_ops::read::links::{self, Naming};
use atlas_ops::read::view::View;
use atlas_ops::write::batch::{Batch, NewDocument};
use atlas_ops::write::commit;
use atlas_ops::write::relocate::{MAX_NOTES, unlinkable};
use atlas_ops::write::writable;
use atlas_vault::VaultPath;
use atlas_vault::relink::Retarget;
use atlas_vault::resolve::{names, resolve};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most bytes of notes rewritten at once.
const MAX_REWRITTEN_BYTES: usize = 48 << 20;

/// Gives all links to a note or another file a new target, in every note or in those of a folder, in one commit.
pub struct RewriteLink;

/// The links, and their new target.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The current target, as written in a note in the root of the vault: a name or a path, without `#`. All links to the file that it means are rewritten, however they are written; if it means none, those with this target.
    from_target: Text<1024>,
    /// The new target: the file that it means, or the text itself if it means none.
    to_target: Text<1024>,
    /// The scope: if not given, the folder in folder_path, or all notes if that is not given either.
    #[serde(default)]
    scope: Given<Where>,
    /// For `folder`: its path.
    #[serde(default)]
    #[schemars(with = "String", length(max = 1024))]
    folder_path: Given<String>,
    /// Change nothing, and return what would be changed; true if not given.
    #[serde(default = "arguments::yes")]
    dry_run: bool,
    #[serde(default)]
    message: Given<Message>,
}

/// The scope of a rewrite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Where {
    /// In all notes.
    Vault,
    /// In the notes of a folder.
    Folder,
}

/// The result.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// As given.
    from_target: String,
    /// As given.
    to_target: String,
    /// The notes with such links, by path; only the first if not all fit into the answer.
    files_modified: Vec<Modified>,
    /// Whether there are more notes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    /// The number of links in all notes.
    total_replacements: usize,
    /// Whether this was a dry run, so that nothing was changed.
    dry_run: bool,
    /// The new generation; on a dry run, the one that was read.
    generation: u64,
}

/// A note with such links. A keyed commit stores it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Modified {
    /// Its path.
    path: String,
    /// The number of such links.
    occurrences: usize,
}

impl Operation for RewriteLink {
    const INFO: Info = Info {
        name: "rewrite_link",
        title: "Rewrite links",
        description: "Gives all links to a note or another file a new target, in every note or in those of a folder, in one commit: wikilinks, embeds and markdown links, which keep their display text and subpath. Unresolved links are found by their text. It is a dry run unless dry_run is false; then a person has to confirm it. To rename a note with its links take move_note. Example: {\"from_target\": \"Old name\", \"to_target\": \"New name\", \"dry_run\": false}",
        scopes: &[Scope::ReadVault, Scope::WriteVault, Scope::BulkVault],
        destructive: true,
        tags: &["links", "bulk"],
        idempotent: true,
        aliases: &[Alias::Name("folder", "folder_path"), Alias::Only("include_embeds", "true")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    fn accesses(_: &Arguments) -> Result<Vec<PathAccess>, Error> {
        // The notes with such links are found later.
        Ok(Vec::new())
    }

    fn needs_confirmation(arguments: &Arguments) -> bool {
        !arguments.dry_run
    }

    fn is_dry_run(arguments: &Arguments) -> bool {
        arguments.dry_run
    }

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let root = match (*arguments.scope, &*arguments.folder_path) {
            (None | Some(Where::Vault), None) => Root::default(),
            (None | Some(Where::Folder), Some(folder)) => Root::of("folder_path", folder)?,
            (_, folder) => {
                let message =
                    if folder.is_some() { "write scope: folder with it" } else { "write it for scope: folder" };
                let message = format!("folder_path: {message}");
                return Err(Error::bad_request(Reason::InvalidInput, message).with("field", "folder_path"));
            }
        };
        let (from, to) = (arguments.from_target.as_str(), arguments.to_target.as_str());
        let change = Rewriting { context, from, to, root };
        let message =
            arguments.message.as_ref().map_or_else(|| format!("{from} to {to}"), |why| why.as_str().to_owned());
        let (modified, generation) = if arguments.dry_run {
            let look = |view: View| {
                let change = &change;
                async move { Ok((change.plan(view.snapshot()).await?.0, view.generation())) }
            };
            context.read(look).await?.value
        } else {
            commit::commit(context, &Self::INFO, Some(&message), &change).await?.kept()
        };
        let total_replacements = modified.iter().map(|note| note.occurrences).sum();
        let mut files_modified = modified;
        // Changes are reported even if the report must be cut.
        let truncated = cut(&mut files_modified, context);
        let output = Output {
            from_target: from.to_owned(),
            to_target: to.to_owned(),
            total_replacements,
            files_modified,
            truncated,
            dry_run: arguments.dry_run,
            generation,
        };
        Ok(Answer { value: output, generation: Some(generation) })
    }
}

struct Rewriting<'a> {
    context: &'a Context<'a>,
    from: &'a str,
    to: &'a str,
    root: Root,
}

impl Rewriting<'_> {
    async fn plan<'h>(&'h self, head: &'h Arc<Snapshot>) -> Result<(Vec<Modified>, Batch<'h>), Error> {
        let view = || self.context.view(head.clone());
        let base = arguments::path("root", "root.md")?;
        let all = Index::fetch(view(), Want { names: true, ..Want::default() }).await?;
        let files = links::files_named(&all, &names(self.from).chain(names(self.to)).collect())?;
        let [meant, new] = [self.from, self.to].map(|target| resolve(target, &base, &files));
        // The notes would tell where these are.
        [meant, new].into_iter().flatten().for_each(|path| self.context.reads(path));
        let written = || {
            let target = self.from.trim_start_matches(['.', '/']);
            let parsed =
                [format!("{target}.md"), target.to_owned()].into_iter().find_map(|path| VaultPath::parse(&path).ok());
            let message = "from_target: no file can have this path: write a name or a path without its heading";
            parsed.ok_or_else(|| Error::bad_request(Reason::InvalidInput, message).with("field", "from_target"))
        };
        let named = meant.cloned().map_or_else(written, Ok)?;
        let naming = Naming::of([&named], head.segments().len());
        let probes = naming.probes();
        let index = Index::fetch(view(), naming.want(&probes)).await?;
        let mut allowed = naming.allowed(&index)?;
        allowed.retain(|_, path| self.root.holds(path.as_str()));
        let retarget = Retarget { from: self.from, meant, to: self.to, new, files: &files };
        let (mut rewritten, mut places, mut bytes) = (Vec::new(), Vec::new(), 0);
        for (document, path, text) in links::naming(&index, allowed, &[naming]).await? {
            let Ok(note) = std::str::from_utf8(&text) else { continue };
            self.context.work.check()?;
            links::check_length(&path, &text)?;
            if let Some(relinked) = retarget.rewrite(note, &path).map_err(unlinkable)?.filter(|new| new.text != note) {
                self.context.check(Access::Write, &path)?;
                bytes += relinked.text.len();
                if bytes > MAX_REWRITTEN_BYTES {
                    return Err(links::too_many(&format!("at most {MAX_REWRITTEN_BYTES} bytes of notes")));
                }
                rewritten.push((path, relinked));
                places.push((document, text));
            }
        }
        if rewritten.len() > MAX_NOTES {
            let what = format!("{} notes have such links; at most {MAX_NOTES} of them", rewritten.len());
            return Err(links::too_many(&what));
        }
        let mut batch = Batch::on(head, self.context);
        let mut modified = Vec::new();
        for ((path, relinked), was) in rewritten.into_iter().zip(links::found(head, &index, places).await?) {
            modified.push(Modified { path: path.as_str().to_owned(), occurrences: relinked.meant.len() });
            batch.put(NewDocument::text(path, relinked.text.into(), Some(&was), self.context.now)?, Some(&was));
        }
        modified.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        Ok((modified, batch))
    }
}

impl ChangeSet for Rewriting<'_> {
    type Error = Error;
    type Outcome = commit::Outcome<Vec<Modified>>;

    async fn derive(&self, head: Option<&Arc<Snapshot>>) -> Result<Attempt<Self::Outcome>, Error> {
        let (modified, batch) = self.plan(writable::published(head)?).await?;
        if batch.is_empty() {
            return Ok(Attempt::nothing(modified.into()));
        }
        Ok(Attempt::changes(batch.derived().await?, modified.into()))
    }
}
