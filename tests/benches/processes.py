"""Whole processes: what the first publication of a vault costs on one core, what a sync costs with nothing or little to do, and
how large the packages of the functions are and how soon they ask for work, and how `atlas up` feels.

usage: processes.py TARGET_FOLDER

Prints one markdown table: the rows that the other benchmarks left in TARGET_FOLDER/tmp/bench, and its own.
"""

import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
import zipfile

import stdio
import up

FIRST = 3
SECOND = 11
STARTS = 20
# Notes of the large vault, those that change before a sync, and how often.
MANY = 100_000
FEW = 10
ROUNDS = 5
# Most megabytes of each function's package, and milliseconds of its start: those that hold every operation have more.
FUNCTIONS = dict.fromkeys(["context", "find", "search", "query", "note"], (4, 25)) | {"contextual/search": (50, 25), "bridge": (5, 25), "mcp": (5, 30), "ui": (8, 25), "auth": (8, 25)}
DEMO = pathlib.Path(__file__).parent.parent / "vaults" / "demo"


def run(command):
    """Runs a command; its output, wall seconds, CPU seconds, and most resident bytes."""
    begun = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.PIPE)
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - begun
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{command} failed")
    return output, wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def row(what, vault, result, target="", holds=None):
    verdict = "" if holds is None else "ok" if holds else "**no**"
    return f"| {what} | {vault} | {result} | {target} | {verdict} |"


def spread(values, unit=""):
    return f"{statistics.median(values):.3g}{unit} ({min(values):.3g} to {max(values):.3g})"


def first_publication(atlas, root, vault, work):
    markdown = bytes_of_markdown(root)
    one_core = ["taskset", "-c", "0"] if shutil.which("taskset") else []
    walls, cpus, residents = [], [], []
    for _ in range(FIRST):
        for folder in (work / "store", work / "state"):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        _, wall, cpu, resident = run(one_core + sync(atlas, root, work))
        walls.append(markdown / wall / 1e6)
        cpus.append(markdown / cpu / 1e6)
        residents.append(resident / 1e6)
    share = 100 * bytes_published(work) / markdown
    resident = max(residents)
    # What else runs on the core counts towards the time on the wall, not towards that of the process.
    yield row("first publication, per second on the wall", vault, spread(walls, " MB"), "15 MB", statistics.median(walls) >= 15)
    yield row("first publication, per second of one core", vault, spread(cpus, " MB"), "15 MB", statistics.median(cpus) >= 15)
    yield row("first publication, resident memory", vault, f"{resident:.0f} MB", "under 300 MB", resident < 300)
    yield row("index and text published", vault, f"{share:.1f}% of the markdown", "under 60%", share < 60)


def bytes_of_markdown(root):
    return sum(path.stat().st_size for path in root.rglob("*.md") if path.is_file())


def bytes_published(work):
    """Bytes of the index and the text, without attachments."""
    objects = [path for path in (work / "store").rglob("*") if path.is_file() and path.parent.name != "blobs"]
    return sum(path.stat().st_size for path in objects)


def unchanged_sync(atlas, root, vault, work, times=SECOND, most=3):
    find = ["find", str(root), "-type", "f", "-printf", "%s %T@\n"]
    ratios, syncs, finds = [], [], []
    generation = json.loads(run(sync(atlas, root, work))[0])["generation"]
    for _ in range(times):
        finds.append(run(find)[1] * 1e3)
        output, wall, _, _ = run(sync(atlas, root, work))
        summary = json.loads(output)
        if summary["generation"] != generation or summary["uploaded_bytes"]:
            sys.exit(f"a sync with nothing to do did something: {summary}")
        syncs.append(wall * 1e3)
        ratios.append(syncs[-1] / finds[-1])
    yield row("sync with nothing changed", vault, spread(syncs, " ms"))
    yield row("`find -printf` of the same folder", vault, spread(finds, " ms"))
    yield row("sync with nothing changed, of `find`", vault, spread(ratios, " times"), f"{most} times", statistics.median(ratios) <= most)


def large_vault(corpora, root, many=MANY):
    """Links the corpora's files under new paths again and again until there are so many notes."""
    files = []
    for corpus in sorted(path for path in pathlib.Path(corpora).iterdir() if path.is_dir()):
        for folder, folders, names in os.walk(corpus):
            folders[:] = [name for name in folders if not name.startswith(".")]
            paths = (pathlib.Path(folder, name) for name in names)
            files += [(path, path.relative_to(corpora)) for path in paths if path.is_file() and not path.is_symlink()]
    notes, copy = [], 0
    while len(notes) < many:
        for source, path in files:
            to = root / f"copy {copy}" / path
            to.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(source, to)
            except OSError:
                shutil.copy(source, to)
            if to.suffix == ".md":
                notes.append(to)
            if len(notes) == many:
                break
        copy += 1
    return notes


