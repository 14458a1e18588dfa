"""How good search is: judged queries, and what vaults judge themselves (who follows a link by its text expects the note that it leads to).

usage: run.py ATLAS [--sets FOLDER] [--corpora FOLDER] [--before ATLAS] [--model FOLDER] [--modes text,…] [--per-query]

ATLAS is the program. FOLDER with sets has files NAME.json, each a list of {"id", "query", "category", "relevant": [paths], "partial": [paths]};
the vault of a set is the folder in the corpora that its name begins with. A relevant note gains 1, a partial one half. `--before` compares with
another program, query by query. With `--model`, an embedding model's folder, all modes are measured, and each beside `text`, query by query. Prints one markdown table, with 95% intervals by bootstrap.
"""

import argparse
import json
import math
import pathlib
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

DEPTH = 10
RESAMPLES = 5_000
SEED = 11
# Links drawn of each vault.
LINKS = 200
LINK = re.compile(r"(?<!!)\[\[([^\[\]|#\n]+)(?:#[^\[\]|\n]*)?\|([^\[\]\n]+)\]\]")
DEMO = pathlib.Path(__file__).parent.parent / "vaults" / "demo"


def ndcg(item, ranked):
    gains = dict.fromkeys(item.get("partial", []), 0.5) | dict.fromkeys(item["relevant"], 1.0)
    best = sorted(gains.values(), reverse=True)[:DEPTH]
    discounted = lambda found: sum(gain / math.log2(rank + 2) for rank, gain in enumerate(found))
    return discounted(gains.get(path, 0.0) for path in ranked[:DEPTH]) / discounted(best)


def interval(values):
    """The mean, and what 95% of means of values drawn anew lie between."""
    drawn = random.Random(SEED)
    means = sorted(sum(drawn.choices(values, k=len(values))) / len(values) for _ in range(RESAMPLES))
    return sum(values) / len(values), means[int(RESAMPLES * 0.025)], means[int(RESAMPLES * 0.975)]


def by_links(root):
    """Queries of the vault itself: texts of links that are not the name of their note, each with that note."""
    notes = {}
    for path in sorted(root.rglob("*.md")):
        notes.setdefault(path.stem.casefold(), []).append(path.relative_to(root).as_posix())
    found = {}
    for path in sorted(root.rglob("*.md")):
        for target, text in LINK.findall(path.read_text(encoding="utf-8", errors="replace")):
            named = notes.get(target.rsplit("/", 1)[-1].removesuffix(".md").strip().casefold(), [])
            if len(named) == 1 and named[0] != path.relative_to(root).as_posix() and re.search(r"\w", text):
                found.setdefault(text.strip(), set()).add(named[0])
    texts = sorted(text for text, paths in found.items() if len(paths) == 1 and len(text) > 2)
    drawn = random.Random(SEED).sample(texts, min(LINKS, len(texts)))
    return [{"id": text, "query": quoted(text), "category": "", "relevant": sorted(found[text])} for text in drawn]


def quoted(text):
    """A text as words alone: without what has a meaning in queries."""
    return re.sub(r'["*:-]', " ", text)[:200]


class Served:
    """A vault that is published and served."""

    def __init__(self, atlas, vault, model):
        self.work = pathlib.Path(tempfile.mkdtemp())
        shutil.copytree(vault, self.work / "vault")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        store = f"file://{self.work}/store"
        sync = [atlas, "sync", str(self.work / "vault"), "--store", store, "--state", str(self.work / "state")]
        subprocess.run(sync, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if model:
            add = [atlas, "model", "add", str(model), "--store", store, "--vault", "main"]
            subprocess.run(add, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        serve = [atlas, "serve", "--addr", self.address, "--store", store]
        self.server = subprocess.Popen(serve, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        for _ in range(300):
            try:
                urllib.request.urlopen(f"http://{self.address}/health", timeout=5).read()
                return self
            except OSError:
                time.sleep(0.1)
        sys.exit("the server does not start")

    def __exit__(self, *_):
        self.server.terminate()
        self.server.wait()
        shutil.rmtree(self.work, ignore_errors=True)

    def paths(self, query, mode):
        body = json.dumps({"query": query, "mode": mode, "limit": DEPTH}).encode()
        request = urllib.request.Request(f"http://{self.address}/search", body, {"content-type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return [note["path"] for note in json.load(reply)["results"]]
        except urllib.error.HTTPError as refused:
            # What says nothing as a query finds nothing. All else is a defect.
            if b"query_invalid" in refused.read():
                return []
            raise

    def has(self, mode):
        try:
            self.paths("a", mode)
            return True
        except urllib.error.HTTPError:
            return False


def scores(atlas, vault, sets, modes, model):
    """By mode and set the score of each query, in order."""
    found = {}
    with Served(atlas, vault, model) as served:
        for mode in filter(served.has, modes):
            for name, items in sets.items():
                found[mode, name] = [ndcg(item, served.paths(item["query"], mode)) for item in items]
    return found


def categories(items):
    named = [("all", range(len(items)))]
    for category in dict.fromkeys(item["category"] for item in items if item["category"]):
        named.append((category, [at for at, item in enumerate(items) if item["category"] == category]))
    return named


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("atlas")
    options.add_argument("--sets", type=pathlib.Path)
    options.add_argument("--corpora", type=pathlib.Path)
    options.add_argument("--before")
    options.add_argument("--model", type=pathlib.Path)
    options.add_argument("--modes")
    options.add_argument("--per-query", action="store_true")
    options = options.parse_args()
    vaults = {"demo": DEMO}
    if options.corpora:
        vaults = {folder.name: folder for folder in sorted(options.corpora.iterdir()) if folder.is_dir()} | vaults
    files = sorted(options.sets.glob("*.json")) if options.sets else []
    beside = "the program before" if options.before else "text" if options.model else ""
    print("| set | mode | queries | nDCG@10 |" + (f" beside {beside} |" if beside else ""))
    print("|---|---|---|---|" + ("---|" if beside else ""))
    for vault, root in vaults.items():
        sets = {file.stem: json.loads(file.read_text()) for file in files if file.stem.split("-")[0] == vault}
        sets[f"{vault}, links"] = by_links(root)
        sets = {name: items for name, items in sets.items() if items}
        # Without a model, hybrid is text.
        modes = (options.modes or ("text,semantic,hybrid" if options.model else "text")).split(",")
        after = scores(options.atlas, root, sets, modes, options.model)
        before = scores(options.before, root, sets, modes, None) if options.before else after if options.model else {}
        for (mode, name), values in after.items():
            for category, places in categories(sets[name]):
                of = [values[at] for at in places]
                row = "| {} | {} | {} | {:.3f} [{:.3f}, {:.3f}] |".format(
                    name if category == "all" else f"{name}, {category}", mode, len(of), *interval(of)
                )
                if beside:
                    old = before.get((mode, name)) if options.before else None
                    old = old or before.get(("text", name)) or values
                    row += " {:+.3f} [{:+.3f}, {:+.3f}] |".format(*interval([values[at] - old[at] for at in places]))
                print(row, flush=True)
            if options.per_query:
                for item, value in sorted(zip(sets[name], values), key=lambda pair: pair[1]):
                    print(f"{value:.3f} {item['id']} {item['query']}", file=sys.stderr)


if __name__ == "__main__":
    main()
