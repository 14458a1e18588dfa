//! tantivy, asked for the words that `search` scores by: in all their spellings, each a boosted term of the fields that it weighs.

use std::collections::{BTreeMap, HashMap};

use atlas_vault::file_kind::is_code;
use atlas_vault::fold;
use atlas_vault::note::{Note, parse};
use atlas_vault::words::{Word, words};
use serde_json::Value;
use tantivy::query::{BooleanQuery, BoostQuery, Occur, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer};
use tantivy::{Index, Searcher, TantivyDocument, Term};

use crate::fulltext::{best, indexed};
use crate::scan::Resident;

/// What an occurrence weighs in each field, as in the index of `search`.
const FIELDS: [(&str, f32); 5] = [("body", 1.0), ("title", 5.0), ("tags", 3.0), ("headings", 2.0), ("anchors", 2.0)];
/// A name that more notes have says nothing of any of them.
const MAX_NAMESAKES: usize = 4;
const WORDS: &str = "words";

/// The notes, indexed.
pub(crate) struct Expanded<'a> {
    searcher: Searcher,
    path: Field,
    fields: Vec<(Field, f32)>,
    /// The texts of results, for their snippets.
    resident: &'a Resident,
}

impl<'a> Expanded<'a> {
    pub(crate) fn of(resident: &'a Resident) -> Self {
        let mut schema = Schema::builder();
        let path = schema.add_text_field("path", STRING | STORED);
        let indexing = TextFieldIndexing::default().set_tokenizer(WORDS).set_index_option(IndexRecordOption::WithFreqs);
        let options = TextOptions::default().set_indexing_options(indexing);
        let fields: Vec<_> =
            FIELDS.iter().map(|(name, weight)| (schema.add_text_field(name, options.clone()), *weight)).collect();
        let index = Index::create_in_ram(schema.build());
        index.tokenizers().register(WORDS, TextAnalyzer::from(Folded));
        let notes: Vec<(&str, &str, Note)> = resident
            .iter()
            .filter(|(path, _)| path.ends_with(".md") && !is_code(path))
            .map(|(path, text)| (path, text, parse(text)))
            .collect();
        let mut anchors = anchors(&notes);
        let documents = notes.iter().enumerate().map(|(at, (own, text, note))| {
            let mut document = TantivyDocument::default();
            document.add_text(path, own);
            let title = note.properties().and_then(|properties| properties.get("title")?.as_str());
            let titles = std::iter::once(name(own)).chain(title).chain(note.aliases.iter().map(String::as_str));
            let tags: std::collections::BTreeSet<&str> = note.tags.iter().map(|tag| tag.name.as_str()).collect();
            let headings = note.headings.iter().map(|heading| heading.text.as_str());
            let of_fields = [
                (*text).to_owned(),
                titles.collect::<Vec<_>>().join("\n"),
                tags.into_iter().collect::<Vec<_>>().join("\n"),
                headings.collect::<Vec<_>>().join("\n"),
                anchors.remove(&at).unwrap_or_default(),
            ];
            for ((field, _), text) in fields.iter().zip(of_fields) {
                document.add_text(*field, text);
            }
            document
        });
        Self { searcher: indexed(&index, documents), path, fields, resident }
    }

    /// The best results for these words with their weights.
    pub(crate) fn search(&self, words: &[(String, f32)]) -> Vec<Value> {
        let term = |field: Field, word: &str, boost: f32| -> (Occur, Box<dyn Query>) {
            let term = TermQuery::new(Term::from_field_text(field, word), IndexRecordOption::WithFreqs);
            (Occur::Should, Box::new(BoostQuery::new(Box::new(term), boost)))
        };
        let of_word = |(word, weight): &(String, f32)| {
            let all = self.fields.iter().map(|(field, of_field)| term(*field, word, weight * of_field));
            all.collect::<Vec<_>>()
        };
        let query = BooleanQuery::new(words.iter().flat_map(of_word).collect());
        best(&self.searcher, &query, self.path, self.fields[0].0, self.resident)
    }
}

/// The texts of links that lead to each note, by its place.
fn anchors(notes: &[(&str, &str, Note)]) -> HashMap<usize, String> {
    let mut named: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, (path, ..)) in notes.iter().enumerate() {
        named.entry(fold(name(path))).or_default().push(at);
    }
    let mut found: HashMap<usize, String> = HashMap::new();
    for link in notes.iter().flat_map(|(.., note)| &note.links).filter(|link| !link.is_external() && !link.is_embed()) {
        let target = fold(&link.target);
        let target = target.strip_suffix(".md").unwrap_or(&target).rsplit('/').next().unwrap_or_default();
        let Some(display) = &link.display else { continue };
        for at in named.get(target).filter(|notes| notes.len() <= MAX_NAMESAKES).into_iter().flatten() {
            let anchors = found.entry(*at).or_default();
            anchors.push_str(display);
            anchors.push('\n');
        }
    }
    found
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path).trim_end_matches(".md")
}

/// Splits texts as the index of `search` does.
#[derive(Clone)]
struct Folded;

struct Tokens<'a> {
    words: Box<dyn Iterator<Item = Word<'a>> + 'a>,
    token: Token,
}

impl Tokenizer for Folded {
    type TokenStream<'a> = Tokens<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Tokens<'a> {
        Tokens { words: Box::new(words(text)), token: Token::default() }
    }
}

impl TokenStream for Tokens<'_> {
    fn advance(&mut self) -> bool {
        let Some(word) = self.words.next() else { return false };
        (self.token.offset_from, self.token.offset_to) = (word.range.start, word.range.end);
        self.token.position = self.token.position.wrapping_add(1);
        self.token.text.clear();
        self.token.text.push_str(&word.folded);
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}
