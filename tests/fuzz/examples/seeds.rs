//! Writes the seeds into the folder given, a folder for each target.

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let Some(corpus) = std::env::args_os().nth(1).map(PathBuf::from) else {
        return Err(std::io::Error::other("name the folder of the corpora"));
    };
    for target in atlas_fuzz::seeds::targets() {
        let folder = corpus.join(target.name);
        std::fs::create_dir_all(&folder)?;
        for (number, seed) in target.seeds.iter().enumerate() {
            std::fs::write(folder.join(format!("seed-{number:03}")), seed)?;
        }
    }
    Ok(())
}
