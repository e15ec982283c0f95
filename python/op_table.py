"""Writes the C++ that makes the functions of ops.hpp functions of Python: op_table.py OPS_HPP OUTPUT.

A parameter keeps its name and its default. The members of most option structs become parameters of their own. Two overloads,
without and with an axis, become one function, which also gets `keepdims`. A type that this table does not know is an error. If
the first parameter is the Variable `x` or `a`, the function is also a method of Variable, unless xgrad/variables.py defines
this method.
"""

import pathlib
import re
import sys

# A comment of lines with ///, perhaps a template head, and the name before the parameters. `where` is an object, not a
# function.
DECLARATION = re.compile(r"(?m)((?:^/// .*\n)+)(template <[\w:]+ T>\n)?"
                         r"(?:inline constexpr auto (\w+) = \[\]<class T>|[\w<>]+ (\w+))\(([^;]*?)\)(?:;| \{\n)")
STRUCT = re.compile(r"(?m)^struct (\w+) \{\n(.*?)^\};", re.DOTALL)
ENUM = re.compile(r"(?m)^enum class (\w+) \{(.*?)\};", re.DOTALL)
FIELD = re.compile(r"(?m)^  (\w.*?) (\w+) = ([^;]*);")

# For a C++ type of a parameter: the type that the binding takes, and the conversion; {} is the parameter's name. Types in PLAIN
# stay as they are.
TAKEN = {
    "const Variable<T>&": ("const Operand&", "to_variable<T>({}.object)"),
    "const std::vector<Variable<T>>&": ("const std::vector<Operand>&", "to_variables<T>({})"),
    "const Tensor<T>&": ("const Operand&", "to_variable<T>({}.object)"),
    "const Ids&": ("const IdsOperand&", "to_ids({}.object)"),
    "const Mask&": ("const MaskOperand&", "to_mask({}.object)"),
    **dict.fromkeys(("std::shared_ptr<const Mask>", "const std::shared_ptr<const Mask>&", "SharedMask", "const SharedMask&"),
                    ("const OptionalMaskOperand&", "to_shared_mask({}.object)")),
    "std::type_identity_t<T>": ("double", "T({})"),
    "const Shape&": ("const std::vector<std::ptrdiff_t>&", "{}"),
}
PLAIN = ("bool", "double", "std::pair<double, double>", "std::size_t", "std::ptrdiff_t", "std::int32_t", "std::uint32_t", "const std::vector<std::size_t>&",
         "const std::vector<std::ptrdiff_t>&", "const AttentionOptions&", "std::vector<double>", "std::optional<double>", "std::optional<Rng>")

# Functions with one of the first parameters in METHODS become methods, except those IN_PYTHON, which xgrad/variables.py
# defines.
IN_PYTHON = ("reshape", "transpose", "sum", "mean")
METHODS = [(f"const {kind}<T>&", name) for kind in ("Variable", "Tensor") for name in "xa"]


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
    elif default[0] == "{":
        value = kind + default
    elif "::" in default:  # of an enum
        value = f'"{default.partition("::")[2]}"'
    else:
        value = f"{float(default)}" if kind == "double" else default
    return f'"{name}"_a = {value}'


def enums(header):
    """How the enums of a header are passed: as the names of their members."""
    found = {}
    for kind, members in ENUM.findall(header):
        names = ", ".join(f'"{name.strip()}"' for name in members.split(","))
        found[kind] = ("const std::string&", f'enum_of<{kind}>("{{0}}", {{0}}, {{{{{names}}}}})')
    return found


def bind(kind, name, default, first, structs):
    """For a C++ parameter: (parameters of the lambda, arguments of Python, values that the function holds, expression for the
    call)."""
    struct = kind.removeprefix("const ").rstrip("&")
    if struct in structs and kind not in PLAIN:
        fields = structs[struct]
        if default is None:  # then the first member, too, has none
            fields = [(*fields[0][:2], None), *fields[1:]]
        *lists, values = zip(*(bind(*field, first, structs) for field in fields))
        return *(sum(each, []) for each in lists), f"{struct}{{{', '.join(values)}}}"
    if kind not in TAKEN and kind not in PLAIN:
        raise SystemExit(f"op_table.py: {kind} {name}: how is this passed from Python?")
    taken, held = TAKEN.get(kind, (kind, "{}"))
    value = name
    if kind == "const Variable<T>&" and default == "{}":
        taken = "const OptionalOperand&"
    elif kind == "const Tensor<T>&":
        value = f"{name}.value()"
    elif kind == "const Shape&":
        value = f"shape_for({first}, {name})"
    return [f"{taken} {name}"], [argument(kind, name, default)], [f"{name} = {held.format(name)}"], value


def definition(name, comments, template, overloads, structs):
    """The C++ that defines a function."""
    doc = "\n\n".join(re.sub(r"(?m)^/// ", "", comment).strip().replace("null", "None").partition(" `where` is an object,")[0] for comment in comments)
    longest = list(split(overloads[-1]))
    *lists, values = zip(*(bind(*parameter, longest[0][1], structs) for parameter in longest))
    taken, given, held = (sum(each, []) for each in lists)
    function = f"{name}<T>" if template and name != "where" else name
    called = f"{function}({', '.join(values)})"
    if len(overloads) == 2:  # without and with an axis
        taken[-1:] = ["std::optional<std::ptrdiff_t> axis", "bool keepdims"]
        given[-1:] = ['"axis"_a = nb::none()', '"keepdims"_a = false']
        held.append("keepdims")
        called = f"axis ? {called.replace('axis)', '*axis)', 1)} : {function}({', '.join(values[:-1])})"
        called = f"reduced({longest[0][1]}, axis, keepdims, {called})"
        doc += "\n\nWith `keepdims`, a reduced axis stays with the size 1."
    body = f"returned({called})"
    if template:
        operands = [each.split()[-1] for each in taken if "Operand" in each and "Ids" not in each and "Mask" not in each]
        body = f"call([&]<class T>() {{ return [{', '.join(held)}] {{ return {called}; }}; }}, {', '.join(operands)})"
    defined = [("m", given)] + [("variable", given[1:])] * (longest[0][:2] in METHODS and name not in IN_PYTHON)
    return (f"  const auto {name}_ = []({', '.join(taken)}) {{ return {body}; }};\n" +
            "".join(f'  {where}.def({", ".join([f"{chr(34)}{name}{chr(34)}", f"{name}_", f"R{chr(34)}doc({doc})doc{chr(34)}", *arguments])});\n'
                    for where, arguments in defined))


def table(header):
    TAKEN.update(enums(header))
    structs = {name: FIELD.findall(fields) for name, fields in STRUCT.findall(header)}
    functions = {}
    for comment, template, constant, function, parameters in DECLARATION.findall(header):
        one = functions.setdefault(constant or function, ([], bool(template or constant), []))
        one[0].append(comment)
        one[2].append(parameters)
    definitions = "".join(definition(name, *one, structs) for name, one in functions.items())
    return ("// Made of ops.hpp by op_table.py.\n#include <xgrad/python/src/arrays.hpp>\n"
            "namespace xgrad::python {\nnamespace nb = nanobind;\nusing namespace nb::literals;\n"
            f"void add_functions(nb::module_& m, nb::class_<Var>& variable) {{\n{definitions}}}\n}}  // namespace xgrad::python\n")


if __name__ == "__main__":
    pathlib.Path(sys.argv[2]).write_text(table(pathlib.Path(sys.argv[1]).read_text()))
