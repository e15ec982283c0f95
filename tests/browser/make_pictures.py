"""Makes the pictures of the documentation in docs/pictures, or in another folder that PICTURES names.

    XGRAD=build/release/xgrad python3 tests/browser/make_pictures.py run
    XGRAD=build/release/xgrad python3 tests/browser/make_pictures.py explain
    XGRAD=build/release/xgrad PYTHONPATH=build/release/python build/venv/bin/python tests/browser/make_pictures.py reverse
    XGRAD=build/release/xgrad python3 tests/browser/make_pictures.py vowels FOLDER
    XGRAD=build/release/xgrad build/venv/bin/python tests/browser/make_pictures.py tensorboard

`run` trains as the first command of README.md does, in a pseudo-terminal: terminal.svg is the screen at the end, report.png and
report-phone.png are its report on a desk and on a phone. Run it on an idle machine, because the pictures show the speed.
`explain` trains a short run and makes explain.png, its page of `xgrad explain`.
`reverse` takes the first 60 steps of the first command of README.md and makes reverse.svg: attention maps, and the accuracy.
`vowels` does the same for examples/japanese_vowels.py, with the data in FOLDER, and makes vowels.png.
`tensorboard` trains three runs and makes tensorboard.png and tensorboard-images.png.
"""

import fcntl
import html
import os
import pathlib
import pty
import struct
import subprocess
import sys
import tempfile
import termios
import time
import urllib.request

import chromium

ROOT = pathlib.Path(__file__).resolve().parents[2]
PICTURES = pathlib.Path(os.environ.get("PICTURES", ROOT / "docs/pictures")).resolve()
XGRAD = os.path.abspath(os.environ["XGRAD"])
PORT = 6123
NO_BREAK = "\N{NO-BREAK SPACE}"
SHOWN = (4, 16, 24, 32, 40, 60)  # the steps whose attention maps reverse.svg shows


def typed(words, folder):
    """What a command writes to a terminal of 40 lines and 120 columns."""
    parts = []
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("4H", 40, 120, 0, 0))
        os.execv(XGRAD, ["xgrad", *words])
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # Linux reports the end of a terminal's input as EIO
            break
        if not part:
            break
        parts.append(part)
    if os.waitpid(pid, 0)[1] != 0:
        raise RuntimeError(b"".join(parts).decode())
    return b"".join(parts).decode()


def screen(text):
    """The lines of the screen at the end: "\\r\\x1b[K" erases a line."""
    return [line.split("\r\x1b[K")[-1].rstrip() for line in text.replace("\r\n", "\n").rstrip().split("\n")]


def draw_terminal(lines, path):
    width, step = 36 + 8.5 * max(map(len, lines)), 20
    # Spaces that do not break, because without them a renderer shows several as one.
    rows = "".join(f'<text x="18" y="{34 + step * i}">{html.escape(line).replace(" ", NO_BREAK)}</text>\n' for i, line in enumerate(lines))
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {34 + step * len(lines)}" role="img">\n'
        "<style>rect{fill:#15181b}text{fill:#e6e9eb;font:14px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace}</style>\n"
        '<rect width="100%" height="100%" rx="8"/>\n' + rows + "</svg>\n")


def make_run(folder):
    command = "train configs/reverse.toml"
    lines = screen(typed(command.split(), folder))
    draw_terminal([f"$ ./run {command}", *lines], PICTURES / "terminal.svg")
    typed(["report", "runs/reverse"], folder)
    page = f"file://{folder}/runs/reverse/report.html"
    with chromium.Chromium() as browser:
        browser.open(page, (1100, 1000))
        browser.picture(PICTURES / "report.png", clip=(0, 0, 1100, 1000))
        browser.open(page, chromium.PHONE, dark=True)
        browser.picture(PICTURES / "report-phone.png")


def text_at(x, y, text, anchor="middle", more=""):
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{more}>{html.escape(text)}</text>\n'


def draw_map(weights, left, top, side):
    """A square for each weight, white for 0 and dark blue for 1, inside a frame."""
    cell = side / len(weights)
    cells = "".join(f'<rect x="{left + cell * j:g}" y="{top + cell * i:g}" width="{cell:g}" height="{cell:g}" fill-opacity="{weight:.2f}"/>'
                    for i, row in enumerate(weights) for j, weight in enumerate(row) if weight >= 0.005)
    return f'<g fill="#08306b" shape-rendering="crispEdges">{cells}</g><rect x="{left:g}" y="{top:g}" width="{side:g}" height="{side:g}" fill="none" stroke="#8c959f"/>\n'


