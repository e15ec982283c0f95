"""Builds build/site: build.py BUILD, the folder of a build with the command and the stubs of the Python module.

Each page keeps its path in the repository, so that links between pages stay valid. reference.py adds the reference of commands and keys,
Doxygen adds the reference of the headers, and `xgrad explain` the gallery. MkDocs (mkdocs.yml) builds the site from all pages.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import reference

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ROOT / "build/pages"
COPIED = ["*.md", "docs/**", "examples/**", ":(glob)tests/*.txt", "LICENSE", "packages.txt", ":!docs/site/*", ":!docs/Doxyfile"]
OURS = ["docs/site/index.md", "docs/site/site.css", "docs/site/iframe-worker.js"]
# Pages that are renamed: MkDocs would take README.md for the first page, and cannot show a notebook.
RENAMED = {"README.md": "readme.md", "docs/python.ipynb": "docs/notebook.md"}
# The configs of the gallery, and the overrides for their training: only the first steps, in which the model learns most.
GALLERY = {
    "reverse": ("train.steps=400", "train.save_every=20", "train.evaluate_every=20"),
    "sort": ("train.steps=450", "train.save_every=30", "train.evaluate_every=30"),
    "induction": ("train.steps=3000", "train.save_every=200", "train.evaluate_every=100"),
    "languages": ("train.epochs=0", "train.steps=450", "train.save_every=150", "train.evaluate_every=150"),
    "fashion_mnist": ("train.epochs=0", "train.steps=600", "schedule.warmup=60", "train.save_every=150", "train.evaluate_every=150"),
}
AWESOME = pathlib.Path("/usr/share/doxygen-awesome-css/doxygen-awesome.css")


def run(*words, **options):
    return subprocess.run([str(word) for word in words], cwd=ROOT, check=True, **options)


def copy_pages():
    shutil.rmtree(PAGES, ignore_errors=True)
    named = run("git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *COPIED, stdout=subprocess.PIPE, text=True).stdout
    for name in [*named.splitlines(), *OURS]:
        page = PAGES / RENAMED.get(name, name.removeprefix("docs/site/"))
        page.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, page)
        if page.suffix == ".md":
            text = "\n\n".join(notebook(json.loads(page.read_text()))) if name.endswith(".ipynb") else page.read_text()
            text = re.sub(r"\]\(((?:\.\./)*)README\.md", r"](\1readme.md", text).replace(" ± ", " ±\N{NO-BREAK SPACE}")
            page.write_text(re.sub(r"\]\(((?:docs/)?)python\.ipynb\)", r"](\1notebook.md)", text))


def name_links():
    """Replaces the text of a link by the title of its page if the text is a file name."""
    texts = {page: page.read_text() for page in PAGES.rglob("*.md")}
    for page, text in texts.items():
        def titled(link, page=page):
            title = re.search(r"(?m)^# (.*)$", texts.get((page.parent / link[1]).resolve(), ""))
            return f"[{title[1]}]({link[1]}{link[2] or ''})" if title else link[0]
        page.write_text(re.sub(r"\[[\w./-]+\.(?:md|ipynb)\]\(([^()#]+\.md)(#[^)]*)?\)", titled, text))


def notebook(cells):
    """Converts a notebook to Markdown, with the outputs of its cells."""
    for cell in cells["cells"]:
        text = "".join(cell["source"])
        yield text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```"
        for output in cell.get("outputs", []):
            data = output.get("data") or {"text/plain": output["text"]}
            if "image/png" in data:
                yield f"![output of this cell](data:image/png;base64,{data['image/png'].strip()})"
            elif "text/html" in data:
                yield "".join(data["text/html"]).replace(' border="1" class="dataframe"', "")
            else:
                yield reference.fenced("".join(data["text/plain"]))


def doxygen():
    """Runs Doxygen in the colours of the site: light ones, which the style sheet expects. Doxygen before 1.9.5 has only light ones."""
    version = [int(part) for part in re.findall(r"\d+", run("doxygen", "--version", stdout=subprocess.PIPE, text=True).stdout)[:3]]
    settings = f"""
        OUTPUT_DIRECTORY = {PAGES}
        HTML_OUTPUT = cpp
        SHOW_HEADERFILE = NO
        INPUT += docs/site/cpp.md
        USE_MDFILE_AS_MAINPAGE = docs/site/cpp.md
        HTML_EXTRA_STYLESHEET = {AWESOME} docs/site/cpp.css
        {"HTML_COLORSTYLE = LIGHT" if version >= [1, 9, 5] else ""}
    """
    run("doxygen", "-", input=(ROOT / "docs/Doxyfile").read_text() + settings, text=True)


def trained(xgrad, name, words):
    """Returns a run of the config: the user's own run in runs/, or else a run in build/gallery, which is trained if it does not exist."""
    own, ours = ROOT / "runs" / name, ROOT / "build/gallery" / name
    found = next((one for one in (own, ours) if any(one.glob("checkpoints/step-*.h5"))), None)
    if found:
        return found
    unfinished = ours.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    run(xgrad, "train", f"configs/{name}.toml", *words, "train.keep=1000", f"run.dir={unfinished}", "--quiet", stdout=subprocess.DEVNULL)
    return unfinished.rename(ours)


def gallery(xgrad):
    """Writes the page of `xgrad explain` for each config, and the page with links to them."""
    text = (ROOT / "docs/site/gallery.md").read_text()
    (PAGES / "gallery").mkdir()
    for name, words in GALLERY.items():
        about = (ROOT / f"configs/{name}.toml").read_text().split("\n")[0].removeprefix("# ")
        found = trained(xgrad, name, words)
        run(xgrad, "explain", found, "--out", PAGES / f"gallery/{name}.html", stdout=subprocess.DEVNULL)
        last = json.loads((found / "metrics.jsonl").read_text().splitlines()[-1])
        text += f"- **[{name}](gallery/{name}.html)**\n\n  {about}\n\n  Step {last['step']:,}: accuracy {last['accuracy']:.4f} on the {last['split']} split.\n\n"
    (PAGES / "gallery.md").write_text(f"{text}</div>\n")


def main(build):
    xgrad = pathlib.Path(build, "xgrad").resolve()
    copy_pages()
    reference.write(xgrad, PAGES / "reference")
    shutil.copy(ROOT / "docs/site/python.md", PAGES / "reference/python.md")
    doxygen()
    gallery(xgrad)
    name_links()
    run(pathlib.Path(sys.executable).with_name("mkdocs"), "build", "--quiet", "--strict", "-f", "docs/site/mkdocs.yml",
        env={**os.environ, "XGRAD_PYTHON_PACKAGE": str(pathlib.Path(build, "python").resolve()), "NO_MKDOCS_2_WARNING": "true"})
    print(ROOT / "build/site/index.html")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except subprocess.CalledProcessError as error:
        sys.exit(f"the site was not built: {error}")
