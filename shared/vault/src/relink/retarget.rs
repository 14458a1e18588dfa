//! Gives links another target, regardless of where they lead now.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{MAX_TARGETS_BYTES, Relinked, Unlinkable, edit, is_internal, replaced, targets, unlinkable};
use crate::fold::fold;
use crate::links::LinkSyntax;
use crate::note::{Link, LinkKind};
use crate::path::VaultPath;
use crate::resolve::{Files, resolve};

/// A change of targets: from one target to another.
#[derive(Clone, Copy, Debug)]
pub struct Retarget<'a> {
    /// The current target, without the subpath, as written in a note in the vault's root.
    pub from: &'a str,
    /// The file that it means, if any.
    pub meant: Option<&'a VaultPath>,
    /// The new target.
    pub to: &'a str,
    /// The file that the new target means, if any.
    pub new: Option<&'a VaultPath>,
    /// All files whose name a link with one of the two targets can mean.
    pub files: &'a Files,
}

impl Retarget<'_> {
    /// Rewrites links of the note at `here`: those that mean the same file as `from`; or, if `from` means no file, those that have this
    /// target and mean no file. Links keep their style, display text and subpath. [`None`] if there are no such links.
    ///
    /// # Errors
    /// When one of the links cannot be written with the new target.
    pub fn rewrite(&self, text: &str, here: &VaultPath) -> Result<Option<Relinked>, Unlinkable> {
        let form = LinkSyntax::assumed(here);
        let written = form.links(text);
        let mut edits: BTreeMap<usize, (Range<usize>, String)> = BTreeMap::new();
        let (mut count, mut bytes) = (0, 0);
        for link in written.iter().filter(|link| self.concerns(link, here)) {
            let new = self.targets(link, here).find_map(|target| edit(text, link, &target));
            let (range, new) = new.ok_or_else(|| self.unlinkable(link, here))?;
            let new = form.written(new);
            count += 1;
            bytes += new.len();
            if bytes > MAX_TARGETS_BYTES {
                return Err(self.unlinkable(link, here));
            }
            edits.insert(range.start, (range, new));
        }
        if edits.is_empty() {
            return Ok(None);
        }
        let out = replaced(text, edits.into_values());
        let after = form.links(&out);
        for (index, old) in written.iter().enumerate() {
            let concerned = self.concerns(old, here);
            let is_right = |new: &Link| {
                let leads = if concerned { self.leads(new, here) } else { new.target == old.target };
                leads && new.kind == old.kind && new.subpath == old.subpath
            };
            if after.len() != written.len() || !after.get(index).is_some_and(is_right) {
                return Err(self.unlinkable(old, here));
            }
        }
        Ok(Some(Relinked { text: out, meant: vec![self.new.unwrap_or(here).clone(); count] }))
    }

    /// Whether the link is one to rewrite.
    fn concerns(&self, link: &Link, here: &VaultPath) -> bool {
        // A node of a canvas needs an existing file.
        if !is_internal(link) || link.kind == LinkKind::CanvasFile && self.new.is_none() {
            return false;
        }
        let meant = resolve(&link.target, here, self.files);
        match self.meant {
            Some(_) => meant == self.meant,
            None => meant.is_none() && name(&link.target) == name(self.from),
        }
    }

    /// Whether the rewritten link leads to the new target.
    fn leads(&self, link: &Link, here: &VaultPath) -> bool {
        let meant = resolve(&link.target, here, self.files);
        is_internal(link) && if self.new.is_some() { meant == self.new } else { link.target == self.to }
    }

    fn targets<'a>(&'a self, link: &'a Link, here: &'a VaultPath) -> Box<dyn Iterator<Item = String> + 'a> {
        match self.new {
            Some(new) => {
                let written = VaultPath::parse(&link.target).ok().filter(VaultPath::is_note);
                let before = self.meant.or(written.as_ref()).unwrap_or(new);
                Box::new(targets(link, before, new, here, self.files))
            }
            None => Box::new(std::iter::once(self.to.to_owned())),
        }
    }

    fn unlinkable(&self, link: &Link, here: &VaultPath) -> Unlinkable {
        unlinkable(link, here, self.new.unwrap_or(here))
    }
}

/// The name in a target that may be written with or without `.md`.
fn name(target: &str) -> String {
    let folded = fold(target);
    folded.strip_suffix(".md").map(str::to_owned).unwrap_or(folded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> VaultPath {
        VaultPath::parse(text).unwrap()
    }

    /// The note at `here` after its links to `from` got the target `to`.
    #[track_caller]
    fn rewritten(text: &str, here: &str, from: &str, to: &str) -> String {
        let files: Files = ["a/One.md", "b/Two.md", "x/n.md", "pic.png"].map(path).into_iter().collect();
        let root = path("root.md");
        let [meant, new] = [from, to].map(|target| resolve(target, &root, &files));
        let retarget = Retarget { from, meant, to, new, files: &files };
        retarget.rewrite(text, &path(here)).unwrap().map_or_else(|| text.to_owned(), |relinked| relinked.text)
    }

    #[test]
    fn every_form_gets_the_new_target() {
        let text = "[[One]] ![[a/One#H|x]] [[one.md#^id]] [t](../a/One.md#h \"t\") [[Two]] `[[One]]` [[nowhere]]\r\n";
        let expected =
            "[[Two]] ![[b/Two#H|x]] [[Two.md#^id]] [t](../b/Two.md#h \"t\") [[Two]] `[[One]]` [[nowhere]]\r\n";
        assert_eq!(rewritten(text, "x/n.md", "a/One", "Two"), expected);
        assert_eq!(rewritten("![[pic.png]]", "n.md", "pic.png", "One"), "![[One.md]]");
    }

    #[test]
    fn what_would_not_be_looked_into_is_not_written() {
        let target = "x".repeat(1000);
        let files = Files::default();
        let retarget = Retarget { from: "a", meant: None, to: &target, new: None, files: &files };
        let text = "[[a]] ".repeat(4000);
        assert_eq!(retarget.rewrite(&text, &path("n.md")).unwrap().map(|new| new.meant.len()), Some(4000));
        assert_eq!(retarget.rewrite(&text.repeat(2), &path("n.md")).unwrap_err().line, 0);
    }

    #[test]
    fn what_means_nothing_is_known_by_its_text() {
        let text = "[[nowhere]] [[Nowhere.md|x]] [[nowhere else]] [[a/nowhere]] [t](nowhere.md)\n";
        let expected = "[[One]] [[One.md|x]] [[nowhere else]] [[a/nowhere]] [t](One.md)\n";
        assert_eq!(rewritten(text, "n.md", "Nowhere", "One"), expected);
        assert_eq!(rewritten("[[One]] [t](One)", "n.md", "One", "not yet"), "[[not yet]] [t](not%20yet)");
    }
}
