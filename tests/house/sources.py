"""The sources of the tree and what is measured of them. As a program: a table of their sizes."""

import pathlib
import re
import statistics
import subprocess
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRODUCT = ("autograd", "layers", "optim", "text", "storage", "data", "train", "cli", "python")
PROGRAMS = ("cli/", "python/")
CODE = (".hpp", ".cpp")


def tracked():
    """Paths of the files that belong to the project, relative to the root."""
    git = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                         capture_output=True, text=True)
    if git.returncode == 0:
        names = [name for name in git.stdout.split("\0") if name and (ROOT / name).is_file()]
    else:  # an archive without its history
        names = [str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if path.is_file()]
        names = [name for name in names if not name.startswith(("build/", "runs/", ".git/")) and "__pycache__" not in name]
    return sorted(names)


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def without_precompiled_headers(command):
    """A command of GCC or clang that compiles a source, without the options that include precompiled headers."""
    return re.sub(r"(?: -Xclang)? -include(?:-pch)?(?: -Xclang)? \S+", "", command)


def code(folders=PRODUCT):
    """The C++ files below some folders."""
    return [name for name in tracked() if name.endswith(CODE) and name.split("/")[0] in folders]


def components():
    """{folder: (its sub-folders that belong to it, the folders that it uses)}, as CMake is told, in its order."""
    found = {}
    for top in PRODUCT:
        text = re.sub(r"#[^\n]*", "", read(f"{top}/CMakeLists.txt"))
        for folder, rest in re.findall(r"xgrad_component\((\S+)([^)]*)\)", text):
            words = {key: re.search(rf"\b{key}\b((?:\s+[a-z0-9_/]+)*)", rest) for key in ("USES", "ALSO")}
            uses, also = (words[key].group(1).split() if words[key] else [] for key in ("USES", "ALSO"))
            found[folder] = ({f"{folder}/{name}" for name in also}, set(uses))
    return found


def component(path, known):
    """The component that a file belongs to; those of cli/ are one program, those of python/ one module."""
    folder = path.rpartition("/")[0]
    if path.startswith(PROGRAMS):
        return path.split("/")[0]
    return next((name for name, (also, _) in known.items() if folder == name or folder in also), folder)


_TOKEN = re.compile(
    r'R"(?P<mark>[^()\\\s]*)\(.*?\)(?P=mark)"'  # raw string
    r'|//[^\n]*|/\*.*?\*/'
    r'|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])+\''  # not the separator of digits
    r'|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def bare(text, keep_strings=False):
    """C++ without comments and, by default, without what strings hold; line numbers stay."""
    def blank(match):
        token = match.group()
        if token.startswith("/"):
            return "\n" * token.count("\n") or " "
        return token if keep_strings else '""' + "\n" * token.count("\n")
    return _TOKEN.sub(blank, text)


class Function(NamedTuple):
    name: str
    line: int
    length: int


def _kind(head):
    """What the brace after this text opens: a function, a scope that may hold functions, or something else."""
    words = re.sub(r"\boperator\s*[^\s(]+", "operator", head)
    words = re.sub(r"(?m)^[ \t]*[A-Z][A-Z0-9_]*\([^()]*\)[ \t]*$", "", words)  # a macro that needs no semicolon
    if re.search(r"\b(namespace|extern)\b", words):
        return "scope"
    flat = words
    while True:  # what parentheses and template brackets enclose says nothing
        shorter = re.sub(r"\([^()]*\)", "@", re.sub(r"<[^<>()]*>", "", flat))
        if shorter == flat:
            break
        flat = shorter
    if re.search(r"\b(class|struct|union|enum)\b", flat) and "@" not in flat.split("requires")[0]:
        return "scope"
    return "function" if "@" in flat and "=" not in flat else "other"


def _name(head):
    head = re.sub(r"\b(?:requires|alignas|decltype|noexcept)\s*\((?:[^()]|\([^()]*\))*\)", "", head)
    name = re.search(r"(?:\w+(?:<[^<>]*>)?::)*(?:operator(?:\s*\(\s*\)|\s*[^\s(\w]+|[\w ]+)|~?\w+)(?=\s*\()", head)
    return name.group() if name else "?"


def functions(text):
    """Every function with its number of lines, from its return type to its closing brace; lambdas count with theirs."""
    text = re.sub(r"(?m)^[ \t]*#(?:.*\\\n)*.*$", lambda m: "\n" * m.group().count("\n"), bare(text))
    found, opened, start = [], [], 0
    for match in re.finditer(r"[{};]|\b(?:public|private|protected)\s*:", text):
        symbol = match.group()
        inside = any(kind != "scope" for kind, _, _ in opened)
        if symbol == "{":
            head = text[start:match.start()]
            opened.append(("other" if inside else _kind(head), head, start + len(head) - len(head.lstrip())))
        elif symbol == "}" and opened:
            kind, head, begin = opened.pop()
            if kind == "function":
                line = text.count("\n", 0, begin) + 1
                found.append(Function(_name(head), line, text.count("\n", begin, match.end()) + 1))
        if not any(kind != "scope" for kind, _, _ in opened):
            start = match.end()
    return found


_ARGUMENTS = r"<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>"
_SCOPE = re.compile(r"(?:^|\s)(namespace|class|struct|union|enum(?:\s+class)?)\b\s*(?:(?:alignas\s*\([^)]*\)|\[\[[^\]]*\]\])\s*)*([\w:]*)\s*(<|\(|)")


def types(text):
    """The qualified name of every class and enum, with its line; without those of anonymous namespaces and functions, which no other
    file can name, and without specialisations."""
    text = re.sub(r"(?m)^[ \t]*#(?:.*\\\n)*.*$", lambda m: "\n" * m.group().count("\n"), bare(text))
    found, opened, start = [], [], 0  # `opened` has the name of each scope; None where its types do not count
    for match in re.finditer(r"[{};]|\b(?:public|private|protected)\s*:", text):
        symbol = match.group()
        if symbol == "{":
            head = re.sub(rf"\b(?:template|requires)\s*{_ARGUMENTS}", "", text[start:match.start()])
            scope = _SCOPE.search(re.sub(r"\brequires\s*\([^)]*\)", "", head))
            kind, name, after = scope.groups() if scope else ("", "", "")
            name = name if name and not after and not re.search(r"[=)]\s*$", head) and None not in opened else None
            if name and kind != "namespace":
                found.append(("::".join([*opened, name]), text.count("\n", 0, match.start()) + 1))
            opened.append(name)
        elif symbol == "}" and opened:
            opened.pop()
        start = match.end()
    return found


def main():
    print(f"{'folder':10} {'files':>5} {'lines':>6} {'median':>6}  longest file, longest function")
    for folder in PRODUCT + ("tests", "bench"):
        sizes = {name: read(name).count("\n") for name in code((folder,))}
        if not sizes:
            continue
        largest = max(sizes, key=sizes.get)
        longest = max(((f.length, f"{name}:{f.line} {f.name}") for name in sizes for f in functions(read(name))),
                      default=(0, ""))
        print(f"{folder:10} {len(sizes):5} {sum(sizes.values()):6} {statistics.median(sizes.values()):6.0f}  "
              f"{largest} {sizes[largest]}, {longest[1]} {longest[0]}")


if __name__ == "__main__":
    main()
