//! Vault paths: an accepted path never leaves the vault, however often it is percent-decoded, and is its own canonical
//! form.

use std::path::{Component, Path};

use atlas_vault::VaultPath;
use percent_encoding::percent_decode;
use unicode_normalization::{UnicodeNormalization as _, is_nfc};

/// Reads a path.
pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let path = match VaultPath::parse(&text) {
        Ok(path) => path,
        Err(error) => {
            assert!(!error.to_string().chars().any(char::is_control), "{error}");
            return;
        }
    };
    assert!(is_nfc(path.as_str()));
    assert_eq!(VaultPath::parse(path.as_str()).as_ref(), Ok(&path));
    let decomposed: String = path.as_str().nfd().collect();
    if let Ok(again) = VaultPath::parse(&decomposed) {
        assert_eq!(again, path);
    } else {
        assert!(decomposed.len() > 4096);
    }
    let json = serde_json::to_string(&path).unwrap();
    assert_eq!(serde_json::from_str::<VaultPath>(&json).unwrap(), path);

    let mut decoded = path.as_str().as_bytes().to_vec();
    loop {
        inside(&decoded);
        let next: Vec<u8> = percent_decode(&decoded).collect();
        if next == decoded {
            break;
        }
        decoded = next;
    }

    let name = match path.extension() {
        Some(extension) => format!("{}.{extension}", path.stem()),
        None => path.stem().to_owned(),
    };
    assert_eq!(name, path.file_name());
    let whole = match path.folder() {
        Some(folder) => format!("{folder}/{name}"),
        None => name,
    };
    assert_eq!(whole, path.as_str());
}

fn inside(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut components = Path::new(text.as_ref()).components();
    assert!(components.all(|component| matches!(component, Component::Normal(_))), "{text:?} leads out of the vault");
    assert!(!text.contains(['\\', '\0']), "{text:?}");
    assert!(!text.split('/').any(|name| matches!(name, "." | "..")), "{text:?}");
}
