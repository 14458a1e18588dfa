//! Another tool, such as Syncthing, that keeps the folders of several hosts equal beside the mirror.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::step::NOTES;
use super::world::World;

/// By two hosts, the smaller first, and note: the text that both had last, or that both had none.
pub(super) type Agreed = BTreeMap<(usize, usize, usize), Option<String>>;

impl World {
    /// Brings a note, or its deletion, from one folder to another where it has not changed since both were equal: where both have changed,
    /// such a tool makes a copy of its own.
    pub(super) fn carries(&mut self, from: usize, to: usize, note: usize) {
        if from == to {
            return;
        }
        let text = |host: usize| fs::read_to_string(self.hosts[host].root().join(NOTES[note])).ok();
        let (source, target) = (text(from), text(to));
        let pair = (from.min(to), from.max(to), note);
        let is_unchanged = source == target || self.agreed.get(&pair) == Some(&target);
        if !is_unchanged || !self.hosts[to].in_the_way(NOTES[note]).is_empty() {
            return;
        }
        let [source_root, target_root] = [from, to].map(|host| self.hosts[host].root());
        match &source {
            Some(text) if source != target => {
                carry(&source_root.join(NOTES[note]), &target_root.join(NOTES[note]), text);
            }
            Some(_) => {}
            None => self.hosts[to].delete(NOTES[note]),
        }
        // What a person saved there and no sync has carried is now in both folders.
        match self.hosts[from].unsynced.get(NOTES[note]).cloned().filter(|_| source.is_some()) {
            Some(saved) => drop(self.hosts[to].unsynced.insert(NOTES[note].to_owned(), saved)),
            None => drop(self.hosts[to].unsynced.remove(NOTES[note])),
        }
        self.agreed.insert(pair, source);
    }
}

/// Writes a file as such tools do: beside its place first, with the time of the other.
fn carry(from: &Path, to: &Path, text: &str) {
    let draft = to.with_extension("carried~");
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::write(&draft, text).unwrap();
    let time = fs::metadata(from).unwrap().modified().unwrap();
    fs::File::options().append(true).open(&draft).unwrap().set_modified(time).unwrap();
    fs::rename(draft, to).unwrap();
}
