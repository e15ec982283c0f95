"""The rules of the house. Each takes {path: text} and yields one complaint a line; rules_test.py holds the tree to them."""

import re
import statistics

import sources

MAX_LINES, MAX_MEDIAN, MAX_FUNCTION, MAX_COLUMNS = 400, 200, 60, 100

TOP_LEVEL = set("""
    autograd layers optim text storage data train cli python configs examples tests bench docs cmake .ci
    CMakeLists.txt CMakePresets.json README.md CHANGELOG.md CONTRIBUTING.md LICENSE engine.hpp xgrad.hpp run packages.txt
    .clang-format .clang-tidy .gitignore
""".split())

# Which folders each folder may include: what CMake is told; cli/ and python/ may include everything.
COMPONENTS = sources.components()

# Headers that cost much to compile, and how many sources may include each; never a header of ours.
HEAVY = {
    "tbb/": 2,  # memory and loops
    "xflens/": 0,
    "xtensor-blas/": 1,  # principal components
    "cblas.h": 0,
    "toml++/": 1,
    "nlohmann/": 13,  # logs, evaluations, predictions, traces, JSON Lines, results, sweeps, headers of safetensors and npy, what was learned, schema, certificates,
                      # pages that explain
    "CLI/": 1,
    "hdf5": 2,  # checkpoints, and data of other programs
    "H5": 1,
    "openssl/": 2,
    "zlib.h": 1,
    "zip.h": 1,
    "onnx/": 1,
    "google/protobuf": 0,
    "events.pb.h": 1,
    "png.h": 1,
    "spdlog/": 1,
}

# Text that no C++ source may hold, comments and strings aside.
FORBIDDEN_CODE = [
    (r"\bkeep_dims\b", "a lazy keep_dims reducer computes wrong numbers in xtensor 0.24.3"),
    (r"\bauto\b[^;={}()]*=\s*xt::", "a lazy expression must not be kept in auto"),
    (r"\bXTENSOR_USE_(?:XSIMD|TBB)\b", "changes the type of every tensor"),
    (r"\busing\s+(?:namespace\s+)?fmt\b", "format(text) may then mean std::format, which GCC 14's <chrono> includes"),
    (r"#\s*pragma\s+(?:GCC|clang)\s+(?:optimize|diagnostic)", "flags stand in cmake/XgradFlags.cmake"),
]
# The rest holds for the product, not for its tests.
FORBIDDEN_IN_PRODUCT = [
    (r"\bstd::(?:mt19937\w*|default_random_engine|random_device|rand)\b", "random numbers come from Rng",
     {"storage/disk/publish.cpp"}),  # the name of a temporary file
]
# The library throws; only the command line prints and exits.
COMMAND_LINE = ("cli/", "train/logs/console.")
FORBIDDEN_IN_LIBRARY = [
    (r"\bstd::(?:cout|cerr|clog|abort|exit|terminate|quick_exit)\b|\b(?:printf|fprintf|puts|fputs|perror)\s*\(|fmt::print|"
     r"(?<![\w.:>])(?:exit|abort|_exit)\s*\(|\bassert\s*\(", "the library never prints, exits or aborts"),
]
# Text that nothing which builds may hold, comments aside.
FORBIDDEN_FLAGS = [
    (r"-ffast-math\b|-Ofast\b|-funsafe-math\S*|-ffinite-math\S*", "deletes the tests for NaN"),
    (r"\bSKIP_REGULAR_EXPRESSION\b|\bgtest_discover_tests\b", "lets a failure count as skipped"),
]
# Text that no test may hold; those of tests/house plant it.
FORBIDDEN_IN_TESTS = [
    (r"\bGTEST_SKIP\b|\bpytest\.(?:mark\.)?(?:skip|xfail|importorskip)|\bskip(?:Test|If|Unless)\b|\bSkipTest\b|@unittest\.skip\b", "a test runs, or is not there to be run"),
    (r"\b(?:assert(?:Less|Greater)\w*|(?:EXPECT|ASSERT)_[LG][TE])\([^\n]*(?:monotonic|perf_counter|_clock\b|elapsed|seconds|per_second|\bratio\b)",
     "no test judges a time or a ratio of times: bench/ does"),
]
# Text that no file may hold. Cut in two here, since this file is one of them.
FORBIDDEN_ANYWHERE = [
    (r"/wo" r"rk/|/ro" r"ot/|/ho" r"me/", "a path of one machine"),
    (r"\bsha" r"red/\w+\.md|\b(?:see" r"ds|ecosy" r"stem|br" r"ief)\.md", "a page that readers do not have"),
    (r"pypi\.o" r"rg|registry\.npm" r"js|deb\.deb" r"ian\.org|files\.pythonho" r"sted", "the address of a registry"),
    (r"(?m)^(?:<{7}|>{7}) ", "a conflict of a merge"),
]


