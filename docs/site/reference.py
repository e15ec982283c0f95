"""Writes the reference pages from the output of the command and from the sources: reference.py XGRAD FOLDER."""

import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BOUNDS = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "to", "exclusiveMaximum": "to below"}
KEYS = "| key | type | default | values | meaning |\n|---|---|---|---|---|"


def said(*words):
    return subprocess.run([str(word) for word in words], check=True, stdout=subprocess.PIPE, text=True).stdout


def fenced(text):
    return f"```text\n{text.strip()}\n```\n"


def plain(text):
    """Escapes text of the command for a cell of a Markdown table."""
    return "".join(part if part.startswith("`") else re.sub(r"([\\*_<>\[\]|#])", r"\\\1", part) for part in re.split(r"(`[^`]*`)", text.strip()))


def commands(xgrad):
    every = said(xgrad, "--help")
    yield "# Commands\n\n`xgrad COMMAND --help` prints each of these texts. [commands.md](../docs/commands.md) explains the commands by examples.\n"
    yield fenced(every)
    for name in re.findall(r"(?m)^  ([a-z][a-z-]*) {2,}\S", every):
        yield f"## {name}\n\n{fenced(said(xgrad, name, '--help'))}"


def values(key):
    """Describes the allowed values of a key, from its JSON Schema."""
    if "anyOf" in key:
        return "; ".join(values(one) for one in key["anyOf"])
    if key.get("type") == "array":
        return "a list" if key["items"]["type"] == "object" else f"a list of numbers, each {values(key['items'])}"
    if "enum" in key:
        return ", ".join(f"`{one or json.dumps(one)}`" for one in key["enum"])
    if key["type"] == "boolean":
        return "`true`, `false`"
    bounds = [(word, key[bound]) for bound, word in BOUNDS.items() if bound in key]
    text = " ".join(f"{word} {bound:,}" if isinstance(bound, int) else f"{word} {bound:g}" for word, bound in bounds)
    return text.replace("from", "at least") if len(bounds) == 1 else text or "any"


def table(keys):
    yield KEYS
    for name, key in keys.items():
        default = f"`{json.dumps(key['default'])}`" if "default" in key else "-"
        type_ = key.get("type") or " or ".join(one.get("type", "string") for one in key["anyOf"])
        yield f"| `{name}` | {type_} | {default} | {values(key)} | {plain(key['description'])} |"
    yield ""


def sections(schema):
    """Yields (heading, keys) for each section and table of a config. The keys of each task are on the page of tasks."""
    for name, section in schema["properties"].items():
        yield f"[{name}]", section["properties"]
        for key, of in section["properties"].items():
            if of.get("type") == "array" and of["items"]["type"] == "object":
                yield f"[[{name}.{key}]]", of["items"]["properties"]


def keys(xgrad):
    yield "# Config keys\n\n`xgrad config` prints this list, and `xgrad config KEY` prints one key. Each task has [keys of its own](tasks.md), too.\n"
    for heading, of in sections(json.loads(said(xgrad, "config", "--schema"))):
        yield f"## {plain(heading)}\n"
        yield from table(of if heading != "[task]" else {"name": {"type": "string", "description": of["name"]["description"]}})


def tasks(xgrad):
    """Takes the description of a task from `xgrad tasks NAME`, and its keys from the schema, which has their bounds."""
    schema = json.loads(said(xgrad, "config", "--schema"))["properties"]["task"]
    own = {case["if"]["properties"]["name"]["const"]: case["then"]["properties"] for case in schema["allOf"]}
    yield "# Tasks\n\n`xgrad tasks` lists all tasks, and `xgrad tasks NAME --baselines` prints the text of this page about one task.\n"
    with concurrent.futures.ThreadPoolExecutor() as pool:
        texts = dict(zip(own, pool.map(lambda name: said(xgrad, "tasks", name, "--baselines"), own)))
    for name, text in texts.items():
        head, *facts = text.split("\n\n")
        yield f"## {name}\n\n{plain(head.split(': ', 1)[1])}\n"
        for fact in facts:
            if about := re.fullmatch(r"(needs|theory|source|best possible): (.*)", fact):
                yield f"- **{about[1]}**: {plain(about[2])}"
        yield ""
        yield from table({key: of for key, of in own[name].items() if key != "name"})
        measured = [fact for fact in facts if not re.match(r"(needs|theory|source|best possible): |  ", fact)]
        yield fenced("\n\n".join(measured))


def thrown():
    """Yields (class, base class, comment) of every exception of the library."""
    for header in sorted(path for folder in ("autograd", "layers", "optim", "storage", "data", "train") for path in (ROOT / folder).rglob("*.hpp")):
        for about, name, base in re.findall(r"((?:^/// .*\n)+)^(?:struct|class) (\w+)(?: final)? : (?:public )?([\w:]+) {", header.read_text(), re.M):
            yield name, base, about.replace("///", "")


def errors(xgrad):
    """Takes exit codes from the manual page, classes from the headers, and the code of a class from the source of the command."""
    status = said(xgrad, "man").split(".SH EXIT STATUS\n")[1].strip().rstrip(".")
    code_of = dict(re.findall(r"dynamic_cast<const ([\w:]+)\*>\(&error\)\) return (\d)", (ROOT / "cli/command_line.cpp").read_text())) | {"Error": "1"}
    yield "# Exit codes and errors\n\nThese are the exit codes of the command:\n\n| code | meaning |\n|---|---|"
    yield from (f"| {code} | {plain(meaning)} |" for code, meaning in (one.split(": ", 1) for one in status.split("; ")))
    yield "\nThe library throws these exceptions. If one ends the command, it has the exit code in the last column. The Python exceptions have the same names.\n\n| class | thrown when | code |\n|---|---|---|"
    rows = [(code_of.get(name) or code_of.get(base), name, about) for name, base, about in thrown()]
    for code, name, about in sorted(row for row in rows if row[0]):
        yield f"| `{name}` | {plain(' '.join(about.split()))} | {code} |"


PAGES = {page.__name__: page for page in (commands, keys, tasks, errors)}


def write(xgrad, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (folder / f"{name}.md").write_text("\n".join(page(xgrad)) + "\n")


if __name__ == "__main__":
    write(sys.argv[1], pathlib.Path(sys.argv[2]))
