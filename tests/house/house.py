"""Draws the house from its includes, for docs/folders.md: house.py prints a Mermaid graph, house.py --write puts it there.

An arrow leads from a folder to one that it includes. An arrow is left out where others lead there, too.
"""

import re
import sys

import sources

PAGE = sources.ROOT / "docs" / "folders.md"
BLOCK = re.compile(r"(?s)```mermaid\n.*?```\n")


def included():
    """{component: the components that its files include}."""
    known = sources.components()
    found = {name: set() for name in [*known, "cli", "python"]}
    for path in sources.code():
        for header in re.findall(r"#include <xgrad/([\w/]+/\w+\.hpp)>", sources.read(path)):
            found[sources.component(path, known)].add(sources.component(header, known))
    return {name: others - {name} for name, others in found.items()}


def reached(arrows, start):
    found, todo = set(), [start]
    while todo:
        new = arrows[todo.pop()] - found
        found |= new
        todo += new
    return found


def drawing():
    arrows = included()
    lines = ["```mermaid", "flowchart BT"]
    for name in arrows:
        lines.append(f"  {name.replace('/', '_')}[{name}]")
    for name, others in arrows.items():
        for other in sorted(others):
            if not any(other in reached(arrows, between) for between in others - {other}):
                lines.append(f"  {name.replace('/', '_')} --> {other.replace('/', '_')}")
    return "\n".join([*lines, "```"]) + "\n"


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(BLOCK.sub(lambda _: drawing(), PAGE.read_text(), count=1))
    else:
        print(drawing(), end="")
