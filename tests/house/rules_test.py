"""Holds the tree to rules.py, and shows of every rule that it finds what was planted and lets pass what is allowed."""

import os
import unittest

import rules
import sources


def complaints(rule, **files):
    return list(rule({path.replace("__", "/").replace("_hpp", ".hpp").replace("_cpp", ".cpp"): text
                      for path, text in files.items()}))


def function(lines):
    return "int f() {\n" + "  g();\n" * (lines - 2) + "}\n"


class Tree(unittest.TestCase):
    def test_keeps_every_rule(self):
        files = {}
        for name in sources.tracked():
            try:
                files[name] = sources.read(name)
            except UnicodeDecodeError:  # a picture, a checkpoint
                files[name] = ""
        self.assertGreater(len(files), 100)
        for rule in rules.ALL:
            with self.subTest(rule.__name__):
                found = list(rule(files))
                self.assertEqual(found, [], "\n" + "\n".join(found))

    def test_scripts_can_be_executed(self):
        for name in sources.tracked():
            path = sources.ROOT / name
            if path.read_bytes()[:2] == b"#!":
                self.assertTrue(os.access(path, os.X_OK), name)


class Functions(unittest.TestCase):
    def lengths(self, text):
        return [(f.name, f.line, f.length) for f in sources.functions(text)]

    def test_counts_from_head_to_closing_brace(self):
        text = """\
namespace a {
namespace {
// int no() {
struct S {  // a comment with a brace {
  int one() const { return 1; }
  S& operator=(const S&) { return *this; }
  int operator()(int x) const {
    return x;
  }
};
}  // namespace
template <class T>
  requires(sizeof(T) == 4)
T A<T>::two(int a,
            int b = 3) {
  const char* s = "}";  // }
  auto h = [&] { return '{'; };
  if (a) { b(); } else { c(); }
  return R"(}}})";
}
const int kTable[] = {1, 2,
  3};
A::A(int x)
    : x_(x),
      y_(x) {
  f();
}
}  // namespace a
"""
        self.assertEqual(self.lengths(text), [
            ("one", 5, 1), ("operator=", 6, 1), ("operator()", 7, 3), ("A<T>::two", 12, 9), ("A::A", 23, 5)])

    def test_is_not_confused_by_macros_digits_and_classes(self):
        text = """\
#define XGRAD_INSTANTIATE(T) \\
  template class A<T>;       \\
  void f() {
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)
class B final : public C<double(int)> {
 public:
  B() = default;
  void g() const override {
    h(1'000'000);
  }
 private:
  int x_ = 0;
};
enum class E { a, b };
"""
        self.assertEqual([(name, length) for name, _, length in self.lengths(text)], [("g", 3)])

    def test_finds_functions_of_the_tree(self):
        named = {f.name for f in sources.functions(sources.read("autograd/parallel.cpp"))}
        self.assertIn("set_threads", named)


