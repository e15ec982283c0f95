"""Writes the C++ that gives Python its classes for layers and optimizers: layer_table.py ROOT OUTPUT, where ROOT is the source
tree.

A constructor has the parameters of the C++ constructor, and a call those of the C++ call. Each member of an option struct
becomes a parameter of its own, as op_table.py does it. If an inner struct has a member with the name of an outer one, the inner
one gets the prefix attention_.
"""

import pathlib
import re
import sys

from op_table import FIELD, STRUCT, TAKEN, bind, enums, split

HEADERS = ("autograd/ops.hpp", "layers/layers.hpp", "layers/positions.hpp", "layers/attention/weights.hpp",
           "layers/attention/attention.hpp", "layers/models/encoder.hpp", "optim/optimizers.hpp")
# For a name in Python: the class in C++, and the parameters with a fixed value; None stands for the default of C++.
LAYERS = {"Linear": ("Linear", {}), "Embedding": ("Embedding", {}), "LayerNorm": ("Norm", {"kind": "Normalization::layer", "mask": None}),
          "MultiHeadAttention": ("MultiHeadAttention", {}), "EncoderBlock": ("EncoderBlock", {"decoder": "false", "layers": "1"}),
          "Encoder": ("Encoder", {"decoder": "false"})}
LEFT_OUT = {"memory": None, "query_mask": None}
RENAMED = {"in": "in_features", "out": "out_features", "context": "rng"}
OPTIMIZERS = {"adagrad": "Adagrad", "adam": "Adam", "adamw": "AdamW", "lion": "Lion", "rmsprop": "RMSprop", "sgd": "SGD"}

CLASS = re.compile(r"((?:^///[^\n]*\n)+)template <class T>\nclass (\w+) \{\n(.*?)^\};", re.DOTALL | re.MULTILINE)
CALL = re.compile(r"((?:  ///.*\n)+)  Variable<T> operator\(\)\(([^;]*?)\) const")
MEANING = re.compile(r"(?m)^  \w.*? (\w+) = [^;]*;\s*///< (.*)$")
MEANINGS = {}  # of the members of a struct
OPTIMIZER = re.compile(r'\{"(\w+)", \{([^}]*)\}, \{[^}]*\}, make<')


def text(comment):
    """A comment as a docstring, without sentences about parameters that Python leaves out."""
    whole = re.sub(r"(?m)^ *///(?: |$)", "", comment).strip().replace("null", "None")
    sentences = re.split(r"(?<=[.;]\s)", whole)
    return "".join(one for one in sentences if not re.search(r"\b(memory|query_mask|decoder|RMS norm|Weight decay|batch norm)\b|^None\b", one)).strip(" \n;")


def flat(parameters, structs, fixed, outer=frozenset(), meant=()):
    """Returns three lists: the parameters, with structs replaced by their members; the C++ argument for each original
    parameter; and the docstring lines of the members."""
    found, values, lines = [], [], []
    bare = [kind.removeprefix("const ").rstrip("&") for kind, *_ in parameters]
    names = outer | {name for (_, name, _), struct in zip(parameters, bare) if struct not in structs}
    for (kind, name, default), struct in zip(parameters, bare):
        if struct in structs:
            inner, members, about = flat(structs[struct], structs, fixed, names, MEANINGS[struct])
            found += inner
            lines += about
            values.append(f"{struct}{{{', '.join(members)}}}")
        elif name not in fixed:
            own = f"attention_{name}" if name in outer else RENAMED.get(name, name)
            found.append((kind, own, None if own == "width" else "std::nullopt" if own == "rng" else default))
            values.append(own)
            if name in meant:
                lines.append(f"{own}: {meant[name]}")
        elif fixed[name]:
            values.append(fixed[name])
    return sorted(found, key=lambda one: one[2] is not None), values, lines


def bound(parameters):
    """Three lists as text: the parameters of the C++ lambda, the arguments of Python, and the values that a function holds."""
    lists = [bind(*parameter, parameters[0][1], {})[:3] for parameter in parameters]
    taken, given, held = (sum(each, []) for each in zip(*lists))
    return ", ".join(taken), given, ", ".join(held)


