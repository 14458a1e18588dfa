"""The MCP door as others see it: the protocol's conformance suite against the function under `cargo lambda watch`, and clients of other
makers, of both eras of the protocol, against `atlas serve` with tokens and `atlas mcp`.

usage: run.py PROGRAM, where PROGRAM is the built `atlas`
"""

import asyncio
import base64
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import inspector_page
import oauth
from httpx2 import AsyncClient
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent.parent
REVISIONS = ["2026-07-28", "2025-11-25"]
SECRET = "a secret that is long enough to be one"
# A function is built at its first request.
BUILD_SECONDS = 900
# How long anything else may take.
SECONDS = 120

# Lists every operation.
FLAT = {"CONFIG": json.dumps({"toolFacade": {"mode": "flat"}})}

NOTE = "vault/Home.md"
MISSING = "no/such.md"


def environment(**settings):
    """This process's environment with no settings but these."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("ATLAS_")}
    return inherited | {f"ATLAS_{name}": value for name, value in settings.items()}


@contextlib.contextmanager
def running(command, log, **settings):
    """A process, and those that it starts, while it is needed."""
    with open(log, "wb") as output:
        process = subprocess.Popen(
            command, cwd=PROJECT, env=environment(**settings), stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, start_new_session=True,
        )
    try:
        yield process
    except BaseException:
        print(Path(log).read_text(errors="replace")[-4000:], file=sys.stderr)
        raise
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def answers(url, process, seconds):
    """Waits until the door at `url` answers: that it takes no GET."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=SECONDS)
        except urllib.error.HTTPError as refused:
            if refused.code in (401, 405):
                return
        except OSError:
            pass
        time.sleep(0.2)
    raise SystemExit(f"{url} does not answer")


def validate_bundle():
    """Asks the maker's program whether the bundle's manifest can be used."""
    subprocess.run(["mcpb", "validate", str(PROJECT / "infra/agents/mcpb/manifest.json")], check=True, timeout=SECONDS, env=environment())


def conformance(url, folder):
    for revision in REVISIONS:
        command = ["conformance", "server", "--url", url, "--requirements", revision]
        command += ["--expected-failures", str(HERE / f"baseline-{revision}.yml"), "--output-dir", str(folder / revision)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment())
        if done.returncode != 0:
            raise SystemExit(f"{revision}\n{done.stdout[-6000:]}{done.stderr[-2000:]}")
        # Its line in the baseline stands for what the suite cannot try here, and for nothing else.
        for checks in (folder / revision).glob("server-server-stateless-*/checks.json"):
            failed = [check for check in json.loads(checks.read_text()) if check["status"] == "FAILURE"]
            assert all(check["errorMessage"].startswith("Not testable") for check in failed), failed
        print(f"conformance {revision}:", next(line for line in done.stdout.splitlines() if line.startswith("Total:")))


def inspector(target, era, *arguments, fails=0):
    """What the Inspector prints of one request; `fails` is the status that it must end with."""
    command = ["mcp-inspector", "--cli", *target, "--protocol-era", era, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=environment())
    assert done.returncode == fails, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return json.loads(done.stdout)


def inspect(target):
    for era in ["modern", "legacy"]:
        # Strict: no schema that some model would not take.
        tools = inspector(target, era, "--method", "tools/list", "--strict")["tools"]
        assert {"search", "read_note"} <= {tool["name"] for tool in tools}
        found = inspector(target, era, "--method", "tools/call", "--tool-name", "search", "--tool-arg", "query=berth")
        assert found["structuredContent"]["results"] and json.loads(found["content"][0]["text"]) == found["structuredContent"]
        read = ["--method", "tools/call", "--tool-name", "read_note", "--tool-arg", f"path={MISSING}"]
        failed = inspector(target, era, *read, fails=5)
        assert failed["isError"] and "note_not_found" in failed["content"][0]["text"]
        note = inspector(target, era, "--method", "resources/read", "--uri", f"atlas://main/{NOTE}")
        assert "# Home" in note["contents"][0]["text"]
        print("inspector:", era)