class Rules(unittest.TestCase):
    def assert_finds(self, rule, word, **files):
        found = complaints(rule, **files)
        self.assertEqual(len(found), 1, found)
        self.assertIn(word, found[0])

    def assert_passes(self, rule, **files):
        self.assertEqual(complaints(rule, **files), [])

    def test_sizes(self):
        self.assert_passes(rules.sizes, autograd__a_cpp=function(60))
        self.assert_finds(rules.sizes, "f has 61 lines", autograd__a_cpp=function(61))
        self.assert_finds(rules.sizes, "401 lines", tests__a_cpp="\n" * 401)
        self.assert_finds(rules.sizes, "median file has 201", optim__a_cpp="\n" * 201)
        self.assert_finds(rules.sizes, "a comment of 101 columns", tests__a_cpp="  //" + "x" * 97 + "\n")
        self.assert_passes(rules.sizes, tests__a_cpp="  //" + "x" * 96 + "\n")
        self.assert_passes(rules.sizes, optim__a_cpp="\n" * 399, optim__b_hpp="\n", optim__c_hpp="\n")

    def test_top_level(self):
        self.assert_passes(rules.top_level, autograd__x="", run="")
        self.assert_finds(rules.top_level, "utils", utils__x_hpp="")
        self.assert_finds(rules.top_level, "notes.txt", **{"notes.txt": ""})

    def test_layers(self):
        self.assertEqual(list(rules.layers({}, {"a": (set(), set()), "b": (set(), {"a"})})), [])
        self.assertEqual(list(rules.layers({}, {"a": (set(), {"b"}), "b": (set(), {"a"})})), ["a uses b, which is declared after it"])

    def test_includes(self):
        self.assert_passes(rules.includes, train__loop__a_cpp="#include <xgrad/data/batch.hpp>\n")
        for place, target in (("autograd", "layers"), ("layers", "data"), ("optim", "layers"), ("data", "train")):
            self.assert_finds(rules.includes, f"may not see {target}",
                              **{f"{place}/a.cpp": f"#include <xgrad/{target}/a.hpp>\n"})
        self.assert_finds(rules.includes, "write <xgrad/", layers__a_cpp='#include "a.hpp"\n')
        self.assert_finds(rules.includes, "write <xgrad/", layers__a_cpp='  #  include <../data/a.hpp>\n')
        self.assert_passes(rules.includes, layers__a_cpp='// #include "a.hpp"\n')

    def test_own_header(self):
        own = "#include <xgrad/data/a.hpp>\n"
        self.assert_passes(rules.own_header, data__a_hpp="", data__a_cpp="// why\n" + own + "#include <map>\n")
        self.assert_passes(rules.own_header, data__b_cpp="#include <map>\n")
        self.assert_finds(rules.own_header, "before <xgrad/data/a.hpp>", data__a_hpp="", data__a_cpp="#include <map>\n" + own)

    def test_type_names(self):
        def scope(name, inner):
            return f"namespace {name} {{\n{inner}\n}}\n"
        one = scope("xgrad", scope("detail", "struct Rows {\n  int n;\n};"))
        for other in (one, "namespace xgrad::detail { template <class T, class U = std::vector<T>> class Rows final : public A { }; }",
                      scope("xgrad::detail", "enum class Rows { a, b };"), scope("xgrad", "struct detail::Rows {};"),
                      scope("xgrad::detail", "void f() {\n  g();\n}\nstruct [[nodiscard]] alignas(64) Rows {};")):
            self.assert_finds(rules.type_names, "xgrad::detail::Rows is also", data__a_hpp=one, train__b_hpp=other)
        self.assert_finds(rules.type_names, "train/b.cpp:2: A::B is also", data__a_hpp="struct A { struct B { }; };", train__b_cpp="struct A;\nstruct A::B {};")
        for other in (scope("xgrad", "struct Rows {};"), scope("xgrad::detail", scope("", "struct Rows {};")), "namespace xgrad::detail { struct Rows; }",
                      scope("xgrad::detail", "template <>\nstruct Rows<int> {};"), scope("xgrad::detail", "void f() {\n  struct Rows {};\n}"),
                      scope("xgrad::detail", "struct Other { struct Rows {}; };"), scope("xgrad::detail", "struct Rows f(int) { }"),
                      scope("xgrad::detail", "struct Rows rows = {1, 2};"), scope("xgrad::detail", "// struct Rows {};"), scope("xgrad::detail", "using Rows = int;")):
            self.assert_passes(rules.type_names, data__a_hpp=one, train__b_hpp=other)
        self.assert_passes(rules.type_names, data__a_hpp=one, tests__b_hpp=one)

    def test_heavy(self):
        def heavy(files):
            return rules.heavy(files, {"tbb/": 1})
        one = {"autograd/a.cpp": "#include <tbb/parallel_for.h>\n"}
        self.assert_passes(heavy, **one)
        self.assert_finds(heavy, "only 1 may", **one, train__b_cpp="#include <tbb/task_arena.h>\n")
        self.assert_finds(heavy, "a header may not", autograd__b_hpp='#include "tbb/task_arena.h"\n')

    def test_forbidden_code(self):
        for bad in ("s - xt::sum(s, {1}, xt::keep_dims);", "const auto& y = xt::exp(x);", "auto y = xt::exp(x);",
                    "#define XTENSOR_USE_TBB", "std::mt19937_64 g;", 'std::cout << "x";', "printf(x);", "exit(1);",
                    "std::abort();", 'fmt::print("x");', "assert(x);", "#pragma GCC optimize(3)", "using fmt::format;", "using namespace fmt;"):
            self.assertEqual(len(complaints(rules.text, autograd__a_cpp=bad + "\n")), 1, bad)
        for good in ("Tensor<T> y = xt::exp(x);", "// keep_dims is wrong", 'const char* s = "exit(";', "static_assert(x);",
                     "auto y = f(xt::sum(x));", "process.exit(1);", "on_exit(f);"):
            self.assert_passes(rules.text, autograd__a_cpp=good + "\n")
        self.assert_passes(rules.text, tests__a_cpp="std::mt19937 g(1);\n")
        self.assert_passes(rules.text, cli__main_cpp='std::cout << "x";\n')
        self.assert_finds(rules.text, "pragma once", autograd__a_hpp="int x;\n")

    def test_forbidden_flags(self):
        self.assert_finds(rules.text, "NaN", **{"cmake/a.cmake": "add(-ffast-math)"})
        self.assert_finds(rules.text, "NaN", **{"CMakePresets.json": '"-Ofast"'})
        self.assert_passes(rules.text, **{"cmake/a.cmake": "# never -ffast-math\nadd(-fno-math-errno)"})

    def test_forbidden_in_tests(self):
        for bad in ('GTEST_SKIP() << "no data";', "self.skipTest('no')", '@unittest.skipUnless(shutil.which("strace"), "no")', '@pytest.mark.skipif(True)',
                    "self.assertLess(time.monotonic() - start, 2)", "EXPECT_LT(seconds.count(), 2.0);", 'assertGreater(a["ratio"]["median"], 4)'):
            self.assert_finds(rules.text, "tests/cli/a:1: ", **{"tests/cli/a": bad})
            self.assert_passes(rules.text, **{"tests/house/a": bad, "docs/a": bad})
        self.assert_passes(rules.text, **{"tests/cli/a": "deadline = time.monotonic() + 60\nself.assertEqual(self.seconds, 3)\n"})
        self.assert_finds(rules.text, "skipped", **{"tests/CMakeLists.txt": "gtest_discover_tests(a)"})

    def test_forbidden_words(self):
        for bad in ("cd /wo" + "rk/main", "see sha" + "red/x.md", "https://pypi.o" + "rg/simple", "<" * 7 + " HEAD", ">" * 7 + " a"):
            self.assert_finds(rules.text, "docs/x:1: ", docs__x=bad)
        self.assert_passes(rules.text, docs__x="docs/design.md, the work/life balance, a network/ folder")

    def test_quotations(self):
        def quote(text):
            return {"a.hpp": "int a;\nint b;\nint c;\n", "docs/x.md": f"x\n```cpp\n// a.hpp\n{text}```\n"}
        for good in ("int a;\n", "int b;\nint c;\n", "int a;\n// ...\nint c;\n"):
            self.assert_passes(rules.quotations, **quote(good))
        for bad, line in (("int d;\n", 4), ("int a;\nint c;\n", 4), ("int c;\n// ...\nint a;\n", 6), ("nt a;\n", 4),
                          ("int b\n", 4)):
            self.assert_finds(rules.quotations, f"docs/x.md:{line}: ", **quote(bad))
        self.assert_finds(rules.quotations, "b.hpp", **{"docs/x.md": "```cpp\n// b.hpp\nint a;\n```\n"})
        self.assert_passes(rules.quotations, **{"docs/x.md": "```cpp\nint main() {}\n```\n"})
        self.assert_finds(rules.quotations, "docs/x.md:3: ", **{"a.js": "let a;\n", "docs/x.md": "```js\n// a.js\nlet b;\n```\n"})

    def test_clocks(self):
        claim = "seconds = 1\n[expect]\naccuracy = 0.99\n"
        ci = {".ci/run": sources.read(".ci/run")}
        self.assert_passes(rules.clocks, **ci, **{"configs/copy.toml": claim, "configs/cmu.toml": claim + "seconds = 90\n"})
        self.assert_finds(rules.clocks, "configs/copy.toml: ", **ci, **{"configs/copy.toml": claim + "seconds = 90\n"})


if __name__ == "__main__":
    unittest.main()
