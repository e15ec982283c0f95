"""Builds build/site: build.py XGRAD STUB [--check]. XGRAD is the command, STUB the stubs of the Python module.

Pages keep their paths; commands, headers and docstrings give the reference. --check also looks at the pages and opens them in Chromium.
"""

import ast
import html.parser
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES, SITE = ROOT / "build/pages", ROOT / "build/site"
COPIED = ["*.md", "docs/**", "examples/**", "tests/**/*.md", "tests/*.txt", "LICENSE", "packages.txt", ":!docs/site/mkdocs.yml", ":!docs/site/build.py"]
LONGEST = 300
REFERENCES = ("docs/spec.md", "docs/data-reference.md", "docs/design.md", "docs/reliability.md", "CHANGELOG.md")  # pages that may be longer
HTML_LINKS = {"a": "href", "img": "src", "link": "href", "script": "src"}


def said(*words):
    return subprocess.run([str(word) for word in words], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def fenced(text):
    return f"```text\n{text.rstrip()}\n```\n"


def cell(text):
    return re.sub(r"([|<*_\[\]])", r"\\\1", text.strip()) if "`" not in text else text.strip().replace("|", "\\|")


def copy_pages():
    shutil.rmtree(PAGES, ignore_errors=True)
    for name in said("git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *COPIED).splitlines():
        page = PAGES / {"README.md": "readme.md", "docs/site/index.md": "index.md"}.get(name, name)
        page.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, page)
        if page.suffix == ".md":  # MkDocs would take README.md for the first page
            page.write_text(re.sub(r"\]\(((?:\.\./)*)README\.md", r"](\1readme.md", page.read_text()))


def commands(xgrad):
    names = re.findall(r"(?m)^  ([a-z][a-z-]*) {2,}\S", said(xgrad, "--help").split("Subcommands:")[1])
    yield f"# Commands\n\n`xgrad COMMAND --help` prints each of these.\n\n{fenced(said(xgrad, '--help'))}"
    for name in names:
        yield f"## {name}\n\n{fenced(said(xgrad, name, '--help'))}"


def keys(xgrad):
    yield "# Config keys\n\n`xgrad config` prints this list, and `xgrad config KEY` one key."
    for section in said(xgrad, "config").strip().split("\n\n"):
        head, *lines = section.splitlines()
        yield f"## {head.replace('[', chr(92) + '[')}\n\n| key | default | values | meaning |\n|---|---|---|---|"
        for line in lines:
            key, *rest = re.split(r" {2,}", line.strip(), maxsplit=3)
            if len(rest) == 3 and line.startswith("  ") and line[2] != " ":
                yield f"| `{key}` | {' | '.join(cell(part) for part in rest)} |"
            else:
                yield f"| | | | {cell(line)} |"


def tasks(xgrad):
    listed = [line.split()[0] for line in said(xgrad, "tasks").splitlines() if line and line[0] != " "]
    yield "# Tasks\n\n`xgrad tasks NAME` describes a task. This is the list that `xgrad tasks` prints."
    yield "\n" + fenced(said(xgrad, "tasks"))
    for name, schema in described(xgrad):
        assert name in listed, name
        yield f"## {name}\n\n{cell(schema['name']['description'])}\n\n| key | default | meaning |\n|---|---|---|"
        yield from (f"| `{key}` | {cell(str(of.get('default', '-')))} | {cell(of['description'])} |" for key, of in schema.items() if key != "name")
        yield ""


def described(xgrad):
    """The keys of each task from the JSON Schema, which needs no data."""
    import json
    for case in json.loads(said(xgrad, "config", "--schema"))["properties"]["task"]["allOf"]:
        name = case["if"]["properties"]["name"]
        for one in [name["const"]] if "const" in name else name["enum"]:
            yield one, case["then"]["properties"]


def errors(xgrad):
    """The exit codes stand on the page of commands; the exceptions of Python are from its source."""
    section = re.search(r"(?s)## Exit codes\n(.*?)(?=\n## |\Z)", (ROOT / "docs/commands.md").read_text())[1]
    yield f"# Errors\n\n## Exit codes\n{section}\n## Exceptions in Python\n"
    yield from documented(ROOT / "python/src/xgrad/errors.py", "###")


def documented(path, mark):
    """Every public class and function of a Python file or stub, with its signature and docstring."""
    for node in ast.parse(path.read_text()).body:
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef)) or node.name.startswith("_"):
            continue
        yield f"{mark} {node.name}\n"
        inside = [one for one in node.body if isinstance(one, ast.FunctionDef) and not one.name.startswith("_")] if isinstance(node, ast.ClassDef) else []
        if isinstance(node, ast.FunctionDef):
            yield f"```python\n{node.name}({ast.unparse(node.args)})\n```\n"
        yield fenced(ast.get_docstring(node) or "") if ast.get_docstring(node) else ""
        for one in inside:
            yield f"```python\n{node.name}.{one.name}({ast.unparse(one.args)})\n```\n\n{fenced(ast.get_docstring(one)) if ast.get_docstring(one) else ''}"


