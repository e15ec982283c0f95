// The operators of Variable, and the options of attention. The functions of ops.hpp are defined by
// op_table.py.
#include <xgrad/autograd/operators.hpp>
#include <xgrad/python/src/define.hpp>
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
             const Object<Kind::optional_mask>& key_mask, const Object<Kind::optional_mask>& mask,
             bool causal, bool exclude_self, double p, std::optional<Rng> rng,
             std::uint32_t first) {
            const auto shared = [](const auto& given) {
              return detail::Parameter<SharedMask>::make(given);
            };
            new (made) AttentionOptions{.heads = heads,
                                        .scale = scale,
                                        .masks = {shared(key_mask), shared(mask)},
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
    define(variable, ("__" + name + "__").c_str(), doc.c_str(), f, nb::is_operator());
    define(
        variable, ("__r" + name + "__").c_str(), doc.c_str(),
        [f]<class T>(const Variable<T>& b, const Variable<T>& a) { return f(a, b); },
        nb::is_operator());
  };
  binary("add", "add", []<class T>(const Variable<T>& a, const Variable<T>& b) { return a + b; });
  binary("sub", "sub", []<class T>(const Variable<T>& a, const Variable<T>& b) { return a - b; });
  binary("mul", "mul", []<class T>(const Variable<T>& a, const Variable<T>& b) { return a * b; });
  binary("truediv", "div",
         []<class T>(const Variable<T>& a, const Variable<T>& b) { return a / b; });
  binary("pow", "pow",
         []<class T>(const Variable<T>& a, const Variable<T>& b) { return pow(a, b); });
  binary("matmul", "matmul",
         []<class T>(const Variable<T>& a, const Variable<T>& b) { return matmul(a, b); });
  define(
      variable, "__neg__", "scale(x, -1)", []<class T>(const Variable<T>& x) { return -x; },
      nb::is_operator());
}

}  // namespace

void add_ops(nb::module_& m, nb::class_<Var>& variable) {
  add_attention_options(m);
  add_functions(m);
  add_operators(variable);
}

}  // namespace xgrad::python