def layer(name, kind, fixed, comment, body, structs):
    """The C++ that defines a layer."""
    made, base = f"Layer<xgrad::{kind}>", f"xgrad::{kind}<T>"
    constructor = re.search(rf"  {kind}\(const Scope<T>& scope, (.*?)\);", body, re.DOTALL)[1]
    parameters, values, lines = flat(list(split(constructor)), structs, fixed)
    taken, given, held = bound(parameters)
    doc = "\n".join([text(comment), "", *lines, "dtype: float32 or float64"])
    lines = [f'  nb::class_<{made}, Module>(m, "{name}", R"doc({doc})doc")\n'
             f'      .def("__init__", []({made}* made, {taken}, const std::string& dtype) {{\n'
             f"        new (made) {made}(dtype, [{held}]<class T>(const Scope<T>& scope) {{ return {base}(scope, {', '.join(values)}); }});\n"
             f"        {' '.join(f'made->given[{chr(34)}{name}{chr(34)}] = {name};' for name in [*(own for _, own, _ in parameters), 'dtype'])}\n"
             f'      }}, {", ".join(given)}, "dtype"_a = "float32")']
    for comment, parameters in CALL.findall(body):
        parameters, values, _ = flat(list(split(parameters)), structs, fixed | LEFT_OUT)
        taken, given, held = bound(parameters)
        inputs = sum(default is None for *_, default in parameters)
        arguments = given[:inputs] + ["nb::kw_only()"] * (inputs < len(given)) + given[inputs:]
        lines.append(f'      .def("__call__", [](const {made}& self, {taken}) {{\n'
                     f"        return self.call([&]<class T>(const {base}& layer) {{ return [&layer, {held}] {{ return layer({', '.join(values)}); }}; }});\n"
                     f'      }}, {", ".join(arguments)}, R"doc({text(comment)})doc")')
    return "\n".join(lines) + ";\n"


def optimizer(kind, keys, structs):
    """The C++ that defines an optimizer."""
    unused = {name: None for _, name, _ in structs["OptimizerOptions"] if name not in (*keys, "weight_decay")}
    parameters, _, lines = flat([("OptimizerOptions", "options", "{}")], structs, unused)
    sets = " ".join(f"options.{name} = {name};" for _, name, _ in parameters)
    taken, given, _ = bound(parameters)
    name = OPTIMIZERS[kind]
    about = f'The optimizer "{kind}" of configs, for Variables, or pairs of a name and a Variable.'
    doc = "\n".join([about, "", *lines]).replace("for parameters with WeightDecay::on", "for all of them, as in PyTorch")
    return (f'  nb::class_<{name}, AnyOptimizer>(m, "{name}", R"doc({doc})doc")\n'
            f'      .def("__init__", []({name}* made, const nb::iterable& parameters, double lr, {taken}) {{\n'
            f'        OptimizerOptions options;\n        {sets}\n        new (made) {name}("{kind}", parameters, lr, options);\n'
            f'      }}, "parameters"_a, "lr"_a, {", ".join(given)});\n')


def table(root):
    header = "\n".join((root / name).read_text() for name in HEADERS)
    TAKEN.update(enums(header))
    TAKEN["Variable<T>"] = TAKEN["const Variable<T>&"]
    TAKEN["const Context&"] = ("std::optional<Rng>", "context_of({})")
    structs = {name: FIELD.findall(fields) for name, fields in STRUCT.findall(header)}
    MEANINGS.update({name: dict(MEANING.findall(fields)) for name, fields in STRUCT.findall(header)})
    classes = {name: (comment, body) for comment, name, body in CLASS.findall(header)}
    made = OPTIMIZER.findall((root / "optim/optimizers.cpp").read_text())
    assert {kind for kind, _ in made} == set(OPTIMIZERS), made
    kinds = "".join(f"struct {name} : AnyOptimizer {{\n  using AnyOptimizer::AnyOptimizer;\n}};\n" for name in OPTIMIZERS.values())
    layers = "".join(layer(name, kind, fixed, *classes[kind], structs) for name, (kind, fixed) in LAYERS.items())
    optimizers = "".join(optimizer(kind, re.findall(r"\w+", keys), structs) for kind, keys in made)
    return ("// Made of the headers of layers and optimizers by layer_table.py.\n#include <xgrad/layers/models/encoder.hpp>\n"
            "#include <xgrad/python/src/layers.hpp>\n"
            "namespace xgrad::python {\nnamespace nb = nanobind;\nusing namespace nb::literals;\n"
            f"namespace {{\n{kinds}}}  // namespace\nvoid add_made_layers(nb::module_& m) {{\n{layers}{optimizers}}}\n}}  // namespace xgrad::python\n")


if __name__ == "__main__":
    pathlib.Path(sys.argv[2]).write_text(table(pathlib.Path(sys.argv[1])))