def python(stub):
    yield "# Python\n\nThis page lists the docstrings of the module. [python.md](../docs/python.md) introduces it.\n"
    for path in [ROOT / f"python/src/xgrad/{name}.py" for name in ("models", "runs", "config")] + [stub]:
        yield f"## {path.stem.strip('_')}\n"
        yield from documented(path, "###")


def references(xgrad, stub):
    (PAGES / "reference").mkdir()
    for page, lines in (("commands", commands(xgrad)), ("keys", keys(xgrad)), ("tasks", tasks(xgrad)), ("errors", errors(xgrad)), ("python", python(stub))):
        text = "\n".join(lines) + "\n"
        (PAGES / f"reference/{page}.md").write_text(re.sub(r"(?m)^(?=## )", "\n", text))
    settings = (ROOT / "docs/Doxyfile").read_text() + f"\nOUTPUT_DIRECTORY = {PAGES}\nHTML_OUTPUT = cpp\n"
    subprocess.run(["doxygen", "-"], cwd=ROOT, input=settings, text=True, check=True)


class Links(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.names, self.bare = [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.names |= {values.get("id"), values.get("name")}
        if values.get(HTML_LINKS.get(tag)):
            self.links.append(values[HTML_LINKS[tag]])
        if tag == "img" and not values.get("alt"):
            self.bare.append(values.get("src"))


def complaints(site):
    """Broken links, pictures without text, and what a page asks for from elsewhere, in all pages but Doxygen's."""
    pages = {path: Links(path.read_text()) for path in site.rglob("*.html") if path.relative_to(site).parts[0] != "cpp"}
    for path, page in sorted(pages.items()):
        yield from (f"{path.relative_to(site)}: {src} has no alt text" for src in page.bare)
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc or path.name == "404.html":
                continue
            target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                yield f"{path.relative_to(site)}: {link} is not there"
            elif parts.fragment and target in pages and parts.fragment not in pages[target].names:
                yield f"{path.relative_to(site)}: {link} names no heading"


def too_long():
    for path in sorted([*ROOT.glob("docs/*.md"), *ROOT.glob("*.md")]):
        count = len(path.read_text().splitlines())
        if count > LONGEST and str(path.relative_to(ROOT)) not in REFERENCES:
            yield f"{path.relative_to(ROOT)}: {count} lines, more than {LONGEST}"


def seen(site):
    """What Chromium finds wrong on a desk and on a phone: errors, requests to elsewhere, pages wider than the screen."""
    sys.path.insert(0, str(ROOT / "tests/browser"))
    import chromium
    with chromium.Chromium() as browser:
        for path in sorted(path for path in site.rglob("*.html") if path.relative_to(site).parts[0] != "cpp" and path.name != "404.html"):
            for size in (chromium.DESKTOP, chromium.PHONE):
                browser.open(path.as_uri(), size)
                name = f"{path.relative_to(site)} at {size[0]} pixels"
                yield from (f"{name} asks for {url}" for url in browser.requests if not url.startswith(("file:", "blob:")))
                width = browser.evaluate("document.documentElement.scrollWidth")
                if width > size[0]:
                    yield f"{name} is {width} pixels wide"


def main(xgrad, stub, check=""):
    copy_pages()
    references(xgrad, pathlib.Path(stub))
    subprocess.run([ROOT / "build/venv-site/bin/mkdocs", "build", "--quiet", "--strict", "-f", ROOT / "docs/site/mkdocs.yml"], check=True)
    if check:
        found = [*complaints(SITE), *too_long(), *seen(SITE)]
        print(*found, sep="\n", file=sys.stderr)
        return bool(found)
    print(SITE / "index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
