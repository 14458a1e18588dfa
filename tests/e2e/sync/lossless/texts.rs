//! The content of a note: blocks, each written by somebody at once.

use std::collections::BTreeSet;

/// The blocks of a note, or of many.
pub type Blocks = BTreeSet<String>;

/// Long enough to show torn writes.
pub fn block(who: char, number: usize) -> String {
    format!("{who}{number} {} end of {who}{number}\n", "words ".repeat(10))
}

/// The blocks of a text, which contains nothing else.
pub fn blocks(text: &str) -> Result<Blocks, String> {
    let whole = |line: &str| {
        let name = line.split(' ').next().unwrap_or_default();
        let who = name.chars().next()?;
        let number = name.get(1..)?.parse().ok()?;
        Some(block(who, number)).filter(|block| block.trim_end() == line)
    };
    let lines = text.lines().filter(|line| !line.is_empty());
    let mut blocks = Blocks::new();
    for line in lines {
        let block = whole(line).ok_or_else(|| format!("a text is torn: {text:?}"))?;
        if !blocks.insert(block) {
            return Err(format!("a text is there twice: {text:?}"));
        }
    }
    Ok(blocks)
}
