"""Headless Chromium over its own protocol, by a pipe: a page's errors, requests, size and picture. Standard library only."""

import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PHONE, DESKTOP = (390, 844), (1440, 900)
TIMEOUT = 120


class Chromium:
    """A browser with one page. `complaints` are console messages and exceptions, `requests` addresses that were asked for."""

    def __init__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        read, theirs_out = os.pipe()
        theirs_in, write = os.pipe()

        def hand_over():  # they are to be 3 and 4, whatever numbers the ends of the pipes have
            high = [os.dup2(end, number) for end, number in ((theirs_in, 1003), (theirs_out, 1004))]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            [PROGRAM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--enable-unsafe-swiftshader",
             "--disable-background-networking", "--disable-component-update", "--disable-extensions", "--hide-scrollbars",
             f"--user-data-dir={self.profile.name}", "--remote-debugging-pipe", "about:blank"],
            preexec_fn=hand_over, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self.read, self.write = read, write
        self.buffer, self.number, self.session = b"", 0, None
        self.complaints, self.requests, self.loaded = [], [], False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.read)
        os.close(self.write)
        self.profile.cleanup()

    def message(self, deadline):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.read], [], [], max(0, deadline - time.monotonic()))
            part = os.read(self.read, 1 << 20) if ready else b""
            if not part:
                raise RuntimeError("Chromium ended" if ready else "Chromium does not answer")
            self.buffer += part
        text, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(text)
        self.note(message.get("method"), message.get("params", {}))
        return message

    def note(self, method, params):
        if method == "Runtime.consoleAPICalled":
            self.complaints.append(" ".join(str(a.get("value", a.get("description"))) for a in params["args"]))
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(params["exceptionDetails"].get("text", "exception"))
        elif method == "Log.entryAdded":
            self.complaints.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent" and not params["request"]["url"].startswith("data:"):
            self.requests.append(params["request"]["url"])
        elif method == "Page.loadEventFired":
            self.loaded = True

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + TIMEOUT
        while True:
            answer = self.message(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def open(self, address, size=DESKTOP, dark=False, script=True, wait=""):
        """Loads a page; with `wait`, until that JavaScript is true."""
        self.complaints, self.requests, self.loaded = [], [], False
        self.resize(size)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        self.call("Page.navigate", url=str(address))
        deadline = time.monotonic() + TIMEOUT
        while not self.loaded:
            self.message(deadline)
        if wait:
            self.wait(wait)

    def resize(self, size):
        width, height = size
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=size == PHONE)

    def wait(self, condition):
        """Until this JavaScript is true."""
        deadline = time.monotonic() + TIMEOUT
        while not self.evaluate(condition):
            if time.monotonic() > deadline:
                raise RuntimeError(f"never true: {condition}")
            time.sleep(0.05)

    def evaluate(self, code):
        return self.call("Runtime.evaluate", expression=code, returnByValue=True)["result"].get("value")

    def picture(self, path, whole=False, clip=None):
        """Writes a PNG of what is seen, of the whole page, or of clip = (x, y, width, height)."""
        words = {"captureBeyondViewport": whole}
        if clip:
            words["clip"] = dict(zip(("x", "y", "width", "height"), clip), scale=1)
        data = self.call("Page.captureScreenshot", format="png", **words)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def printed(self):
        """The page as PDF."""
        return base64.b64decode(self.call("Page.printToPDF")["data"])
