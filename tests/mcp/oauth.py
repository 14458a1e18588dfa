"""Signing in with clients of other makers, from a 401 at `/mcp` to a call, a refresh and a revocation; and the conformance suite of
authorization servers. A browser of our own plays the person.
"""

import asyncio
import html
import http.cookiejar
import json
import re
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from httpx2 import AsyncClient
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

HERE = Path(__file__).resolve().parent
SECONDS = 120
PASSPHRASE = "correct horse battery staple"
CALLBACK = "http://localhost:33418/callback"


class Browser:
    """A browser that shows nothing, and follows no redirect by itself."""

    def __init__(self, base):
        self.base = base
        stay = urllib.request.HTTPRedirectHandler()
        stay.redirect_request = lambda *_: None
        self.opener = urllib.request.build_opener(stay, urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))

    def ask(self, url, fields=None):
        """The status, the address that it leads to, and the page."""
        data = urllib.parse.urlencode(fields).encode() if fields else None
        request = urllib.request.Request(urllib.parse.urljoin(self.base, url), data, {"Accept": "text/html", "Origin": self.base})
        try:
            reply = self.opener.open(request, timeout=SECONDS)
        except urllib.error.HTTPError as refused:
            reply = refused
        return reply.status, reply.headers.get("Location"), reply.read().decode()

    def allow(self, url, scopes=("read:vault",)):
        """Signs in where that is needed, and allows what the page at `url` asks: the address that it leads to."""
        status, _, page = self.ask(url)
        if status == 401:
            status, place, page = self.ask("/ui/sign-in", [("passphrase", PASSPHRASE), ("next", hidden(page, "next"))])
            assert status == 303, page
            status, _, page = self.ask(place)
        assert status == 200, page
        kept = [(name, hidden(page, name)) for name in ["form_token", "request", "vault"]]
        choice = [("scope", scope) for scope in scopes] + [("time", "86400"), ("decision", "allow")]
        status, _, page = self.ask("/ui/authorize", kept + choice)
        assert status == 200, page
        return html.unescape(re.search(r'http-equiv="refresh" content="0;url=([^"]*)"', page)[1])


def hidden(page, name):
    return html.unescape(re.search(f'name="{name}" value="([^"]*)"', page)[1])


def query(url):
    return {name: values[0] for name, values in urllib.parse.parse_qs(urllib.parse.urlparse(url).query).items()}


def post(url, **fields):
    """The status and the JSON of an answer to a form."""
    try:
        reply = urllib.request.urlopen(url, urllib.parse.urlencode(fields).encode(), timeout=SECONDS)
    except urllib.error.HTTPError as refused:
        reply = refused
    return reply.status, json.loads(reply.read())


class Kept:
    """What the Python client remembers."""

    def __init__(self):
        self.tokens = self.client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


async def with_python(base):
    browser, kept, led = Browser(base), Kept(), []

    async def redirect(url):
        led.append(await asyncio.to_thread(browser.allow, url))

    async def callback():
        said = query(led[-1])
        return AuthorizationCodeResult(code=said["code"], state=said.get("state"), iss=said.get("iss"))

    metadata = OAuthClientMetadata(client_name="Python", redirect_uris=[CALLBACK], grant_types=["authorization_code", "refresh_token"])

    async def call():
        provider = OAuthClientProvider(f"{base}/mcp", metadata, kept, redirect, callback)
        async with AsyncClient(auth=provider, timeout=SECONDS) as http_client:
            async with Client(streamable_http_client(f"{base}/mcp", http_client=http_client)) as client:
                found = await client.call_tool("search", {"query": "berth"})
                assert not found.is_error and found.structured_content["results"]
        return provider

    await call()
    first = kept.tokens
    # Refused with a token that is none, it refreshes or asks again; asked by hand, the server gives the next tokens.
    status, tokens = post(
        f"{base}/oauth/token", grant_type="refresh_token", client_id=kept.client.client_id, refresh_token=first.refresh_token
    )
    assert status == 200 and tokens["refresh_token"] != first.refresh_token, tokens
    kept.tokens = first.model_copy(update=tokens)
    await call()
    assert len(led) == 1, "the second call asked the person again"
    status, _ = post(f"{base}/oauth/revoke", client_id=kept.client.client_id, token=tokens["refresh_token"])
    assert status == 200
    status, refused = post(
        f"{base}/oauth/token", grant_type="refresh_token", client_id=kept.client.client_id, refresh_token=tokens["refresh_token"]
    )
    assert (status, refused["error"]) == (400, "invalid_grant"), refused
    print("oauth: python")


