"""Writes the functions of ops.hpp as functions of Python, in C++: op_table.py OPS_HPP OUTPUT.

A parameter keeps its name and its default. The members of most option structs become parameters of their own, and of the
overloads without and with an axis one function remains. A type that this table does not know is an error.
"""

import pathlib
import re
import sys

# A comment of lines with ///, perhaps a template's head, and the name before the parameters; `where` is an object.
DECLARATION = re.compile(r"(?m)((?:^/// .*\n)+)(template <[\w:]+ T>\n)?"
                         r"(?:inline constexpr auto (\w+) = \[\]<class T>|[\w<>]+ (\w+))\(([^;]*?)\)(?:;| \{\n)")
STRUCT = re.compile(r"(?m)^struct (\w+) \{\n(.*?)^\};", re.DOTALL)
FIELD = re.compile(r"(?m)^  (\w.*?) (\w+) = ([^;]*);")

# What is passed as it is.
PLAIN = ("bool", "double", "std::size_t", "std::int32_t", "std::uint32_t", "const Mask&", "const Ids&", "const Variable<T>&",
         "const std::vector<Variable<T>>&", "const std::vector<std::size_t>&", "const std::vector<std::ptrdiff_t>&",
         "const AttentionOptions&", "std::vector<double>", "std::optional<double>", "std::optional<Rng>",
         "std::shared_ptr<const Mask>", "const std::shared_ptr<const Mask>&", "SharedMask", "const SharedMask&", "std::ptrdiff_t")


def split(parameters):
    """The parameters at the commas outside of brackets, each as (type, name, default or None)."""
    depth, found = 0, [""]
    for c in " ".join(parameters.split()):
        depth += (c in "<({") - (c in ">)}")
        if c == "," and depth == 0:
            found.append("")
        else:
            found[-1] += c
    for text in found:
        declared, _, default = text.partition(" = ")
        kind, _, name = declared.strip().rpartition(" ")
        yield kind, name, default or None


def argument(kind, name, default):
    """A parameter of a Python function, with its default."""
    if default is None:
        return f'"{name}"_a'
    if default in ("{}", "nullptr", "std::nullopt"):
        value = "std::vector<double>()" if kind == "std::vector<double>" else "nb::none()"
    elif kind == "Gelu":
        value = f'"{default.partition("::")[2]}"'
    else:
        value = f"{float(default)}" if kind == "double" else default
    return f'"{name}"_a = {value}'


def bind(kind, name, default, first, structs):
    """(parameters of the lambda, arguments of Python, expression for the call) of a parameter of C++."""
    taken, value = kind, name
    struct = kind.removeprefix("const ").rstrip("&")
    if struct in structs and kind not in PLAIN:
        fields = structs[struct]
        if default is None:  # then the first member, too, has none
            fields = [(*fields[0][:2], None), *fields[1:]]
        parts = [bind(*field, first, structs) for field in fields]
        return sum((part[0] for part in parts), []), sum((part[1] for part in parts), []), f"{struct}{{{', '.join(part[2] for part in parts)}}}"
    if kind == "const Variable<T>&" and default == "{}":
        taken = "const Maybe<T>&"
    elif kind == "const Tensor<T>&":
        taken, value = "const Variable<T>&", f"{name}.value()"
    elif kind == "std::type_identity_t<T>":
        taken, value = "double", f"T({name})"
    elif kind == "const Shape&":
        taken, value = "const std::vector<std::size_t>&", f"Shape({name}.begin(), {name}.end())"
    elif kind == "Gelu":
        taken, value = "const std::string&", f"gelu_of({name})"
    elif kind == "std::size_t" and name == "axis":
        taken, value = "std::ptrdiff_t", f"axis_of({first}, axis)"
    elif kind not in PLAIN:
        raise SystemExit(f"op_table.py: {kind} {name}: how is this passed from Python?")
    return [f"{taken} {name}"], [argument(kind, name, default)], value


def definition(name, comments, template, overloads, structs):
    """The C++ that defines a function."""
    doc = "\n\n".join(re.sub(r"(?m)^/// ", "", comment).strip().replace("null", "None").partition(" `where` is an object,")[0] for comment in comments)
    longest = list(split(overloads[-1]))
    parts = [bind(*parameter, longest[0][1], structs) for parameter in longest]
    taken, given, values = sum((part[0] for part in parts), []), sum((part[1] for part in parts), []), [part[2] for part in parts]
    function = f"{name}<T>" if template and name != "where" else name
    call = f"{function}({', '.join(values)})"
    if len(overloads) == 2:  # without and with an axis
        taken[-1], given[-1] = "std::optional<std::ptrdiff_t> axis", '"axis"_a = nb::none()'
        call = f"axis ? {call.replace('axis)', '*axis)', 1)} : {function}({', '.join(values[:-1])})"
    body = f"({', '.join(taken)}) {{ return {call}; }}"
    if not template:
        body = body.replace("return ", "return detail::returned(").replace("; }", "); }")
    head = f'  define(m, "{name}", R"doc({doc})doc", []<class T>' if template else f'  m.def("{name}", []'
    return head + body + ("" if template else f', R"doc({doc})doc"') + f",\n      {', '.join(given)});\n"


def table(header):
    structs = {name: FIELD.findall(fields) for name, fields in STRUCT.findall(header)}
    functions = {}
    for comment, template, constant, function, parameters in DECLARATION.findall(header):
        one = functions.setdefault(constant or function, ([], bool(template or constant), []))
        one[0].append(comment)
        one[2].append(parameters)
    definitions = "".join(definition(name, *one, structs) for name, one in functions.items())
    return ("// Made of ops.hpp by op_table.py.\n#include <xgrad/python/src/define.hpp>\n#include <xgrad/python/src/module.hpp>\n"
            "namespace xgrad::python {\nnamespace nb = nanobind;\nusing namespace nb::literals;\n"
            f"void add_functions(nb::module_& m) {{\n{definitions}}}\n}}  // namespace xgrad::python\n")


if __name__ == "__main__":
    pathlib.Path(sys.argv[2]).write_text(table(pathlib.Path(sys.argv[1]).read_text()))
