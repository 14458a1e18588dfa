//! Notes and other files as resources: `atlas://VAULT/PATH`, percent-encoded.

use atlas_ops::{Answer, Call, Code, Entry, Error};
use atlas_tools::attachments::get_attachment::GetAttachment;
use atlas_tools::notes::list_notes::ListNotes;
use atlas_tools::notes::read_note::ReadNote;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use rmcp::model::{
    ErrorCode, ErrorData, JsonObject, ListResourcesResult, MetaObject, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate,
};
use serde_json::{Value, json};

use crate::server::Server;
use crate::tools;

/// The template of their addresses.
pub(crate) const TEMPLATE: &str = "atlas://{vault}/{+path}";
/// The field of `_meta` with the address of the rest of a long note.
const NEXT: &str = "atlas-mirror/next";
const SCHEME: &str = "atlas://";
/// The page of a long note: `?generation=G&offset=N`, so that all pages are of one version.
const GENERATION: &str = "?generation=";
const OFFSET: &str = "&offset=";
const MARKDOWN: &str = "text/markdown";

/// A parsed address.
#[derive(Debug, PartialEq, Eq)]
struct ResourceAddress {
    vault: String,
    path: String,
    page: Option<PageAddress>,
}

/// A page of a long note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PageAddress {
    generation: u64,
    offset: u64,
}

impl Server {
    /// One page of the notes.
    pub(crate) async fn notes(&self, cursor: Option<String>) -> Result<ListResourcesResult, ErrorData> {
        let mut arguments = JsonObject::new();
        arguments.extend(cursor.map(|cursor| ("cursor".to_owned(), cursor.into())));
        let vault = self.vault().map_err(|error| refusal(&error))?;
        let listed = self.answer(atlas_tools::entry::<ListNotes>(), &vault, arguments).await?.value;
        let resources = listed.get("items").and_then(Value::as_array).into_iter().flatten().filter_map(|note| {
            let path = note.get("path")?.as_str()?;
            let title = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".md");
            let size = note.get("size").and_then(Value::as_u64).unwrap_or_default();
            Some(Resource::new(address(&vault, path), path).with_title(title).with_mime_type(MARKDOWN).with_size(size))
        });
        let page = ListResourcesResult::with_all_items(resources.collect());
        let next_cursor = listed.get("cursor").and_then(Value::as_str).map(str::to_owned);
        Ok(ListResourcesResult { next_cursor, ..page })
    }

    /// Reads an address: the text of a note or another text file, or the bytes of any other file.
    pub(crate) async fn resource(&self, uri: &str) -> Result<ReadResourceResult, ErrorData> {
        let Some(named) = parse(uri) else {
            let data = json!({ "uri": uri });
            return Err(ErrorData::resource_not_found(format!("addresses of notes are {TEMPLATE}"), Some(data)));
        };
        match self.text(uri, &named).await {
            Err(error) if error.code == ErrorCode::RESOURCE_NOT_FOUND && named.page.is_some() => {
                let first = address(&named.vault, &named.path);
                let message = format!("{}; begin again at {first}", error.message);
                Err(ErrorData::resource_not_found(message, error.data))
            }
            // A file without text is sent as bytes.
            Err(error) if error.code == ErrorCode::RESOURCE_NOT_FOUND => self.bytes(uri, &named).await,
            read => read,
        }
    }

    /// The bytes of a file without text.
    async fn bytes(
        &self,
        uri: &str,
        ResourceAddress { vault, path, .. }: &ResourceAddress,
    ) -> Result<ReadResourceResult, ErrorData> {
        let arguments = JsonObject::from_iter([
            ("path".to_owned(), path.as_str().into()),
            ("include_data".to_owned(), true.into()),
        ]);
        let file = self.answer(atlas_tools::entry::<GetAttachment>(), vault, arguments).await?.value;
        let said = |name: &str| file.get(name).and_then(Value::as_str);
        let blob = ResourceContents::blob(said("data_base64").unwrap_or_default(), uri);
        let mime = said("data_mime").or_else(|| said("mime")).unwrap_or_default();
        Ok(ReadResourceResult::new(vec![blob.with_mime_type(mime)]))
    }

    /// A page of a text.
    async fn text(
        &self,
        uri: &str,
        ResourceAddress { vault, path, page }: &ResourceAddress,
    ) -> Result<ReadResourceResult, ErrorData> {
        let mut arguments = JsonObject::from_iter([("path".to_owned(), path.as_str().into())]);
        if let Some(PageAddress { generation, offset }) = *page {
            arguments.insert("generation".to_owned(), generation.into());
            arguments.insert("offset".to_owned(), offset.into());
        }
        let Answer { value: note, generation } =
            self.answer(atlas_tools::entry::<ReadNote>(), vault, arguments).await?;
        let text = |name: &str| note.get(name).and_then(Value::as_str).unwrap_or_default();
        let mut contents = ResourceContents::text(text("content"), uri).with_mime_type(text_type(text("path")));
        if let Some((next, generation)) = note.get("next_offset").and_then(Value::as_u64).zip(generation) {
            let next = format!("{}{GENERATION}{generation}{OFFSET}{next}", address(vault, text("path")));
            contents = contents.with_meta(MetaObject(JsonObject::from_iter([(NEXT.to_owned(), next.into())])));
        }
        Ok(ReadResourceResult::new(vec![contents]))
    }

    /// At most `limit` paths of notes with this prefix, and whether there are more.
    pub(crate) async fn paths(
        &self,
        vault: &str,
        prefix: &str,
        limit: usize,
    ) -> Result<(Vec<String>, bool), ErrorData> {
        let arguments =
            JsonObject::from_iter([("prefix".to_owned(), prefix.into()), ("limit".to_owned(), limit.into())]);
        let listed = self.answer(atlas_tools::entry::<ListNotes>(), vault, arguments).await?.value;
        let notes = listed.get("items").and_then(Value::as_array).into_iter().flatten();
        let paths = notes.filter_map(|note| Some(note.get("path")?.as_str()?.to_owned())).collect();
        Ok((paths, listed.get("cursor").is_some()))
    }

    pub(crate) async fn answer(
        &self,
        entry: &'static Entry,
        vault: &str,
        arguments: JsonObject,
    ) -> Result<Answer<Value>, ErrorData> {
        let call = Call { vault: Some(vault.to_owned()), ..self.call_of(entry, arguments) };
        self.run(call).await.map_err(|error| refusal(&error))
    }
}

