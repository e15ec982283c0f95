// The operators of Variable, and the options of attention. The functions of ops.hpp are defined by
// op_table.py.
#include <xgrad/autograd/operators.hpp>
#include <xgrad/python/src/call.hpp>
#include <xgrad/python/src/module.hpp>

namespace nb = nanobind;
using namespace nb::literals;

namespace xgrad::python {

namespace {

void add_attention_options(nb::module_& m) {
  nb::class_<AttentionOptions>(
      m, "AttentionOptions",
      "Options of attention(): `heads`; `scale`, default 1/sqrt(d_head); `key_mask` (B, M), 1 = "
      "may be attended to; "
      "`mask` (B, N, M), likewise for each query; `causal`: query i sees the keys 0 ... i only; "
      "`exclude_self`: query "
      "i does not see key i; `p`, `rng` and `first_sample` of dropout on the probabilities.")
      .def(
          "__init__",
          [](AttentionOptions* made, std::size_t heads, std::optional<double> scale,
             const OptionalMaskOperand& key_mask, const OptionalMaskOperand& mask, bool causal,
             bool exclude_self, double p, std::optional<Rng> rng, std::uint32_t first) {
            new (made) AttentionOptions{
                .heads = heads,
                .scale = scale,
                .masks = {to_shared_mask(key_mask.object), to_shared_mask(mask.object)},
                .causal = causal,
                .exclude_self = exclude_self,
                .dropout = {p, rng, first}};
          },
          "heads"_a = 1, "scale"_a = nb::none(), "key_mask"_a = nb::none(), "mask"_a = nb::none(),
          "causal"_a = false, "exclude_self"_a = false, "p"_a = 0.0, "rng"_a = nb::none(),
          "first_sample"_a = 0);
}

// Python passes the Variable first, to reflected operators too.
void add_operators(nb::class_<Var>& variable) {
  const auto binary = [&](const std::string& name, const char* function, auto f) {
    const std::string doc = function + std::string("(a, b)");
    const auto op = [f](const Operand& a, const Operand& b) {
      const auto make = [&]<class T>() {
        return [f, x = to_variable<T>(a.object), y = to_variable<T>(b.object)] { return f(x, y); };
      };
      return call(make, a, b);
    };
    variable.def(("__" + name + "__").c_str(), op, doc.c_str(), nb::is_operator());
    variable.def(("__r" + name + "__").c_str(),
                 [op](const Operand& b, const Operand& a) { return op(a, b); }, doc.c_str(),
                 nb::is_operator());
  };
  binary("add", "add", [](const auto& a, const auto& b) { return a + b; });
  binary("sub", "sub", [](const auto& a, const auto& b) { return a - b; });
  binary("mul", "mul", [](const auto& a, const auto& b) { return a * b; });
  binary("truediv", "div", [](const auto& a, const auto& b) { return a / b; });
  binary("pow", "pow", [](const auto& a, const auto& b) { return pow(a, b); });
  binary("matmul", "matmul", [](const auto& a, const auto& b) { return matmul(a, b); });
  variable.def(
      "__neg__",
      [](const Operand& a) {
        const auto make = [&]<class T>() { return [x = to_variable<T>(a.object)] { return -x; }; };
        return call(make, a);
      },
      "scale(x, -1)", nb::is_operator());
}

}  // namespace

void add_ops(nb::module_& m, nb::class_<Var>& variable) {
  add_attention_options(m);
  add_functions(m, variable);
  add_operators(variable);
}

}  // namespace xgrad::python