def draw_forming(maps, steps, accuracies, path):
    """maps {step: attention weights} side by side over the curve of accuracies, each joined to its step on the curve."""
    left, right, side, top, high, low = 78, 922, 124, 52, 250, 400
    gap = (right - left - len(maps) * side) / (len(maps) - 1)
    last = max(steps)

    def x(step):
        return left + (right - left) * step / last

    def y(accuracy):
        return low - (low - high) * accuracy

    parts = []
    for accuracy in (0, 0.5, 1):
        parts += [f'<line x1="{left}" x2="{right}" y1="{y(accuracy):g}" y2="{y(accuracy):g}" stroke="#d0d7de"/>\n',
                  text_at(left - 8, y(accuracy) + 5, f"{accuracy:g}", "end")]
    parts += [text_at(x(step), low + 20, str(step)) for step in range(0, last + 1, 10)]
    parts += [text_at((left + right) / 2, low + 42, "training steps"),
              text_at(30, (high + low) / 2, "accuracy on new inputs", more=f' transform="rotate(-90 30 {(high + low) / 2:g})"')]
    line = " ".join(f"{x(step):.1f},{y(accuracy):.1f}" for step, accuracy in zip(steps, accuracies))
    parts.append(f'<polyline points="{line}" fill="none" stroke="#bc4c00" stroke-width="2.5"/>\n')
    for number, (step, weights) in enumerate(maps.items()):
        at = left + number * (side + gap)
        height = y(accuracies[steps.index(step)])
        parts += [text_at(at + side / 2, top - 12, f"step {step}", more=' font-weight="bold"'), draw_map(weights, at, top, side),
                  f'<polyline points="{at + side / 2:g},{top + side + 26:g} {x(step):g},{height:.1f}" fill="none" '
                  'stroke="#8c959f" stroke-dasharray="3 3"/>\n', f'<circle cx="{x(step):g}" cy="{height:.1f}" r="4.5" fill="#bc4c00"/>\n']
    middle = top + side / 2
    parts += [text_at(left - 14, middle, "output", more=f' transform="rotate(-90 {left - 14:g} {middle:g})"'),
              text_at(left, top + side + 19, "token it looks at", "start", ' stroke="#fff" stroke-width="4" paint-order="stroke"')]
    path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 460" width="960" height="460" role="img" '
                    'font-family="sans-serif" '
                    'font-size="14" fill="#1f2328">\n<rect width="960" height="460" rx="8" fill="#fff"/>\n' + "".join(parts) + "</svg>\n")


def make_reverse(folder):
    import numpy as np
    import xgrad
    kept = {"train.evaluate_every": 4, "train.save_every": 4, "train.keep": 1000, "run.dir": str(folder / "run")}
    run = xgrad.train(str(ROOT / "configs/reverse.toml"), kept, on_step=lambda step: step.step == max(SHOWN), quiet=True)
    inputs = np.random.default_rng(1).integers(0, 10, (100, 16))
    files = {step: file for file in (folder / "run/checkpoints").glob("*.h5") if (step := int(file.stem.split("-")[-1])) in SHOWN}
    maps = {step: xgrad.load(files[step]).attention(inputs)["encoder.layers.0.self_attn"][:, 0].mean(0) for step in sorted(files)}
    measured = run.metrics["validation"]
    draw_forming(maps, [int(step) for step in measured["step"]], list(measured["accuracy"]), PICTURES / "reverse.svg")


def make_explain(folder):
    words = ["train.steps=60", "train.save_every=3", "train.evaluate_every=3", "train.keep=1000", "expect.within_steps=60"]
    subprocess.run([XGRAD, "train", "configs/reverse.toml", "--quiet", *words], cwd=folder, check=True)
    subprocess.run([XGRAD, "explain", "runs/reverse", "--out", "page.html"], cwd=folder, check=True)
    draw_page(folder, "explain.png", 740, "document.querySelectorAll('.token')[3].dispatchEvent(new PointerEvent('pointerenter'))")


def make_vowels(folder):
    example = ROOT / "examples/japanese_vowels"
    subprocess.run([sys.executable, example.with_suffix(".py"), "--write", *sys.argv[2:]], cwd=folder, check=True)
    (folder / "vowels.toml").write_text(example.with_suffix(".toml").read_text())
    words = ["run.dir=japanese_vowels", "train.save_every=40", "train.keep=1000"]
    subprocess.run([XGRAD, "train", "vowels.toml", "--quiet", *words], cwd=folder, check=True)
    subprocess.run([XGRAD, "explain", "japanese_vowels", "--out", "page.html"], cwd=folder, check=True)
    draw_page(folder, "vowels.png", 940, "document.querySelector('#frames canvas').dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight' }))")


def draw_page(folder, name, height, act):
    with chromium.Chromium() as browser:
        browser.open(f"file://{folder}/page.html", (1280, height), wait="document.querySelector('#summary').textContent")
        browser.evaluate(act)
        time.sleep(1)
        browser.picture(PICTURES / name, clip=(0, 0, 1280, height))


def wait_for(address):
    for _ in range(100):
        try:
            return urllib.request.urlopen(address).read()
        except OSError:
            time.sleep(1)
    raise RuntimeError(f"{address} does not answer")


def show_tensorboard(runs, tab, path, height):
    words = [sys.executable, "-m", "tensorboard.main", "--logdir", "runs", "--port", str(PORT), "--host", "127.0.0.1"]
    board = subprocess.Popen(words, cwd=runs, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(f"http://127.0.0.1:{PORT}/data/runs")
        with chromium.Chromium() as browser:
            browser.open(f"http://127.0.0.1:{PORT}/?darkMode=false#{tab}", (1280, 900))
            time.sleep(40)  # the page fills bit by bit, and nothing says when it is complete
            browser.picture(path, clip=(0, 0, 1280, height))
    finally:
        board.terminate()
        board.wait()


def make_tensorboard(folder):
    for runs, tab, name, height in (
            ((("reverse", "reverse"), ("reverse", "reverse-lr", "optim.lr=1e-3")),
             "scalars&_smoothingWeight=0&tagFilter=loss%7Clr", "tensorboard.png", 900),
            ((("mqar", "mqar"),), "images", "tensorboard-images.png", 430)):
        shown = folder / name
        shown.mkdir()
        for config, run, *words in runs:
            subprocess.run([XGRAD, "train", ROOT / f"configs/{config}.toml", "--quiet", "log.tensorboard=true", f"run.dir=runs/{run}", *words],
                           cwd=shown, check=True)
        show_tensorboard(shown, tab, PICTURES / name, height)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        here = pathlib.Path(name)
        (here / "configs").symlink_to(ROOT / "configs")
        {"run": make_run, "explain": make_explain, "vowels": make_vowels, "reverse": make_reverse, "tensorboard": make_tensorboard}[sys.argv[1]](here)