async def converse(server, name):
    for mode in [REVISIONS[0], "legacy"]:
        async with Client(server(), mode=mode, read_timeout_seconds=SECONDS) as client:
            tools = (await client.list_tools()).tools
            assert {"search", "read_note"} <= {tool.name for tool in tools}
            found = await client.call_tool("search", {"query": "berth"})
            assert not found.is_error and found.structured_content["results"]
            failed = await client.call_tool("read_note", {"path": MISSING})
            assert failed.is_error and "note_not_found" in failed.content[0].text
            note = await client.read_resource(f"atlas://main/{NOTE}")
            assert "# Home" in note.contents[0].text
            listed = await client.list_resources()
            assert any(resource.name == NOTE for resource in listed.resources) or listed.next_cursor
            try:
                await client.call_tool("nothing", {})
            except MCPError as refused:
                assert refused.error.code == -32602, refused
            else:
                raise AssertionError("a tool that there is not was called")
            print(f"python over {name}:", mode)


async def use_every_tool(server, name, is_for_writing):
    """Makes the calls of calls.json in order. The client holds what tools return against the schemas that they give."""
    count, answers = 0, {}
    async with Client(server(), mode=REVISIONS[0], read_timeout_seconds=SECONDS) as client:
        tools = (await client.list_tools()).tools
        writing = {tool.name for tool in tools if not tool.annotations.read_only_hint}
        for call in json.loads((HERE / "calls.json").read_text()):
            tool, expected = call["tool"], call.get("error")
            if tool in writing and not is_for_writing:
                continue
            try:
                arguments = filled(call["arguments"], answers)
            except KeyError:
                # It is about what only a client that writes has made.
                assert not is_for_writing, call
                continue
            done = await client.call_tool(tool, arguments)
            text = json.loads(done.content[0].text)
            if expected is None:
                assert not done.is_error and done.structured_content == text, (call, text)
                answers[tool] = text
            else:
                assert done.is_error and text["code"] == expected, (call, text)
            count += 1
    print(f"python over {name}: {count} calls of tools")


def filled(arguments, answers):
    """Arguments with what earlier answers had in the places that refer to them."""
    if isinstance(arguments, dict):
        if "$" not in arguments:
            return {name: filled(value, answers) for name, value in arguments.items()}
        place = answers
        for step in arguments["$"].split("/")[1:]:
            place = place[int(step) if isinstance(place, list) else step]
        return place
    if isinstance(arguments, list):
        return [filled(item, answers) for item in arguments]
    return arguments


