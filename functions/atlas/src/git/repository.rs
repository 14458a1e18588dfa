//! One branch of a Git repository, by a clone without files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use atlas_sync::Reason;
use jiff::Timestamp;

use super::program::{Git, GitError};

/// Most characters of a name.
const MAX_NAME: usize = 64;

/// A branch of the repository at an address, and the clone of it.
#[derive(Debug)]
pub(super) struct Repository {
    git: Git,
    folder: PathBuf,
    url: String,
    branch: String,
}

/// A file of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GitFile {
    /// `100644`, or `100755` for a program.
    pub(super) mode: String,
    /// The name of its content.
    pub(super) id: String,
    pub(super) bytes: u64,
}

/// What a commit has.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// The files with an ordinary content and a name in UTF-8, by path.
    pub(super) files: BTreeMap<String, GitFile>,
    /// Everything else, by its path, lossily if that is not UTF-8, and what it is.
    pub(super) others: Vec<(String, Reason)>,
}

/// A name and an address, as Git writes them: `Name <address>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ident {
    pub(super) name: String,
    pub(super) email: String,
}

/// A commit to make.
#[derive(Debug)]
pub(super) struct NewCommit<'a> {
    pub(super) tree: &'a str,
    pub(super) parent: Option<&'a str>,
    pub(super) author: &'a Ident,
    pub(super) committer: &'a Ident,
    pub(super) time: Timestamp,
    pub(super) message: &'a str,
}

/// The content of a path in a new tree, by mode and name; [`None`] to remove it.
pub(super) type TreeChange<'a> = (&'a str, Option<(&'a str, &'a str)>);

impl Ident {
    /// `Name <address>`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (name, rest) = text.split_once('<')?;
        let email = rest.strip_suffix('>')?;
        let plain = |text: &str| !text.trim().is_empty() && !text.contains(['<', '>', '\n', '\0']);
        (plain(name) && plain(email)).then(|| Self { name: name.trim().to_owned(), email: email.trim().to_owned() })
    }

    /// Somebody of this name, at the same address.
    pub(super) fn named(&self, name: &str) -> Self {
        // As many characters as any author of a commit may have.
        let plain = name.chars().filter(|letter| !letter.is_control() && !"<>".contains(*letter));
        let name: String = plain.take(MAX_NAME).collect();
        let has_letters = name.chars().any(char::is_alphanumeric);
        Self { name: if has_letters { name } else { "unknown".to_owned() }, email: self.email.clone() }
    }
}

impl Listing {
    /// Adds a line of `ls-tree`; [`None`] if it is none.
    fn add(&mut self, line: &[u8]) -> Option<()> {
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        let (about, path) = (str::from_utf8(line.get(..tab)?).ok()?, line.get(tab + 1..)?);
        let mut about = about.split_whitespace();
        let (mode, kind, id, bytes) = (about.next()?, about.next()?, about.next()?, about.next()?);
        let reason = match (kind, mode, str::from_utf8(path)) {
            ("blob", "120000", _) => Reason::LinkInGit,
            ("blob", _, Ok(path)) => {
                let file = GitFile { mode: mode.to_owned(), id: id.to_owned(), bytes: bytes.parse().ok()? };
                self.files.insert(path.to_owned(), file);
                return Some(());
            }
            ("blob", _, Err(_)) => Reason::NotUnicode,
            _ => Reason::NotAFile,
        };
        self.others.push((String::from_utf8_lossy(path).into_owned(), reason));
        Some(())
    }
}