def lines_matching(text, pattern):
    for match in re.finditer(pattern, text):
        yield text.count("\n", 0, match.start()) + 1, match.group().strip()


def is_cpp(path):
    return path.endswith(sources.CODE)


def folder(path):
    return path.split("/")[0]


def product(files):
    return {path: text for path, text in files.items() if is_cpp(path) and folder(path) in sources.PRODUCT}


def sizes(files):
    """No file above 400 lines, the median of a folder's files at most 200, no function above 60 lines, and, since clang-format leaves
    comments as they are, no comment beyond column 100."""
    by_folder = {}
    for path, text in files.items():
        count = text.count("\n")
        if path.endswith((".hpp", ".cpp", ".py", ".cmake", "CMakeLists.txt")) and count > MAX_LINES:
            yield f"{path}: {count} lines, more than {MAX_LINES}"
        if is_cpp(path):
            by_folder.setdefault(folder(path), []).append(count)
            for number, line in enumerate(text.splitlines(), 1):
                if line.lstrip().startswith("//") and len(line) > MAX_COLUMNS:
                    yield f"{path}:{number}: a comment of {len(line)} columns, more than {MAX_COLUMNS}"
            for function in sources.functions(text):
                if function.length > MAX_FUNCTION:
                    yield f"{path}:{function.line}: {function.name} has {function.length} lines, more than {MAX_FUNCTION}"
    for name, counts in by_folder.items():
        if name in sources.PRODUCT and statistics.median(counts) > MAX_MEDIAN:
            yield f"{name}: the median file has {statistics.median(counts):.0f} lines, more than {MAX_MEDIAN}"


def top_level(files):
    """Only the folders and files that the layout names."""
    for name in sorted({folder(path) for path in files} - TOP_LEVEL):
        yield f"{name}: does not belong at the top level"


def includes(files):
    """Headers are included as <xgrad/folder/file.hpp>, and only from the folders that the layering allows."""
    for path, text in product(files).items():
        own = sources.component(path, COMPONENTS)
        for line, name in lines_matching(sources.bare(text, keep_strings=True), r'(?m)^[ \t]*#\s*include[^\n]*'):
            if '"' in name or ".." in name:
                yield f"{path}:{line}: {name}: write <xgrad/...>"
            target = re.search(r"<xgrad/([\w/]+\.hpp)", name)
            if not target or "/" not in target.group(1):  # <xgrad/version.hpp> is made by CMake
                continue
            other = sources.component(target.group(1), COMPONENTS)
            if own not in ("cli", "python") and other != own and other not in COMPONENTS[own][1]:
                yield f"{path}:{line}: {own} may not see {other}"


def layers(files, components=COMPONENTS):
    """A folder uses only folders that are declared before it: no arrow runs up, and none in a circle."""
    declared = {"version"}
    for name, (_, uses) in components.items():
        for other in sorted(uses - declared):
            yield f"{name} uses {other}, which is declared after it"
        declared.add(name)


