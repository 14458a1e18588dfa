"""`atlas up` as a person feels it: how soon it answers, how soon each side has what the other wrote, and what it costs when nothing happens."""

import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import time
import urllib.error
import urllib.request

EDITS = 9
IDLE_SECONDS = 20
TICK = os.sysconf("SC_CLK_TCK")


class Up:
    """A running `atlas up` of a folder, with a home of its own."""

    def __init__(self, atlas, folder, home, port):
        environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
        self.url = f"http://127.0.0.1:{port}"
        self.begun = time.perf_counter()
        command = [str(atlas), "up", str(folder), "--port", str(port)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True)

    def answer(self, path, body=None, token=None):
        headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {token}"} if token else {})
        request = urllib.request.Request(self.url + path, body and json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.read().decode()

    def first_answer(self, query):
        """Seconds from the start of the process to the first answer that finds something."""
        while True:
            try:
                if json.loads(self.answer("/search", {"query": query}))["results"]:
                    return time.perf_counter() - self.begun
            except (urllib.error.URLError, ConnectionError):
                pass
            if self.process.poll() is not None or time.perf_counter() - self.begun > 120:
                raise SystemExit("atlas up did not answer")
            time.sleep(0.005)

    def token(self):
        for line in self.process.stdout:
            if line.startswith("MCP"):
                return line.split("Bearer ")[1].strip().strip('"')
        raise SystemExit("atlas up printed no line for MCP")

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def resident_megabytes(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024


def until(happened):
    """Seconds until it has happened."""
    begun = time.perf_counter()
    while not happened():
        if time.perf_counter() - begun > 60:
            raise SystemExit("it did not happen within a minute")
        time.sleep(0.005)
    return time.perf_counter() - begun


def rows(row, atlas, root, vault, query, work):
    """The rows over a copy of the vault at `root`, in which `query` finds something."""
    folder, home = work / "notes", work / "home"
    shutil.copytree(root, folder, symlinks=True)
    home.mkdir()
    port = 20_000 + os.getpid() % 20_000
    cold = Up(atlas, folder, home, port)
    first = cold.first_answer(query)
    cold.token()
    cold.stop()
    up = Up(atlas, folder, home, port)
    second = up.first_answer(query)
    yield row("`atlas up`, start to first answer, nothing published", vault, f"{first:.2f} s", "3 s", first <= 3)
    yield row("`atlas up`, start to first answer, published before", vault, f"{second:.2f} s", "0.5 s", second <= 0.5)
    try:
        token = up.token()
        saves, writes = [], []
        for number in range(EDITS):
            word = f"benchsave{number}x"
            (folder / f"saved {number}.md").write_text(f"# Saved\n\n{word}\n")
            saves.append(until(lambda: word in up.answer("/search", {"query": word, "mode": "literal"})))
            path = folder / f"written-{number}.md"
            up.answer(f"/notes/written-{number}.md", {"content": "# Written\n"}, token)
            writes.append(until(path.exists))
        for what, seconds in [("a person's save is in answers", saves), ("an agent's write is in the folder", writes)]:
            told = f"median {statistics.median(seconds):.2f} s, longest {max(seconds):.2f} s"
            yield row(f"`atlas up`, until {what}", vault, told, "1 s", max(seconds) <= 1)
        time.sleep(3)
        before = up.cpu_seconds()
        time.sleep(IDLE_SECONDS)
        share = 100 * (up.cpu_seconds() - before) / IDLE_SECONDS
        resident = up.resident_megabytes()
        yield row("`atlas up`, idle", vault, f"{share:.2f}% of a core, {resident:.0f} MB", "1%, 120 MB", share < 1 and resident < 120)
    finally:
        up.stop()
