//! How entities are related. The graph of links tells which notes may say so; only their texts are read.

use std::collections::{BTreeSet, HashMap};

use atlas_ops::error::Error;
use atlas_ops::operation::Context;
use atlas_ops::read::graph::Graph;
use atlas_ops::read::index::DocumentRef;
use atlas_segment::text::decoded;
use atlas_vault::VaultPath;
use atlas_vault::entity::Entity;

use super::known::Known;

/// A relation to or from an entity: its kind, and the other one.
pub(super) type Edge = (String, DocumentRef);

/// Most notes and bytes of notes that one call reads.
const MAX_NOTES: usize = 2000;
const MAX_BYTES: u64 = 32 << 20;

/// The relations of entities, as far as they were read.
pub(super) struct Relations<'a> {
    graph: &'a Graph,
    known: Known<'a>,
    outgoing: HashMap<DocumentRef, Vec<Edge>>,
    bytes: u64,
}

impl<'a> Relations<'a> {
    /// None yet.
    pub(super) fn new(graph: &'a Graph, known: Known<'a>) -> Self {
        Self { graph, known, outgoing: HashMap::new(), bytes: 0 }
    }

    /// Reads the relations that these entities have to others, those of the first first. Whether all were within the limits.
    pub(super) async fn read(&mut self, context: &Context<'_>, of: &[DocumentRef]) -> Result<bool, Error> {
        let mut seen = BTreeSet::new();
        let is_new = |one: &DocumentRef| !self.outgoing.contains_key(one) && seen.insert(*one);
        let wanted: Vec<DocumentRef> = of.iter().copied().filter(is_new).collect();
        let index = self.graph.index();
        let mut within = 0;
        for document in &wanted {
            self.bytes += u64::from(index.span(*document)?.length);
            if self.bytes > MAX_BYTES || self.outgoing.len() + within >= MAX_NOTES {
                break;
            }
            within += 1;
        }
        let is_all = within == wanted.len();
        let mut rest = wanted.get(..within).unwrap_or_default();
        while !rest.is_empty() {
            let (count, _) = index.wave(rest, |document| *document)?;
            let (wave, more) = rest.split_at(count.min(rest.len()));
            for (document, text) in wave.iter().zip(index.texts(wave).await?) {
                context.work.check()?;
                let entity = Entity::read(&decoded(&text));
                let edges = entity.map_or(Ok(Vec::new()), |entity| self.of(*document, &entity))?;
                self.outgoing.insert(*document, edges);
            }
            rest = more;
        }
        Ok(is_all)
    }

    /// The relations of the entity at `document` to others, each once.
    pub(super) fn of(&self, document: DocumentRef, entity: &Entity) -> Result<Vec<Edge>, Error> {
        let mut edges = Vec::new();
        let Ok(path) = VaultPath::parse(&self.graph.path(document)?) else { return Ok(edges) };
        let mut seen = BTreeSet::new();
        for relation in &entity.relations {
            let Some(other) = self.graph.meant(&relation.target, &path)? else { continue };
            if self.known.of(other)?.is_some() && seen.insert((relation.kind.as_str(), other)) {
                edges.push((relation.kind.clone(), other));
            }
        }
        Ok(edges)
    }

    /// The relations of an entity to others, as far as they were read.
    pub(super) fn outgoing(&self, document: DocumentRef) -> &[Edge] {
        self.outgoing.get(&document).map(Vec::as_slice).unwrap_or_default()
    }

    /// The other entities with links to this one, by path.
    pub(super) fn sources(&self, document: DocumentRef) -> Result<Vec<DocumentRef>, Error> {
        let Ok(path) = VaultPath::parse(&self.graph.path(document)?) else { return Ok(Vec::new()) };
        let mut sources = self.graph.incoming(&path, document)?;
        let mut entities = Vec::with_capacity(sources.len());
        for source in sources.drain(..) {
            if self.known.of(source)?.is_some() {
                entities.push(source);
            }
        }
        Ok(entities)
    }

    /// The relations that these others have to an entity, as far as they were read.
    pub(super) fn incoming<'s>(
        &'s self,
        document: DocumentRef,
        sources: &'s [DocumentRef],
    ) -> impl Iterator<Item = Edge> + 's {
        sources.iter().flat_map(move |source| {
            let to_it = self.outgoing(*source).iter().filter(move |(_, other)| *other == document);
            to_it.map(|(kind, _)| (kind.clone(), *source))
        })
    }
}