def own_header(files):
    """A source includes its own header first, which proves that the header stands alone."""
    for path, text in product(files).items():
        header = path.removesuffix(".cpp") + ".hpp"
        if path.endswith(".cpp") and header in files:
            first = re.search(r'(?m)^[ \t]*#\s*include\s*(\S+)', sources.bare(text, keep_strings=True))
            if not first or first.group(1) != f"<xgrad/{header}>":
                yield f"{path}: includes something before <xgrad/{header}>"


def heavy(files, limits=HEAVY):
    """Costly headers are included by few sources, and by no header."""
    for start, limit in limits.items():
        found = sorted(path for path, text in product(files).items()
                       if re.search(rf'(?m)^[ \t]*#\s*include\s*[<"]{re.escape(start)}', text))
        for path in found:
            if path.endswith(".hpp"):
                yield f"{path}: a header may not include {start}"
        if len(found) > limit:
            yield f"{', '.join(found)}: only {limit} may include {start}"


def text(files):
    """No forbidden construct and no forbidden word."""
    for path, content in files.items():
        checks = [(content, FORBIDDEN_ANYWHERE)]
        if path.startswith("tests/") and not path.startswith("tests/house/"):
            checks.append((content, FORBIDDEN_IN_TESTS))
        if is_cpp(path):
            checks.append((sources.bare(content), FORBIDDEN_CODE))
            if folder(path) in sources.PRODUCT:
                checks.append((sources.bare(content), FORBIDDEN_IN_PRODUCT))
                if not path.startswith(COMMAND_LINE):
                    checks.append((sources.bare(content), FORBIDDEN_IN_LIBRARY))
        elif path.endswith(("CMakeLists.txt", ".cmake", ".json")) or path in ("run", ".ci/run"):
            checks.append((re.sub(r"#[^\n]*", "", content), FORBIDDEN_FLAGS))
        for searched, patterns in checks:
            for pattern, why, *exempt in patterns:
                if exempt and path in exempt[0]:
                    continue
                for line, found in lines_matching(searched, pattern):
                    yield f"{path}:{line}: {found}: {why}"
        if path.endswith(".hpp") and "#pragma once\n" not in content:
            yield f"{path}: lacks #pragma once"


def quotations(files):
    """A block of C++ or JavaScript in a document that starts with the path of a file stands in it, line for line; "// ..." leaves lines
    out."""
    for path, content in files.items():
        if not path.endswith(".md"):
            continue
        for block in re.finditer(r"(?ms)^```(?:cpp|js)\n// (\S+\.(?:[ch]pp|js))\n(.*?)^```$", content):
            source, quoted = files.get(block.group(1), ""), block.group(2)
            line, at = content.count("\n", 0, block.start(2)) + 1, 0
            for part in quoted.split("// ...\n"):
                at = ("\n" + source).find("\n" + part, at)
                if at < 0:
                    yield f"{path}:{line}: this does not stand in {block.group(1)}, or not in this order"
                    break
                line, at = line + part.count("\n") + 1, at + len(part)


def type_names(files):
    """No two types of the product share a qualified name: a program that links both has undefined behaviour, and no compiler says so."""
    first = {}
    for path, text in product(files).items():
        for name, line in sources.types(text):
            other = first.setdefault(name, path)
            if other != path:
                yield f"{path}:{line}: {name} is also the name of a type in {other}"


def clocks(files):
    """No config that CI checks claims a time, which would fail on a slow machine."""
    for names in re.findall(r"(?m)^\./run check configs/\{([\w,]+)\}\.toml", files.get(".ci/run", "")):
        for path in (f"configs/{name}.toml" for name in names.split(",")):
            if re.search(r"(?m)^seconds\b", files.get(path, "").partition("[expect]")[2]):
                yield f"{path}: claims a time, and .ci/run checks it"


ALL = (sizes, top_level, includes, layers, own_header, heavy, text, quotations, type_names, clocks)