/// The media type of the text at `path`.
pub(crate) fn text_type(path: &str) -> &'static str {
    match atlas_tools::attachments::mime(path) {
        _ if path.to_ascii_lowercase().ends_with(".md") => MARKDOWN,
        "application/octet-stream" => "text/plain",
        mime => mime,
    }
}

/// The templates of resources.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let note = ResourceTemplate::new(TEMPLATE, "note").with_title("Note");
    vec![
        note.with_description("The text of the note at a path of a vault, or any other file of it, such as a picture."),
    ]
}

/// An operation's error as an error of the protocol.
pub(crate) fn refusal(error: &Error) -> ErrorData {
    let (message, data) = (error.message.clone(), Some(tools::told(error)));
    match error.code {
        Code::NotFound => ErrorData::resource_not_found(message, data),
        Code::TooManyRequests | Code::Unavailable | Code::Internal => ErrorData::internal_error(message, data),
        _ => ErrorData::invalid_params(message, data),
    }
}

pub(crate) fn address(vault: &str, path: &str) -> String {
    const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_').remove(b'~');
    format!("{SCHEME}{vault}/{}", utf8_percent_encode(path, PATH))
}

fn parse(uri: &str) -> Option<ResourceAddress> {
    let (vault, path) = uri.strip_prefix(SCHEME)?.split_once('/')?;
    let (path, page) = match path.split_once(GENERATION) {
        Some((path, page)) => {
            let (generation, offset) = page.split_once(OFFSET)?;
            (path, Some(PageAddress { generation: generation.parse().ok()?, offset: offset.parse().ok()? }))
        }
        None => (path, None),
    };
    let path = percent_decode_str(path).decode_utf8().ok()?.into_owned();
    Some(ResourceAddress { vault: vault.to_owned(), path, page })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_what_it_was_made_of() {
        for path in ["a.md", "Ein Ordner/100% #1?.md", "日記/🌊.md", "a?generation=2&offset=3.md", "a//b.md", "%41.md"]
        {
            let named = ResourceAddress { vault: "main".to_owned(), path: path.to_owned(), page: None };
            assert_eq!(parse(&address("main", path)), Some(named), "{path}");
        }
        let page = Some(PageAddress { generation: 3, offset: 12 });
        let rest = ResourceAddress { vault: "notes".to_owned(), path: "a b.md".to_owned(), page };
        assert_eq!(parse("atlas://notes/a%20b.md?generation=3&offset=12"), Some(rest));
        for uri in [
            "",
            "atlas://",
            "atlas://main",
            "file:///a.md",
            "atlas://main/a.md?generation=3",
            "atlas://main/a.md?generation=3&offset=x",
            "atlas://main/%ff",
        ] {
            assert_eq!(parse(uri), None, "{uri}");
        }
    }
}
