"""A million notes: what their first publication costs, and a sync with nothing changed, each in a process of its own.

usage: big.py TARGET_FOLDER BIG_FOLDER

Leaves its rows in TARGET_FOLDER/tmp/bench, and in BIG_FOLDER the published `store`, which `peers/big.rs` asks. What is published there
is published anew only if the store is gone, and its rows then stay as they are.
"""

import os
import pathlib
import sys

import processes
from processes import row

MILLION = 1_000_000
VAULT = "1 M notes"
SYNCS = 3
# What a publication may take: the least megabytes a second of one core, the least share of the time that it uses both,
# the most resident megabytes, and the most percent of the markdown that it publishes.
SPEED, CORES, RESIDENT, SHARE = 15, 1.6, 400, 45
MAX_OF_FIND = 1.8


def publication(atlas, root, work):
    markdown = processes.bytes_of_markdown(root)
    for folder in (work / "store", work / "state"):
        folder.mkdir()
    _, wall, cpu, resident = processes.run(processes.sync(atlas, root, work))
    speed, cores, resident = markdown / cpu / 1e6, cpu / wall, resident / 1e6
    share = 100 * processes.bytes_published(work) / markdown
    yield row("first publication, per second of one core", VAULT, f"{speed:.1f} MB", f"{SPEED} MB", speed >= SPEED)
    yield row("first publication, cores used", VAULT, f"{cores:.2f} of {os.cpu_count()}; {wall:.0f} s for {markdown / 1e6:.0f} MB", f"{CORES}", cores >= CORES)
    yield row("first publication, resident memory", VAULT, f"{resident:.0f} MB", f"at most {RESIDENT} MB", resident <= RESIDENT)
    yield row("index and text published", VAULT, f"{share:.1f}% of the markdown", f"at most {SHARE}%", share <= SHARE)


def main():
    target, work, corpora = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), os.environ.get("ATLAS_CORPORA")
    if not corpora:
        sys.exit("ATLAS_CORPORA is not set: a million notes are made of its corpora")
    atlas, root, rows = target / "release" / "atlas", work / "vault", target / "tmp" / "bench"
    rows.mkdir(parents=True, exist_ok=True)
    work.mkdir(parents=True, exist_ok=True)
    if not root.exists():
        processes.large_vault(corpora, root, MILLION)
    if not (work / "store").exists():
        (rows / "big-published.md").write_text("\n".join(publication(atlas, root, work)) + "\n")
    synced = processes.unchanged_sync(atlas, root, VAULT, work, SYNCS, MAX_OF_FIND)
    (rows / "big-synced.md").write_text("\n".join(synced) + "\n")


main()
