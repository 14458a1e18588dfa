//! tantivy: BM25 with its default tokenizer over title and body, and the index in memory.

use serde_json::{Value, json};
use tantivy::collector::TopDocs;
use tantivy::query::{Query, QueryParser};
use tantivy::schema::{Field, STORED, STRING, Schema, TEXT, Value as _};
use tantivy::snippet::SnippetGenerator;
use tantivy::{DocAddress, Index, Searcher, TantivyDocument, doc};

use crate::scan::Resident;

/// Bytes that indexing may use.
const INDEXING: usize = 256 << 20;
/// The weight of a word in a title.
const TITLE_BOOST: f32 = 3.0;
const RESULTS: usize = 10;

/// The notes, indexed.
pub(crate) struct FullText<'a> {
    searcher: Searcher,
    parser: QueryParser,
    path: Field,
    body: Field,
    /// The texts of results, for their snippets.
    resident: &'a Resident,
}

impl<'a> FullText<'a> {
    pub(crate) fn of(resident: &'a Resident) -> Self {
        let mut schema = Schema::builder();
        let path = schema.add_text_field("path", STRING | STORED);
        let title = schema.add_text_field("title", TEXT);
        let body = schema.add_text_field("body", TEXT);
        let index = Index::create_in_ram(schema.build());
        let documents = resident.iter().filter_map(|(at, text)| {
            let stem = at.strip_suffix(".md")?;
            let name = stem.rsplit('/').next().unwrap_or(stem);
            Some(doc!(path => at, title => name, body => text))
        });
        let searcher = indexed(&index, documents);
        let mut parser = QueryParser::for_index(&index, vec![title, body]);
        parser.set_field_boost(title, TITLE_BOOST);
        Self { searcher, parser, path, body, resident }
    }

    /// The best results.
    pub(crate) fn search(&self, text: &str) -> Vec<Value> {
        let (query, _) = self.parser.parse_query_lenient(text);
        best(&self.searcher, &*query, self.path, self.body, self.resident)
    }
}

/// Adds the documents to `index`, as one segment, which is fastest.
pub(crate) fn indexed(index: &Index, documents: impl Iterator<Item = TantivyDocument>) -> Searcher {
    let mut writer = index.writer_with_num_threads(1, INDEXING).unwrap();
    for document in documents {
        writer.add_document(document).unwrap();
    }
    writer.commit().unwrap();
    let segments = index.searchable_segment_ids().unwrap();
    if segments.len() > 1 {
        writer.merge(&segments).wait().unwrap();
    }
    writer.wait_merging_threads().unwrap();
    index.reader().unwrap().searcher()
}

/// The best results of a query, with paths and with snippets of their bodies.
pub(crate) fn best(
    searcher: &Searcher,
    query: &dyn Query,
    path: Field,
    body: Field,
    resident: &Resident,
) -> Vec<Value> {
    let found = searcher.search(query, &TopDocs::with_limit(RESULTS).order_by_score()).unwrap();
    let snippets = SnippetGenerator::create(searcher, query, body).unwrap();
    let hit = |(score, address): (f32, DocAddress)| {
        let document: TantivyDocument = searcher.doc(address).unwrap();
        let path = document.get_first(path).and_then(|path| path.as_str()).unwrap().to_owned();
        let snippet = snippets.snippet(resident.text(&path).unwrap()).to_html();
        json!({ "path": path, "score": score, "snippet": snippet })
    };
    found.into_iter().map(hit).collect()
}
