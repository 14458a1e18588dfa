"""The Inspector's own page in a browser without a screen: from a 401 at `/mcp`, over signing in and consent, to a call of a tool."""

import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request

SECONDS = 120
ENTER = "\ue007"


class Chromium:
    """Chromium, by the protocol of its driver."""

    def __init__(self, port):
        self.process = subprocess.Popen(["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.url = f"http://127.0.0.1:{port}"
        try:
            wait_for(lambda: self.ask("GET", "/status")["ready"])
            # The page asks for fonts of another site, and does without.
            arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1400,1000", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
            wanted = {"capabilities": {"alwaysMatch": {"goog:chromeOptions": {"args": arguments}}}}
            self.url += f"/session/{self.ask('POST', '/session', wanted)['sessionId']}"
        except BaseException:
            self.process.kill()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.ask("DELETE", "")
        finally:
            self.process.kill()

    def ask(self, method, path, body=None):
        data = None if method == "GET" else json.dumps(body or {}).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=SECONDS) as reply:
            return json.load(reply)["value"]

    def open(self, address):
        self.ask("POST", "/url", {"url": address})

    def text(self):
        return self.ask("POST", "/execute/sync", {"script": "return document.body.innerText", "args": []})

    def sees(self, *texts):
        """Waits until the page shows all of these."""
        try:
            wait_for(lambda: all(text in self.text() for text in texts))
        except TimeoutError as late:
            raise AssertionError(f"{texts} is not on the page: {self.text()[:3000]}") from late

    def with_element(self, path, action, **body):
        """Does something to the element at an XPath, as soon as that can be done."""

        def done():
            found = self.ask("POST", "/element", {"using": "xpath", "value": path})
            self.ask("POST", f"/element/{next(iter(found.values()))}/{action}", body)
            return True

        wait_for(done)

    def click(self, path):
        self.with_element(path, "click")

    def type(self, path, text):
        self.with_element(path, "value", text=text)


def wait_for(is_so):
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        try:
            if is_so():
                return
        except (OSError, KeyError):
            # What is looked for is not there yet; an answer of the driver with an error is one of these.
            pass
        time.sleep(0.2)
    raise TimeoutError


def sign_in_and_call(server, passphrase, ports, folder, environment):
    """Connects the Inspector's page to `server`, decides as the person, and calls a tool."""
    page, sandbox, apps, driver = ports
    folder.mkdir()
    settings = {
        "HOME": str(folder), "CLIENT_PORT": str(page), "MCP_SANDBOX_PORT": str(sandbox), "MCP_APP_ORIGIN_PORT": str(apps),
        "MCP_AUTO_OPEN_ENABLED": "false", "MCP_INSPECTOR_SECRET_STORE": "memory", "DANGEROUSLY_OMIT_AUTH": "true",
    }
    command = ["mcp-inspector", "--web", "--server-url", server, "--transport", "http"]
    process = subprocess.Popen(
        command, env=environment | settings, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        wait_for(lambda: urllib.request.urlopen(f"http://127.0.0.1:{page}/", timeout=SECONDS).status == 200)
        with Chromium(driver) as browser:
            browser.open(f"http://127.0.0.1:{page}/")
            browser.sees("Disconnected", server)
            browser.click("//input[starts-with(@aria-label, 'Connect or disconnect')]/parent::*")
            # It was refused, has found the server, has registered, and leads the person there.
            browser.type("//input[@name='passphrase']", passphrase + ENTER)
            browser.sees("wants to use your notes", "It calls itself MCP Inspector, which nobody has verified")
            browser.click("//button[text()='Allow']")
            browser.sees("Authentication succeeded", "Connected")
            browser.click("//label[normalize-space()='Tools']")
            browser.click("//button[contains(., 'search') and contains(., 'Search')]")
            browser.type("//button[@aria-label='Enlarge query']/preceding::input[1]", "berth windows")
            browser.click("//button[normalize-space()='Execute Tool']")
            browser.sees("TOOLS/CALL", "ADR-003-berth-windows-not-slots")
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(20)
    print("oauth: the Inspector's page")