async def do_tasks(program, store, scratch):
    """Does each task of tasks.json over `atlas mcp`, each in a copy of the store. No call may fail."""
    tasks = json.loads((HERE / "tasks.json").read_text())
    for number, task in enumerate(tasks):
        copy = scratch / f"task-{number}"
        shutil.copytree(store.removeprefix("file://"), copy)
        server = StdioServerParameters(command=program, args=["mcp", "--store", f"file://{copy}"], env=environment())
        async with Client(server, mode=REVISIONS[0], read_timeout_seconds=SECONDS) as client:
            listed = {tool.name for tool in (await client.list_tools()).tools}
            for calls in [task.get("before", []), task["calls"]]:
                answers = []
                for call in calls:
                    arguments = filled(call["arguments"], answers)
                    name = call.get("tool", "call_capability")
                    if "capability" in call:
                        assert call["capability"] in {one["name"] for one in answers[-1]["capabilities"]}, (call, answers)
                        arguments = {"name": call["capability"], "arguments": arguments}
                    assert name in listed, call
                    done = await client.call_tool(name, arguments)
                    assert not done.is_error, (task["task"], call, done.content)
                    answers.append(json.loads(done.content[0].text))
        assert task.get("shows", "") in json.dumps(answers[-1], ensure_ascii=False, separators=(",", ":")), (task, answers)
    print(f"python over stdio: {len(tasks)} tasks")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def main(program):
    validate_bundle()
    invoked, served = free_port(), free_port()
    function, server = f"http://127.0.0.1:{invoked}/mcp", f"http://127.0.0.1:{served}/mcp"
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        store = published(program, scratch / "shared")

        watch = ["cargo", "lambda", "watch", "--ignore-changes", "--invoke-address", "127.0.0.1"]
        suited = published(program, scratch / "suited", with_prompts=True)
        with running([*watch, "--invoke-port", str(invoked)], scratch / "watch.log", STORE=suited) as process:
            answers(function, process, BUILD_SECONDS)
            conformance(function, scratch)

        serve = [program, "serve", "--addr", f"127.0.0.1:{served}"]
        tokens = {"AUTH": "jwt", "JWT_SECRET": SECRET}
        scopes = "read:vault,write:vault,delete:vault,bulk:vault,execute:*,read:plur,admin"
        token = subprocess.run(
            [program, "token", "--scopes", scopes], check=True, capture_output=True, text=True, env=environment(**tokens), timeout=SECONDS
        ).stdout.strip()
        for config in [{}, FLAT]:
            with running(serve, scratch / "serve.log", STORE=store, **tokens, **config) as process:
                answers(server, process, SECONDS)
                inspect([server, "--transport", "http", "--header", f"Authorization: Bearer {token}"])
                if config == FLAT:
                    asyncio.run(use_every_tool(lambda: bearing(server, token), "HTTP", is_for_writing=False))
                else:
                    asyncio.run(converse(lambda: bearing(server, token), "HTTP"))

        base = f"http://127.0.0.1:{served}"
        with running(serve, scratch / "oauth.log", STORE=store, **oauth.set_up(program, scratch, base, environment())) as process:
            answers(server, process, SECONDS)
            asyncio.run(oauth.with_python(base))
            oauth.with_typescript(base, Path(shutil.which("mcp-inspector")).parent.parent, environment())
            oauth.with_authlib(base)
            oauth.conformance(base, free_port(), scratch / "authorization", environment())
            ports = [free_port() for _ in range(4)]
            inspector_page.sign_in_and_call(server, oauth.PASSPHRASE, ports, scratch / "inspector", environment())

        own = published(program, scratch / "own")
        stdio = lambda **config: StdioServerParameters(command=program, args=["mcp", "--store", own], env=environment(**config))
        asyncio.run(converse(stdio, "stdio"))
        asyncio.run(use_every_tool(lambda: stdio(**FLAT), "stdio", is_for_writing=True))
        asyncio.run(do_tasks(program, store, scratch))


# The prompts that the conformance suite asks for, as a person keeps prompts in a vault.
PROMPTS = {
    "test_simple_prompt": "This is a simple prompt for testing.",
    "test_prompt_with_arguments": "Prompt with arguments: arg1='{{arg1}}', arg2='{{arg2}}'",
    "test_prompt_with_embedded_resource": "![[Home]]\n\nProcess the note above, as you would {{resourceUri}}.",
    "test_prompt_with_image": "![[pixel.png]]\n\nAnalyse the picture above.",
}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="


def published(program, folder, with_prompts=False):
    """The address of a new store that has the demo vault."""
    store, root = f"file://{folder / 'store'}", PROJECT / "tests/vaults/demo"
    if with_prompts:
        root = shutil.copytree(root, folder / "vault")
        (root / "Prompts").mkdir()
        (root / "pixel.png").write_bytes(base64.b64decode(PIXEL))
        for name, text in PROMPTS.items():
            (root / f"Prompts/{name}.md").write_text(f"---\ndescription: A prompt of the suite\n---\n{text}\n")
    sync = [program, "sync", "--root", str(root), "--state", str(folder / "state")]
    subprocess.run([*sync, "--store", store], check=True, env=environment(), timeout=SECONDS)
    return store


def bearing(url, token):
    client = AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=SECONDS)
    return streamable_http_client(url, http_client=client)


if __name__ == "__main__":
    main(str(Path(sys.argv[1]).resolve()))
