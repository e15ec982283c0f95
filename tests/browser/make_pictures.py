"""The pictures of the documentation: a terminal, a report, and TensorBoard's pages of two runs.

    XGRAD=build/release/xgrad build/venv/bin/python tests/browser/make_pictures.py RUNS NAME

RUNS holds finished runs with log.tensorboard, and RUNS/NAME is the one whose report is shown. Writes docs/pictures.
"""

import html
import os
import pathlib
import pty
import subprocess
import sys
import tempfile
import time
import urllib.request

import chromium

ROOT = pathlib.Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs/pictures"
XGRAD = os.path.abspath(os.environ["XGRAD"])
PORT = 6123


def typed(words, folder):
    """What a command writes to a terminal."""
    parts = []
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execv(XGRAD, ["xgrad", *words])
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # how Linux says that nobody writes any more
            break
        if not part:
            break
        parts.append(part)
    os.waitpid(pid, 0)
    return b"".join(parts).decode()


def screen(text):
    """The lines that stand there after these characters."""
    lines, at = [""], 0
    for piece in text.replace("\r\n", "\n").split("\r\x1b[K"):
        first, *more = piece.split("\n")
        lines[-1] = first if at else lines[-1] + first
        lines += more
        at += 1
    return [line.rstrip() for line in lines]


def terminal(lines, path):
    width, step = 880, 20
    rows = "".join(f'<text x="18" y="{44 + step * i}">{html.escape(line)}</text>\n' for i, line in enumerate(lines))
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {44 + step * len(lines)}" role="img">\n'
        "<style>rect{fill:#15181b}text{fill:#e6e9eb;font:14px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;"
        'white-space:pre}</style>\n<rect width="100%" height="100%" rx="8"/>\n' + rows + "</svg>\n")


def train_in_a_terminal():
    with tempfile.TemporaryDirectory() as folder:
        text = typed(["train", str(ROOT / "configs/copy.toml"), "run.dir=runs/copy"], folder)
    prompt = ["$ ./run train configs/copy.toml"]
    begin = text.find(" 210/300")
    lines = screen(text[:text.index("\r", begin)] if begin > 0 else text)
    terminal(prompt + lines, PICTURES / "terminal.svg")


def report(page):
    with chromium.Chromium() as browser:
        browser.open(f"file://{page}", (1100, 1000))
        browser.picture(PICTURES / "report.png", clip=(0, 0, 1100, 1000))
        browser.open(f"file://{page}", chromium.PHONE, dark=True)
        browser.picture(PICTURES / "report-phone.png")


def wait_for(address):
    for _ in range(100):
        try:
            return urllib.request.urlopen(address).read()
        except OSError:
            time.sleep(1)
    raise RuntimeError(f"{address} does not answer")


def tensorboard(runs):
    runs = pathlib.Path(runs).resolve()
    words = [sys.executable, "-m", "tensorboard.main", "--logdir", runs.name, "--port", str(PORT), "--host", "127.0.0.1"]
    board = subprocess.Popen(words, cwd=runs.parent, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(f"http://127.0.0.1:{PORT}/data/runs")
        for tab, name, height in (("scalars&_smoothingWeight=0&tagFilter=loss%7Clr", "tensorboard.png", 900),
                                  ("images", "tensorboard-images.png", 430)):
            with chromium.Chromium() as browser:
                browser.open(f"http://127.0.0.1:{PORT}/?darkMode=false#{tab}", (1280, 900))
                time.sleep(40)  # what it shows comes bit by bit, and nothing says that all is there
                browser.picture(PICTURES / name, clip=(0, 0, 1280, height))
    finally:
        board.terminate()
        board.wait()


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    train_in_a_terminal()
    report(pathlib.Path(sys.argv[1], sys.argv[2], "report.html").resolve())
    tensorboard(sys.argv[1])
