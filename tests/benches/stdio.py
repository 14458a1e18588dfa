"""MCP over stdio, as an agent on the same machine has it: one process, asked line by line. Peers that are on the path, or in a folder
that PEERS names, answer the same calls on a copy of the same folder: `turbovault` and `mcpvault`."""

import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

CALLS = 200
STARTS = 11
NOTE_BYTES = 1500
# Milliseconds, and times as long as a program that writes and syncs the same bytes.
FIRST_TOUCH, START, WRITE = 0.4, 10, 1.3
REVISION = "2025-11-25"


class Client:
    """A client of a program that speaks MCP on its standard input and output."""

    def __init__(self, command, environment):
        self.begun = time.perf_counter()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
        self.number = 0
        info = {"name": "bench", "version": "1"}
        self.ask("initialize", {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": info})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        while True:
            line = self.process.stdout.readline()
            if not line:
                sys.exit(f"{self.process.args} ended")
            answer = json.loads(line)
            if answer.get("id") == self.number and "method" not in answer:
                return answer

    def call(self, name, arguments):
        """Milliseconds of a call that has to succeed."""
        begun = time.perf_counter()
        answer = self.ask("tools/call", {"name": name, "arguments": arguments})
        took = (time.perf_counter() - begun) * 1e3
        if "error" in answer or answer["result"].get("isError"):
            sys.exit(f"{name} {arguments}: {json.dumps(answer)[:500]}")
        return took

    def end(self):
        self.process.stdin.close()
        self.process.wait(60)


class Peer:
    """A program, and its names of the calls."""

    def __init__(self, name, command, environment, read, backlinks, write):
        self.name, self.command, self.environment = name, command, environment
        self.read, self.backlinks, self.write = read, backlinks, write

    def client(self):
        return Client(self.command, self.environment)


def peers(atlas, root, work):
    """`atlas` on `root`, and each peer that is there on a copy."""
    home = work / "home"
    home.mkdir()
    environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
    subprocess.run([atlas, "--quiet", "sync", str(root)], env=environment, check=True, stdout=subprocess.DEVNULL)
    path = lambda note: {"path": note}
    yield Peer(
        "atlas", [atlas, "mcp", "--root", str(root)], environment,
        ("read_note", path), ("get_backlinks", path), ("write_note", lambda note, text: {"path": note, "content": text}),
    )
    places = os.pathsep.join(filter(None, [os.environ.get("PEERS"), os.environ["PATH"]]))
    for name, options, calls in [
        ("turbovault", ["--vault"], (("read_note", path), ("get_backlinks", path), ("write_note", lambda note, text: {"path": note, "content": text}))),
        ("mcpvault", [], (("read_note", path), None, ("write_note", lambda note, text: {"path": note, "content": text}))),
    ]:
        if program := shutil.which(name, path=places):
            own = work / name
            shutil.copytree(root, own)
            yield Peer(name, [program, *options, str(own)], os.environ | {"HOME": str(home)}, *calls)


def bare(folder, files, copies=()):
    """Milliseconds of a program that writes files of so many bytes, each put in its place when it is whole, and synced if it is no copy."""
    begun = time.perf_counter()
    for at, size in enumerate([*files, *copies]):
        is_synced = at < len(files)
        with open(folder / "new", "wb") as file:
            file.write(bytes(size))
            file.flush()
            if is_synced:
                os.fsync(file.fileno())
        os.rename(folder / "new", folder / str(at))
        if is_synced:
            directory = os.open(folder, os.O_RDONLY)
            os.fsync(directory)
            os.close(directory)
    return (time.perf_counter() - begun) * 1e3


def files_of_writes(store):
    """For each of the last writes the bytes of the files that it made: a segment and a manifest, and a copy of that as the newest."""
    newest = lambda kind: sorted(store.glob(f"vaults/*/{kind}/*"), key=lambda path: path.stat().st_mtime_ns)[-CALLS // 2 :]
    sizes = [[path.stat().st_size for path in newest(kind)] for kind in ("segments", "manifests")]
    return [((segment, manifest), (manifest,)) for segment, manifest in zip(*sizes)]


def measured(peer, notes, new):
    """Of each kind of call the milliseconds, all ascending."""
    starts = []
    for _ in range(STARTS):
        begun = time.perf_counter()
        client = peer.client()
        client.call(peer.read[0], peer.read[1](notes[0]))
        starts.append((time.perf_counter() - begun) * 1e3)
        client.end()
    client = peer.client()
    client.call(peer.read[0], peer.read[1](notes[0]))
    rest = notes[1:]
    times = {"start": starts}
    times["read"] = [client.call(peer.read[0], peer.read[1](note)) for note in rest]
    times["again"] = [client.call(peer.read[0], peer.read[1](note)) for note in rest]
    if peer.backlinks:
        client.call(peer.backlinks[0], peer.backlinks[1](notes[0]))
        times["backlinks"] = [client.call(peer.backlinks[0], peer.backlinks[1](note)) for note in rest]
    times["write"] = [client.call(peer.write[0], peer.write[1](name, text)) for name, text in new]
    client.end()
    return times


def rows(row, atlas, source, vault):
    """The rows of `atlas` and of each peer that is there."""
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        root = work / "vault"
        shutil.copytree(source, root)
        drawn = random.Random(1)
        notes = sorted(str(path.relative_to(root)) for path in root.rglob("*.md") if path.stat().st_size < 100_000)
        notes = drawn.sample(notes, min(CALLS, len(notes)))
        words = "a note that an agent writes while it works ".split()
        text = lambda: " ".join(drawn.choice(words) for _ in range(NOTE_BYTES // 5)) + "\n"
        new = [(f"written {at}.md", text()) for at in range(CALLS)]
        (work / "bare").mkdir()
        note_alone = statistics.median(bare(work / "bare", [NOTE_BYTES]) for _ in range(CALLS))
        for peer in peers(atlas, root, work):
            times = {kind: statistics.median(values) for kind, values in measured(peer, notes, new).items()}
            own = peer.name == "atlas"
            held = lambda holds: holds if own else None
            told = lambda kind: f"{times[kind]:.2f} ms" if kind in times else "does not have it"
            what = f"MCP over stdio, `{peer.name}`: "
            yield row(what + "start to first answer", vault, told("start"), f"{START} ms" if own else "", held(times["start"] <= START))
            reads = f"{told('read')}, again {told('again')}"
            yield row(what + "a note read, for the first time and again", vault, reads, f"{FIRST_TOUCH} ms" if own else "", held(times["read"] <= FIRST_TOUCH))
            yield row(what + "backlinks", vault, told("backlinks"))
            result = f"{told('write')}, {times['write'] / note_alone:.2f} times a bare program that writes and syncs the note's file ({note_alone:.2f} ms)"
            if own:
                store = subprocess.run([atlas, "where", str(root), "--only", "store"], env=peer.environment, check=True, capture_output=True, text=True)
                store = pathlib.Path(urllib.parse.unquote(store.stdout.strip().removeprefix("file://")))
                same = statistics.median(bare(work / "bare", *files) for files in files_of_writes(store))
                ratio = times["write"] / same
                result += f", {ratio:.2f} times one that writes and syncs the same files ({same:.2f} ms)"
            yield row(what + "a note written", vault, result, f"{WRITE} times the same files" if own else "", held(own and ratio <= WRITE))