def with_typescript(base, modules, environment):
    """The client of the SDK in TypeScript, which asks this process to play the person by a line with the address."""
    process = subprocess.Popen(
        ["node", str(HERE / "oauth.mjs"), base, str(modules)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )
    try:
        for line in process.stdout:
            if line.startswith("open "):
                process.stdin.write(Browser(base).allow(line[5:].strip()) + "\n")
                process.stdin.flush()
            elif line.startswith("done"):
                break
        assert process.wait(SECONDS) == 0
    finally:
        process.kill()
    print("oauth: typescript")


def with_authlib(base):
    """A client that knows nothing of MCP."""
    from authlib.integrations.requests_client import OAuth2Session

    server = json.load(urllib.request.urlopen(f"{base}/.well-known/openid-configuration", timeout=SECONDS))
    body = json.dumps({"client_name": "authlib", "redirect_uris": [CALLBACK]}).encode()
    request = urllib.request.Request(server["registration_endpoint"], body, {"Content-Type": "application/json"})
    registered = json.load(urllib.request.urlopen(request, timeout=SECONDS))
    session = OAuth2Session(
        registered["client_id"], redirect_uri=CALLBACK, scope="read:vault write:vault", code_challenge_method="S256",
        token_endpoint_auth_method="none", revocation_endpoint_auth_method="none",
    )
    verifier = "v" * 64
    url, state = session.create_authorization_url(server["authorization_endpoint"], code_verifier=verifier, resource=f"{base}/mcp")
    place = Browser(base).allow(url, ["read:vault", "write:vault"])
    assert query(place)["iss"] == server["issuer"] and query(place)["state"] == state
    token = session.fetch_token(server["token_endpoint"], authorization_response=place, code_verifier=verifier)
    call = lambda: session.post(f"{base}/search", json={"query": "berth"}, timeout=SECONDS)
    assert call().json()["results"]
    session.refresh_token(server["token_endpoint"])
    assert session.token["access_token"] != token["access_token"] and call().json()["results"]
    revoked = session.revoke_token(server["revocation_endpoint"], session.token["refresh_token"])
    assert revoked.status_code == 200, revoked.text
    status, refused = post(
        server["token_endpoint"], grant_type="refresh_token", client_id=registered["client_id"], refresh_token=session.token["refresh_token"]
    )
    assert (status, refused["error"]) == (400, "invalid_grant"), refused
    print("oauth: authlib")


def conformance(base, port, folder, environment):
    """The suite's scenarios for authorization servers. It leads the person to an address, which it prints."""
    body = json.dumps({"client_name": "conformance", "redirect_uris": [f"http://127.0.0.1:{port}/callback"]}).encode()
    request = urllib.request.Request(f"{base}/oauth/register", body, {"Content-Type": "application/json"})
    client = json.load(urllib.request.urlopen(request, timeout=SECONDS))["client_id"]
    command = ["conformance", "authorization", "--url", base, "--client-id", client, "--resource", f"{base}/mcp", "--port", str(port)]
    process = subprocess.Popen(
        [*command, "--output-dir", str(folder)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    )
    said = []
    try:
        for line in process.stdout:
            said.append(line)
            found = re.search(r"https?://\S+/ui/authorize\?\S+", line)
            if found:
                urllib.request.urlopen(Browser(base).allow(found[0]), timeout=SECONDS)
        assert process.wait(SECONDS) == 0, "".join(said)
    finally:
        process.kill()
    checks = [check for file in folder.glob("**/checks.json") for check in json.loads(file.read_text())]
    failed = [check for check in checks if check["status"] == "FAILURE"]
    assert checks and not failed, failed
    print("oauth: conformance,", len(checks), "checks")


def set_up(program, folder, base, environment):
    """The settings of a server that gives tokens."""
    keys = folder / "auth.json"
    subprocess.run(
        [program, "auth", "init", "--file", str(keys), "--without-codes"], input=PASSPHRASE + "\n", check=True, text=True,
        stdout=subprocess.DEVNULL, timeout=SECONDS, env=environment,
    )
    document = {"auth": {"server": {"clientMetadataDocuments": True}}}
    return {"AUTH": "jwt", "RESOURCE": base, "OAUTH_KEYS_FILE": str(keys), "CONFIG": json.dumps(document)}
