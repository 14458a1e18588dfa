//! `create_entity`: makes an entity, which is a note of the memory folder.

use std::sync::Arc;

use atlas_access::Access;
use atlas_mirror::{Hash, Snapshot};
use atlas_ops::arguments::{Text, invalid_input};
use atlas_ops::error::Error;
use atlas_ops::operation::{Answer, Context, Info, Operation, Scope};
use atlas_ops::pipeline::aliases::Alias;
use atlas_ops::read::facts::Facts;
use atlas_ops::write::creating::{self, Creation};
use atlas_segment::SectionName;
use atlas_vault::entity::{file_name, new_text};
use atlas_vault::{VaultPath, fold};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::known::Known;
use super::refused;

/// Makes an entity of the memory.
pub struct CreateEntity;

/// Which entity.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The kind of thing, as `person`, `project`, `decision` or `concept`.
    #[serde(rename = "type")]
    kind: Text<100>,
    /// Its name, which no other entity of this type has.
    name: Text<500>,
    /// Its observations: facts of one line each, 500 at most.
    #[serde(default)]
    #[schemars(length(max = 500))]
    observations: Vec<Text<10_000>>,
}

/// The entity.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Its id, for the other tools: the path of its note.
    entity_id: String,
    /// The kind of thing.
    #[serde(rename = "type")]
    kind: String,
    /// Its name.
    name: String,
    /// The path of its note.
    vault_path: String,
    /// When it was created.
    #[schemars(with = "String", extend("format" = "date-time"))]
    created_at: Timestamp,
}

const MAX_OBSERVATIONS: usize = 500;

impl Operation for CreateEntity {
    const INFO: Info = Info {
        name: "create_entity",
        title: "Remember something new",
        description: "Makes an entity of the memory that agents share: a person, project, decision, concept or the like, with what is known of it. It is a note in the memory folder, which people read and edit in Obsidian. Look with get_entity first whether it is there. Add facts later with add_observation, and relations with link_entities. Example: {\"type\": \"person\", \"name\": \"Ada Lovelace\", \"observations\": [\"Prefers tea\"]}",
        // It tells whether there is one.
        scopes: &[Scope::ReadVault, Scope::WriteVault],
        tags: &["memory"],
        aliases: &[Alias::Only("materialize", "true")],
        ..Info::HARMLESS
    };
    type Arguments = Arguments;
    type Output = Output;

    async fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer<Output>, Error> {
        let Arguments { kind, name, observations } = arguments;
        if observations.len() > MAX_OBSERVATIONS {
            return Err(invalid_input(
                "observations",
                &format!("write at most {MAX_OBSERVATIONS}, and add the others later"),
            ));
        }
        let observations: Vec<String> = observations.iter().map(|text| text.as_str().to_owned()).collect();
        let new = New { kind: kind.as_str(), name: name.as_str(), observations: &observations };
        // Before anything is looked at.
        context.check(Access::Write, &new.path(context, "")?)?;
        let plan = |head: Arc<Snapshot>| new.plan(context, head);
        let Answer { value: created, generation } = creating::create(context, &Self::INFO, plan).await?;
        let value = Output {
            entity_id: created.path.clone(),
            kind: new.kind.to_owned(),
            name: new.name.to_owned(),
            vault_path: created.path,
            created_at: created.at,
        };
        Ok(Answer { value, generation })
    }
}

#[derive(Clone, Copy)]
struct New<'a> {
    kind: &'a str,
    name: &'a str,
    observations: &'a [String],
}

impl New<'_> {
    /// The path of its note, with a mark that tells names apart of which files would be one.
    fn path(&self, context: &Context<'_>, mark: &str) -> Result<VaultPath, Error> {
        let (folder, kind) = (context.vault.memory().prefix(), fold(&file_name(self.kind)));
        let path = VaultPath::parse(&format!("{folder}{kind}/{}{mark}.md", file_name(self.name)));
        path.map_err(|error| invalid_input("name", &error.to_string()))
    }

    /// The note to create on a state.
    async fn plan(self, context: &Context<'_>, head: Arc<Snapshot>) -> Result<Creation<()>, Error> {
        let facts = Facts::fetch(context, context.view(head), &[SectionName::Properties]).await?;
        let known = Known { facts: &facts, folder: context.vault.memory() };
        let entities = known.all()?;
        if let Some((_, known)) = entities.iter().find(|(_, one)| one.kind == self.kind && one.name == self.name) {
            let message = format!("{} is this {} already: add to it with add_observation", known.id, known.kind);
            return Err(invalid_input("name", &message).with("entity_id", known.id.as_str()));
        }
        let plain = self.path(context, "")?;
        let is_entity = entities.iter().any(|(_, entity)| entity.id == plain.as_str());
        let path = if is_entity || is_alike(&facts, known.folder.prefix(), &plain)? {
            let hash = Hash::of(format!("{}\n{}", self.kind, self.name).as_bytes()).to_string();
            self.path(context, &format!(" ({})", hash.get(..8).unwrap_or_default()))?
        } else {
            plain
        };
        let created = context.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let text = new_text(self.kind, self.name, path.stem(), &created, self.observations);
        let text =
            text.map_err(|error| refused(if self.observations.is_empty() { "name" } else { "observations" }, &error))?;
        Ok(Creation { path, text: text.into_bytes(), kept: () })
    }
}

/// Whether a file has this path in other letters: some systems keep one of the two only.
fn is_alike(facts: &Facts, prefix: &str, path: &VaultPath) -> Result<bool, Error> {
    let wanted = fold(path.as_str());
    for segment in facts.index().segments() {
        for document in facts.index().paths(segment)?.with_prefix(prefix) {
            let there = facts.index().paths(segment)?.path(document)?;
            if there != path.as_str() && fold(&there) == wanted && facts.shows(segment, document) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
