//! Pictures and sounds in answers, which agents accept as content of that type.

use serde_json::Value;

use crate::attachments::is_picture;

/// The field with the bytes of a file, in base64.
const DATA: &str = "data_base64";
/// The field with their media type, if it differs from the file's.
const DATA_MIME: &str = "data_mime";

/// A picture or a sound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    /// Whether it is a sound.
    pub is_audio: bool,
    /// Its media type.
    pub mime: String,
    /// Its bytes, in base64.
    pub data: String,
}

/// Takes a picture or a sound out of an answer with its bytes and media type.
pub fn take_media(answer: &mut Value) -> Option<Media> {
    let mime = answer.get(DATA_MIME).or_else(|| answer.get("mime"))?.as_str()?.to_owned();
    let is_audio = mime.starts_with("audio/");
    if !is_audio && !is_picture(&mime) {
        return None;
    }
    match answer.as_object_mut()?.shift_remove(DATA)? {
        Value::String(data) => Some(Media { is_audio, mime, data }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pictures_and_sounds_are_taken_out_and_nothing_else() {
        for (mime, expected) in
            [("image/png", Some(false)), ("audio/ogg", Some(true)), ("image/svg+xml", None), ("application/pdf", None)]
        {
            let mut answer = json!({ "data_base64": "AA==", "mime": mime, "path": "a" });
            let taken = take_media(&mut answer);
            assert_eq!(taken.as_ref().map(|media| media.is_audio), expected, "{mime}");
            assert_eq!(answer.get("data_base64").is_none(), expected.is_some());
        }
        assert_eq!(take_media(&mut json!({ "mime": "image/png", "path": "a" })), None);
        let scaled = take_media(&mut json!({ "data_base64": "AA==", "data_mime": "image/jpeg", "mime": "image/png" }));
        assert_eq!(scaled.map(|media| media.mime).as_deref(), Some("image/jpeg"));
        assert_eq!(take_media(&mut json!([])), None);
    }
}