def few_changes(atlas, corpora, work):
    """What a sync costs after a few notes changed in the folder, or in the mirror, beside a plain walk of the folder."""
    root = work / "vault"
    notes = large_vault(corpora, root)
    vault = f"{len(notes):,} notes"
    find = ["find", str(root), "-type", "f", "-printf", "%s %T@\n"]
    run(sync(atlas, root, work))
    picked = notes[:: len(notes) // (2 * ROUNDS * FEW)]
    measured = {"folder": [], "mirror": []}
    quiet = os.environ | {"ATLAS_LOG": "warn"}
    with subprocess.Popen(serve(atlas, work), stdout=subprocess.PIPE, env=quiet, text=True) as server:
        try:
            address = next(word for line in server.stdout for word in line.split() if word.startswith("http://"))
            for round in range(2 * ROUNDS):
                side = "folder" if round % 2 == 0 else "mirror"
                for note in picked[round * FEW : (round + 1) * FEW]:
                    if side == "folder":
                        # The note is a link to the corpus, whose own file is to stay as it is.
                        draft = note.with_suffix(".draft")
                        draft.write_bytes(note.read_bytes() + b"\nanother line\n")
                        draft.replace(note)
                    else:
                        append(address, note.relative_to(root))
                walk = run(find)[1]
                output, wall, _, _ = run(sync(atlas, root, work))
                summary = json.loads(output)
                changed = summary["pushed" if side == "folder" else "pulled"]["changed"]
                if changed != FEW or summary.get("skipped") or summary.get("conflicts"):
                    sys.exit(f"a sync of {FEW} notes of the {side} did something else: {summary}")
                measured[side].append((wall, walk, summary["uploaded_bytes"]))
        finally:
            server.terminate()
    for side, rounds in measured.items():
        walls, walks, uploads = zip(*rounds)
        # Each beside its own walk, since what else runs slows both.
        beyond = statistics.median(wall - 2 * walk for wall, walk in zip(walls, walks))
        result = f"{spread(walls, ' s')}, `find` {spread(walks, ' s')}; uploads at most {max(uploads) / 1e3:.0f} kB"
        holds = beyond <= 1 and max(uploads) < 1e6
        yield row(f"sync after {FEW} notes changed in the {side}", vault, result, "2 times `find` and 1 s; 1 MB", holds)


def append(address, path):
    """Adds a line to a note as an agent does."""
    body = json.dumps({"edits": [{"op": "append", "text": "another line"}]}).encode()
    url = f"{address}/notes/{urllib.parse.quote(str(path))}"
    request = urllib.request.Request(url, body, {"content-type": "application/json"}, method="PATCH")
    with urllib.request.urlopen(request, timeout=60) as response:
        response.read()


def package(function, most, target, work):
    """Size of a function's package, and the time from the start of its process to its first poll for work."""
    most_size, most_start = most
    archive = target / "lambda" / function / "bootstrap.zip"
    if not archive.exists():
        yield row(f"package of `{function}`", "", "not built: `make package` first")
        return
    size = archive.stat().st_size
    yield row(f"package of `{function}`", "", f"{size / 1e6:.2f} MB", f"under {most_size} MB", size < most_size * 1e6)
    program = pathlib.Path(zipfile.ZipFile(archive).extract("bootstrap", work / function))
    program.chmod(0o755)
    with socket.create_server(("127.0.0.1", 0)) as runtime:
        runtime.settimeout(10)
        try:
            starts = [first_poll(program, runtime) for _ in range(STARTS)]
        except TimeoutError:
            sys.exit(f"{program} did not ask for work within 10 seconds")
        except OSError as error:
            yield row(f"start of `{function}`", "", f"not run: {error}")
            return
    holds = statistics.median(starts) <= most_start
    yield row(f"start of `{function}`, to its first poll", "", spread(starts, " ms"), f"{most_start} ms", holds)


def first_poll(program, runtime):
    """Milliseconds until a new process asks `runtime`, which stands for Lambda's, for its first event."""
    # As Lambda sets them, but for AWS_LAMBDA_INITIALIZATION_TYPE: where that is, a function does not start without tokens.
    environment = {
        "AWS_LAMBDA_RUNTIME_API": "127.0.0.1:%d" % runtime.getsockname()[1],
        "AWS_LAMBDA_FUNCTION_NAME": program.parent.name,
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512",
        "AWS_LAMBDA_LOG_GROUP_NAME": "benchmark",
        "AWS_LAMBDA_LOG_STREAM_NAME": "benchmark",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "benchmark",
        "AWS_SECRET_ACCESS_KEY": "benchmark",
        "ATLAS_STORE": "s3://benchmark",
    }
    begun = time.perf_counter()
    child = subprocess.Popen([program], env=environment)
    try:
        asked, _ = runtime.accept()
        asked.settimeout(10)
        request = asked.recv(4096)
        took = (time.perf_counter() - begun) * 1e3
    finally:
        # Before the connection is closed, or it would complain.
        child.kill()
        child.wait()
    asked.close()
    if not request.startswith(b"GET /2018-06-01/runtime/invocation/next "):
        sys.exit(f"{program} asked for something else first: {request}")
    return took


def sync(atlas, root, work):
    return [
        str(atlas), "sync", "--root", str(root), "--vault", "main", "--json",
        "--store", f"file://{work}/store", "--state", f"{work}/state",
    ]  # fmt: skip


def serve(atlas, work):
    return [str(atlas), "serve", "--addr", "127.0.0.1:0", "--vault", "main", "--store", f"file://{work}/store"]


def main():
    target = pathlib.Path(sys.argv[1])
    corpora = os.environ.get("ATLAS_CORPORA")
    root, vault = (pathlib.Path(corpora) / "hub", "hub") if corpora else (DEMO, "demo")
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        rows = [*first_publication(target / "release" / "atlas", root, vault, work)]
        rows += unchanged_sync(target / "release" / "atlas", root, vault, work)
        if corpora:
            with tempfile.TemporaryDirectory() as large:
                rows += few_changes(target / "release" / "atlas", corpora, pathlib.Path(large))
        with tempfile.TemporaryDirectory() as folder:
            rows += up.rows(row, target / "release" / "atlas", root, vault, "the", pathlib.Path(folder))
        rows += stdio.rows(row, target / "release" / "atlas", root, vault)
        for function, most in FUNCTIONS.items():
            rows += package(function, most, target, work)
    print("\n| what | vault | result | target | |\n|---|---|---|---|---|")
    for file in sorted((target / "tmp" / "bench").glob("*.md")):
        print(file.read_text(), end="")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
