//! Attachments: files that are not notes, in obsidian-tc's form, and uploads of them.

pub mod commit_attachment;
pub mod delete_attachment;
pub mod get_attachment;
pub mod list_attachments;
pub mod move_attachment;
pub mod upload_attachment;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use atlas_ops::arguments;
use atlas_ops::error::{Error, Reason};
use atlas_ops::read::graph::Graph;
use atlas_ops::read::index::DocumentRef;
use atlas_vault::VaultPath;
use atlas_vault::file_kind::is_left_out;

/// How long a URL is valid.
const URL_TIME: Duration = Duration::from_secs(15 * 60);

/// Media types by extension, in the order of the extensions.
const TYPES: &[(&str, &str)] = &[
    ("3gp", "video/3gpp"),
    ("aac", "audio/aac"),
    ("avif", "image/avif"),
    ("base", "application/yaml"),
    ("bmp", "image/bmp"),
    ("canvas", "application/json"),
    ("csv", "text/csv"),
    ("doc", "application/msword"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("epub", "application/epub+zip"),
    ("excalidraw", "application/json"),
    ("flac", "audio/flac"),
    ("gif", "image/gif"),
    ("heic", "image/heic"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("ico", "image/vnd.microsoft.icon"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("json", "application/json"),
    ("m4a", "audio/mp4"),
    ("mkv", "video/matroska"),
    ("mov", "video/quicktime"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("oga", "audio/ogg"),
    ("ogg", "audio/ogg"),
    ("ogv", "video/ogg"),
    ("opus", "audio/ogg"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("ppt", "application/vnd.ms-powerpoint"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("svg", "image/svg+xml"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("txt", "text/plain"),
    ("wav", "audio/wav"),
    ("webm", "video/webm"),
    ("webp", "image/webp"),
    ("xls", "application/vnd.ms-excel"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("zip", "application/zip"),
];

/// Media types of pictures that models accept.
const PICTURES: [&str; 4] = ["image/gif", "image/jpeg", "image/png", "image/webp"];

/// The path, from argument `field`, of a file to change in this way; another tool changes notes.
pub(crate) fn path(field: &str, text: &str, way: &str, tool_of_notes: &str) -> Result<VaultPath, Error> {
    let path = arguments::path(field, text)?;
    let problem = if path.is_note() {
        format!("{field}: notes are {way} with {tool_of_notes}")
    } else if path.as_str().split('/').any(|part| part.starts_with('.')) {
        format!("{field}: files are not {way} where a name begins with a dot")
    } else {
        return Ok(path);
    };
    Err(Error::bad_request(Reason::PathInvalid, problem).with("field", field))
}

/// Like [`path`], for a new path. Files of its name must be synced.
pub(crate) fn new_path(field: &str, text: &str, way: &str, tool_of_notes: &str) -> Result<VaultPath, Error> {
    let path = path(field, text, way, tool_of_notes)?;
    if is_left_out(path.file_name()) {
        let message = format!("{field}: files of this name hold keys or are a program's own, and belong to no vault");
        return Err(Error::bad_request(Reason::PathInvalid, message).with("field", field));
    }
    Ok(path)
}

/// The media type of the file at `path`, by its extension.
pub fn mime(path: &str) -> &'static str {
    let extension = path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map(|(_, extension)| extension);
    let extension = extension.unwrap_or_default().to_ascii_lowercase();
    let found = TYPES.binary_search_by_key(&extension.as_str(), |(known, _)| *known);
    found.ok().and_then(|index| TYPES.get(index)).map_or("application/octet-stream", |(_, mime)| *mime)
}

/// Whether files of this media type are listed if no extensions are given: pictures, PDF, sound and video.
fn is_media(mime: &str) -> bool {
    mime == "application/pdf" || ["image/", "audio/", "video/"].iter().any(|kind| mime.starts_with(kind))
}

/// Whether files of this media type are pictures that models accept.
pub(crate) fn is_picture(mime: &str) -> bool {
    PICTURES.contains(&mime)
}

/// The number of notes that link to each file, as the caller sees them.
fn references(graph: &Graph) -> Result<HashMap<DocumentRef, usize>, Error> {
    let mut links = HashSet::new();
    graph.each_target(|from, _, meant| {
        links.extend(meant.filter(|meant| *meant != from).map(|meant| (from, meant)));
        Ok(())
    })?;
    let mut counts = HashMap::new();
    for (_, meant) in links {
        *counts.entry(meant).or_default() += 1;
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extension_tells_the_media_type() {
        assert!(TYPES.is_sorted_by_key(|(extension, _)| *extension));
        for (path, expected) in [
            ("a/b.PNG", "image/png"),
            ("a.tar.zip", "application/zip"),
            ("a.b/png", "application/octet-stream"),
            ("png", "application/octet-stream"),
        ] {
            assert_eq!(mime(path), expected, "{path}");
        }
        assert!(is_media("image/png") && is_media("application/pdf") && !is_media("text/csv"));
    }

    #[test]
    fn no_file_gets_a_name_that_a_sync_leaves_out() {
        for name in ["a/Thumbs.db", "desktop.ini", "certs/server.pem", "id_rsa", "#a.txt#", "a.json~"] {
            let refused = new_path("to", name, "moved", "move_note").unwrap_err();
            assert_eq!((refused.reason(), &refused.details["field"]), ("path_invalid", &"to".into()), "{name}");
            assert!(path("from", name, "moved", "move_note").is_ok(), "{name}");
        }
        assert!(new_path("to", "a/thumbs.png", "moved", "move_note").is_ok());
    }
}