impl Repository {
    /// The `branch` of the repository at `url`, with a clone in `folder`, which is made if it is not there.
    pub(super) async fn open(folder: PathBuf, url: &str, branch: &str) -> Result<Self, GitError> {
        let git = Git::of(folder.clone());
        let is_plain = |text: &str| !text.is_empty() && !text.starts_with('-') && !text.contains(char::is_control);
        if !is_plain(url) || !is_plain(branch) || !git.is_so(&["check-ref-format", "--branch", branch]).await? {
            return Err(GitError::new(
                "write --git as the address of a repository, and --git-branch as a branch's name",
            ));
        }
        if !folder.join("HEAD").exists() {
            git.output(&["init", "--quiet", "--bare"]).await?;
        }
        Ok(Self { git, folder, url: url.to_owned(), branch: branch.to_owned() })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    fn remote(&self) -> String {
        format!("refs/remotes/origin/{}", self.branch)
    }

    fn local(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    /// Asks for the branch's newest commit, with all that it needs; [`None`] if there is no branch.
    pub(super) async fn fetch(&self) -> Result<Option<String>, GitError> {
        let (local, remote) = (self.local(), self.remote());
        let listed = self.git.line(&["ls-remote", "--heads", "--", &self.url, &local]).await?;
        let Some(tip) = listed.split_whitespace().next() else {
            if self.known().await?.is_some() {
                self.git.output(&["update-ref", "-d", &remote]).await?;
            }
            return Ok(None);
        };
        if self.known().await?.as_deref() != Some(tip) {
            let refs = format!("+{local}:{remote}");
            self.git
                .output(&["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--", &self.url, &refs])
                .await?;
        }
        // The branch may have moved between the two.
        self.known().await
    }

    /// The branch's newest commit, as it was last fetched or pushed.
    pub(super) async fn known(&self) -> Result<Option<String>, GitError> {
        self.commit_at(&self.remote()).await
    }

    /// The commits that were made here and not pushed.
    pub(super) async fn unpushed(&self) -> Result<Option<String>, GitError> {
        self.commit_at(&self.local()).await
    }

    async fn commit_at(&self, name: &str) -> Result<Option<String>, GitError> {
        let commit = self.git.line(&["for-each-ref", "--format=%(objectname)", name]).await?;
        Ok(Some(commit).filter(|commit| !commit.is_empty()))
    }

    /// Whether it is there.
    pub(super) async fn has(&self, commit: &str) -> Result<bool, GitError> {
        self.git.is_so(&["cat-file", "-e", &format!("{commit}^{{commit}}")]).await
    }

    /// Whether `later` has all of `earlier`.
    pub(super) async fn is_ancestor(&self, earlier: &str, later: &str) -> Result<bool, GitError> {
        self.git.is_so(&["merge-base", "--is-ancestor", earlier, later]).await
    }

    /// What a commit has.
    pub(super) async fn files(&self, commit: &str) -> Result<Listing, GitError> {
        let listed = self.git.output(&["ls-tree", "-r", "-z", "-l", "--full-tree", commit]).await?;
        let mut listing = Listing::default();
        for line in listed.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
            listing.add(line).ok_or_else(|| GitError::new("git ls-tree: a line of its answer cannot be read"))?;
        }
        Ok(listing)
    }

    /// The contents with these names.
    pub(super) async fn contents(&self, ids: &[&str]) -> Result<Vec<Vec<u8>>, GitError> {
        let asked: String = ids.iter().flat_map(|id| [id, "\n"]).collect();
        let answer = self.git.output_of(&["cat-file", "--batch"], &[], asked.as_bytes()).await?;
        let cut = || GitError::new("git cat-file: it gave less than was asked for");
        let mut rest = answer.as_slice();
        let mut contents = Vec::with_capacity(ids.len());
        for _ in ids {
            let end = rest.iter().position(|byte| *byte == b'\n').ok_or_else(cut)?;
            let (head, body) = rest.split_at(end);
            let bytes: Option<usize> = str::from_utf8(head).ok().and_then(|head| head.rsplit(' ').next()?.parse().ok());
            let bytes = bytes.ok_or_else(cut)?;
            contents.push(body.get(1..=bytes).ok_or_else(cut)?.to_vec());
            rest = body.get(bytes + 2..).ok_or_else(cut)?;
        }
        Ok(contents)
    }

    /// Takes the contents of `files` over, byte for byte. Returns their names.
    pub(super) async fn take(&self, files: &[PathBuf]) -> Result<Vec<String>, GitError> {
        let mut asked = Vec::new();
        for file in files {
            asked.extend_from_slice(file.as_os_str().as_encoded_bytes());
            asked.push(b'\n');
        }
        let named = self.git.output_of(&["hash-object", "-w", "--no-filters", "--stdin-paths"], &[], &asked).await?;
        let names: Vec<String> = String::from_utf8_lossy(&named).lines().map(str::to_owned).collect();
        if names.len() == files.len() { Ok(names) } else { Err(GitError::new("git hash-object: a file is missing")) }
    }

    /// The tree of a commit, with `changes`.
    pub(super) async fn tree(&self, commit: Option<&str>, changes: &[TreeChange<'_>]) -> Result<String, GitError> {
        let index = self.folder.join("atlas-index");
        // Left by a sync that was killed.
        let _ = fs::remove_file(&index);
        let name = index.to_string_lossy();
        let variables = [("GIT_INDEX_FILE", &*name)];
        self.git.output_of(&["read-tree", commit.unwrap_or("--empty")], &variables, &[]).await?;
        let mut lines = Vec::new();
        for (path, content) in changes {
            let line = match content {
                Some((mode, id)) => format!("{mode} {id}\t{path}\0"),
                None => format!("0 {}\t{path}\0", "0".repeat(40)),
            };
            lines.extend_from_slice(line.as_bytes());
        }
        self.git.output_of(&["update-index", "-z", "--index-info"], &variables, &lines).await?;
        let tree = self.git.output_of(&["write-tree"], &variables, &[]).await?;
        Ok(String::from_utf8_lossy(&tree).trim().to_owned())
    }

    /// The name of a commit's tree.
    pub(super) async fn tree_of(&self, commit: &str) -> Result<String, GitError> {
        self.git.line(&["rev-parse", "--verify", &format!("{commit}^{{tree}}")]).await
    }

    /// Makes a commit, which belongs to no branch yet. Returns its name.
    pub(super) async fn commit(&self, new: &NewCommit<'_>) -> Result<String, GitError> {
        let date = format!("{} +0000", new.time.as_second());
        let variables = [
            ("GIT_AUTHOR_NAME", new.author.name.as_str()),
            ("GIT_AUTHOR_EMAIL", &new.author.email),
            ("GIT_AUTHOR_DATE", &date),
            ("GIT_COMMITTER_NAME", &new.committer.name),
            ("GIT_COMMITTER_EMAIL", &new.committer.email),
            ("GIT_COMMITTER_DATE", &date),
        ];
        let parent = new.parent.map(|parent| ["-p", parent]);
        let arguments: Vec<&str> =
            ["commit-tree", new.tree].into_iter().chain(parent.into_iter().flatten()).chain(["-F", "-"]).collect();
        let made = self.git.output_of(&arguments, &variables, new.message.as_bytes()).await?;
        Ok(String::from_utf8_lossy(&made).trim().to_owned())
    }

    /// Makes `commit` the branch's newest, if it continues what is there. Returns whether it does.
    pub(super) async fn push(&self, commit: &str, from: Option<&str>) -> Result<bool, GitError> {
        let (local, remote) = (self.local(), self.remote());
        let refs = format!("{commit}:{local}");
        let pushed = self.git.output(&["push", "--quiet", "--no-verify", "--", &self.url, &refs]).await;
        if let Err(error) = pushed {
            let tip = self.fetch().await?;
            return if tip.as_deref() == from { Err(error) } else { Ok(false) };
        }
        self.git.output(&["update-ref", &remote, commit]).await.map(|_| true)
    }

    /// Keeps `commit` in the clone, for a person to push.
    pub(super) async fn keep(&self, commit: &str) -> Result<(), GitError> {
        self.git.output(&["update-ref", &self.local(), commit]).await.map(drop)
    }

    /// Author and subject of the commits after `from`, up to `to`, the newest first; at most `limit`.
    pub(super) async fn subjects(
        &self,
        from: Option<&str>,
        to: &str,
        limit: usize,
    ) -> Result<Vec<(String, String)>, GitError> {
        let range = from.map_or_else(|| to.to_owned(), |from| format!("{from}..{to}"));
        let log = self
            .git
            .output(&["log", "-z", "--format=%an%x01%s", &format!("--max-count={limit}"), &range, "--"])
            .await?;
        let log = String::from_utf8_lossy(&log);
        let entries = log.split('\0').filter_map(|entry| entry.split_once('\u{1}'));
        Ok(entries.map(|(author, subject)| (author.to_owned(), subject.to_owned())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_commit_is_left_out_of_its_listing() {
        let mut listing = Listing::default();
        for line in [
            &b"100644 blob 1f    12\ta b.md"[..],
            b"120000 blob 2f     4\tlink.md",
            b"100755 blob 3f     4\tM\xfcller.md",
            b"160000 commit 4f       -\tmodule",
        ] {
            listing.add(line).unwrap();
        }
        assert_eq!(listing.files.keys().collect::<Vec<_>>(), ["a b.md"]);
        let others =
            [("link.md", Reason::LinkInGit), ("M\u{fffd}ller.md", Reason::NotUnicode), ("module", Reason::NotAFile)];
        assert_eq!(listing.others, others.map(|(path, reason)| (path.to_owned(), reason)));
        assert_eq!(listing.add(b"100644 blob 1f"), None);
    }

    #[test]
    fn a_name_with_an_address_is_read_and_no_name_leaves_its_place() {
        let ident = Ident::parse("Ida Notes <ida@example.org>").unwrap();
        assert_eq!((ident.name.as_str(), ident.email.as_str()), ("Ida Notes", "ida@example.org"));
        for wrong in ["Ida", "<ida@example.org>", "Ida <>", "Ida <a> <b>"] {
            assert_eq!(Ident::parse(wrong), None, "{wrong}");
        }
        assert_eq!(ident.named("a <b>\nc").name, "a bc");
        assert_eq!(ident.named("<>").name, "unknown");
    }
}
