"""Writes the comments of ops.hpp as a C++ table of docstrings: op_docs.py OPS_HPP OUTPUT."""

import pathlib
import re
import sys

# A comment of lines with ///, perhaps a template's head, and the name before the parameters; `where` is an object.
DECLARATION = re.compile(r"(?m)((?:^/// .*\n)+)(?:template <[\w:]+ T>\n)?(?:inline constexpr auto (\w+) =|[\w<>]+ (\w+)\()")


def docs(header):
    """{name: its comments, those of overloads one after the other}, in the words of Python."""
    found = {}
    for comment, constant, function in DECLARATION.findall(header):
        text = re.sub(r"(?m)^/// ", "", comment).strip().replace("null", "None")
        text = text.partition(" `where` is an object,")[0]
        found.setdefault(constant or function, []).append(text)
    return {name: "\n\n".join(texts) for name, texts in found.items()}


def table(header):
    rows = "".join(f'    {{"{name}", R"doc({text})doc"}},\n' for name, text in docs(header).items())
    return ("// Made of ops.hpp by op_docs.py.\n#pragma once\n#include <map>\n#include <string>\nnamespace xgrad::python {\n"
            f"inline const std::map<std::string, const char*> kOpDocs = {{\n{rows}}};\n}}  // namespace xgrad::python\n")


if __name__ == "__main__":
    pathlib.Path(sys.argv[2]).write_text(table(pathlib.Path(sys.argv[1]).read_text()))
