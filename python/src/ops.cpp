// The one table of ops: every function of ops.hpp, and the operators of Variable.
//
// In Python an axis may count from the end, and the members of most option structs are parameters.
#include <xgrad/autograd/operators.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/python/src/define_op.hpp>
#include <xgrad/python/src/module.hpp>

namespace nb = nanobind;
using namespace nb::literals;

namespace xgrad::python {

namespace {

using Axis = std::ptrdiff_t;
using MaybeRng = std::optional<Rng>;
using MaybeNumber = std::optional<double>;

// A negative axis counts from the end; one that is out of range is left for the op to refuse.
template <class Value>
std::size_t axis_of(const Value& x, Axis axis) {
  return std::size_t(axis < 0 ? axis + Axis(x.shape().size()) : axis);
}

Gelu gelu_of(const std::string& kind) {
  check_shape(kind == "exact" || kind == "tanh", "gelu: expected kind exact or tanh, got ", kind);
  return kind == "exact" ? Gelu::exact : Gelu::tanh;
}

DropoutOptions dropout_of(double p, const MaybeRng& rng, std::uint32_t first_sample) {
  return {.p = p, .rng = rng, .first_sample = first_sample};
}

// Defines an operator of Variable. Python passes the Variable first, to reflected ones too.
template <class F>
void define_operator(nb::class_<Var>& variable, const std::string& name, const char* op, F f) {
  const std::string doc = std::string(op) + "(a, b)";
  define(variable, ("__" + name + "__").c_str(), doc.c_str(), f, nb::is_operator());
  define(
      variable, ("__r" + name + "__").c_str(), doc.c_str(),
      [f]<class T>(const Variable<T>& b, const Variable<T>& a) { return f(a, b); },
      nb::is_operator());
}

void add_arithmetic(nb::module_& m, nb::class_<Var>& variable) {
  const auto binary = [&](const char* name, const char* method, auto f) {
    define_op(m, name, f, "a"_a, "b"_a);
    define_operator(variable, method, name, f);
  };
  binary("add", "add", []<class T>(const Variable<T>& a, const Variable<T>& b) { return a + b; });
  binary("sub", "sub", []<class T>(const Variable<T>& a, const Variable<T>& b) { return a - b; });
  binary("mul", "mul", []<class T>(const Variable<T>& a, const Variable<T>& b) { return a * b; });
  binary("div", "truediv",
         []<class T>(const Variable<T>& a, const Variable<T>& b) { return a / b; });
  binary("pow", "pow",
         []<class T>(const Variable<T>& a, const Variable<T>& b) { return pow(a, b); });
  define_operator(variable, "matmul", "matmul",
                  []<class T>(const Variable<T>& a, const Variable<T>& b) { return matmul(a, b); });
  define(
      variable, "__neg__", "scale(x, -1)", []<class T>(const Variable<T>& x) { return -x; },
      nb::is_operator());
  define_op(
      m, "scale", []<class T>(const Variable<T>& x, double c) { return scale(x, T(c)); }, "x"_a,
      "c"_a);
  define_op(
      m, "where",
      []<class T>(const Mask& condition, const Variable<T>& x, const Variable<T>& y) {
        return where(condition, x, y);
      },
      "condition"_a, "x"_a, "y"_a);
}

void add_functions(nb::module_& m) {
  const auto unary = [&](const char* name, auto f) { define_op(m, name, f, "x"_a); };
  unary("relu", []<class T>(const Variable<T>& x) { return relu(x); });
  unary("exp", []<class T>(const Variable<T>& x) { return exp(x); });
  unary("log", []<class T>(const Variable<T>& x) { return log(x); });
  unary("sqrt", []<class T>(const Variable<T>& x) { return sqrt(x); });
  unary("tanh", []<class T>(const Variable<T>& x) { return tanh(x); });
  unary("sigmoid", []<class T>(const Variable<T>& x) { return sigmoid(x); });
  unary("silu", []<class T>(const Variable<T>& x) { return silu(x); });
  unary("softmax", []<class T>(const Variable<T>& x) { return softmax(x); });
  unary("sparsemax", []<class T>(const Variable<T>& x) { return sparsemax(x); });
  unary("log_softmax", []<class T>(const Variable<T>& x) { return log_softmax(x); });
  define_op(
      m, "clamp",
      []<class T>(const Variable<T>& x, double min, double max) {
        return clamp(x, T(min), T(max));
      },
      "x"_a, "min"_a, "max"_a);
  define_op(
      m, "gelu",
      []<class T>(const Variable<T>& x, const std::string& kind) { return gelu(x, gelu_of(kind)); },
      "x"_a, "kind"_a = "exact");
}

void add_shapes(nb::module_& m) {
  using Sizes = std::vector<std::size_t>;
  define_op(
      m, "reshape",
      []<class T>(const Variable<T>& x, const Sizes& shape) {
        return reshape(x, Shape(shape.begin(), shape.end()));
      },
      "x"_a, "shape"_a);
  define_op(
      m, "transpose",
      []<class T>(const Variable<T>& x, const Sizes& axes) { return transpose(x, axes); }, "x"_a,
      "axes"_a);
  define_op(
      m, "slice",
      []<class T>(const Variable<T>& x, Axis axis, std::size_t begin, std::size_t end) {
        return slice(x, axis_of(x, axis), begin, end);
      },
      "x"_a, "axis"_a, "begin"_a, "end"_a);
  define_op(
      m, "select",
      []<class T>(const Variable<T>& x, Axis axis, std::size_t index) {
        return select(x, axis_of(x, axis), index);
      },
      "x"_a, "axis"_a, "index"_a);
  define_op(
      m, "concat",
      []<class T>(const std::vector<Variable<T>>& parts, Axis axis) {
        return concat(parts, parts.empty() ? 0 : axis_of(parts[0], axis));
      },
      "parts"_a, "axis"_a);
}

void add_reductions(nb::module_& m) {
  const auto reduction = [&](const char* name, auto f) {
    define_op(
        m, name,
        [f]<class T>(const Variable<T>& x, std::optional<Axis> axis) {
          return axis ? f(x, axis_of(x, *axis)) : f(x);
        },
        "x"_a, "axis"_a = nb::none());
  };
  reduction("sum", [](const auto& x, auto... axis) { return sum(x, axis...); });
  reduction("mean", [](const auto& x, auto... axis) { return mean(x, axis...); });
  define_op(
      m, "masked_mean",
      []<class T>(const Variable<T>& x, const Mask& mask) { return masked_mean(x, mask); }, "x"_a,
      "mask"_a);
  define_op(
      m, "masked_max",
      []<class T>(const Variable<T>& x, const SharedMask& mask) { return masked_max(x, mask); },
      "x"_a, "mask"_a = nb::none());
  define_op(
      m, "argmax",
      []<class T>(const Variable<T>& x, Axis axis) { return argmax(x.value(), axis_of(x, axis)); },
      "x"_a, "axis"_a);
}

void add_products(nb::module_& m) {
  define_op(
      m, "matmul",
      []<class T>(const Variable<T>& a, const Variable<T>& b, bool transpose_a, bool transpose_b) {
        return matmul(a, b, transpose_a, transpose_b);
      },
      "a"_a, "b"_a, "transpose_a"_a = false, "transpose_b"_a = false);
  define_op(
      m, "linear",
      []<class T>(const Variable<T>& x, const Variable<T>& weight, const Maybe<T>& bias) {
        return linear<T>(x, weight, bias);
      },
      "x"_a, "weight"_a, "bias"_a = nb::none());
  define_op(
      m, "linear_gelu",
      []<class T>(const Variable<T>& x, const Variable<T>& weight, const Maybe<T>& bias,
                  const std::string& kind, double p, MaybeRng rng, std::uint32_t first) {
        return linear_gelu<T>(x, weight, bias, gelu_of(kind), dropout_of(p, rng, first));
      },
      "x"_a, "weight"_a, "bias"_a = nb::none(), "kind"_a = "exact", "p"_a = 0.0,
      "rng"_a = nb::none(), "first_sample"_a = 0);
}

void add_normalisation(nb::module_& m) {
  define_op(
      m, "layer_norm",
      []<class T>(const Variable<T>& x, const Variable<T>& weight, const Variable<T>& bias,
                  double eps) { return layer_norm(x, weight, bias, eps); },
      "x"_a, "weight"_a, "bias"_a, "eps"_a = 1e-5);
  define_op(
      m, "rms_norm",
      []<class T>(const Variable<T>& x, const Variable<T>& weight, double eps) {
        return rms_norm(x, weight, eps);
      },
      "x"_a, "weight"_a, "eps"_a = 1e-5);
  define_op(
      m, "batch_norm",
      []<class T>(const Variable<T>& x, const Variable<T>& weight, const Variable<T>& bias,
                  const SharedMask& mask,
                  double eps) { return batch_norm(x, weight, bias, mask, eps); },
      "x"_a, "weight"_a, "bias"_a, "mask"_a = nb::none(), "eps"_a = 1e-5);
}

void add_dropout(nb::module_& m) {
  define_op(
      m, "dropout",
      []<class T>(const Variable<T>& x, double p, MaybeRng rng, std::uint32_t first) {
        return dropout(x, dropout_of(p, rng, first));
      },
      "x"_a, "p"_a, "rng"_a = nb::none(), "first_sample"_a = 0);
  define_op(
      m, "dropout_add",
      []<class T>(const Variable<T>& x, const Variable<T>& residual, double p, MaybeRng rng,
                  std::uint32_t first) {
        return dropout_add(x, residual, dropout_of(p, rng, first));
      },
      "x"_a, "residual"_a, "p"_a, "rng"_a = nb::none(), "first_sample"_a = 0);
}

void add_lookups(nb::module_& m) {
  define_op(
      m, "embedding",
      []<class T>(const Variable<T>& weight, const Ids& ids) { return embedding(weight, ids); },
      "weight"_a, "ids"_a);
  define_op(
      m, "gather",
      []<class T>(const Variable<T>& x, Axis axis, const Ids& indices) {
        return gather(x, axis_of(x, axis), indices);
      },
      "x"_a, "axis"_a, "indices"_a);
  define_op(
      m, "rotary_embedding",
      []<class T>(const Variable<T>& x, std::size_t head_dim, std::size_t heads, double base) {
        return rotary_embedding(x, head_dim, heads, base);
      },
      "x"_a, "head_dim"_a, "heads"_a, "base"_a = 10000.0);
}

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
          [](AttentionOptions* made, std::size_t heads, MaybeNumber scale,
             const Object<Kind::optional_mask>& key_mask, const Object<Kind::optional_mask>& mask,
             bool causal, bool exclude_self, double p, MaybeRng rng, std::uint32_t first) {
            const auto shared = [](const auto& given) {
              return detail::Parameter<SharedMask>::make(given);
            };
            new (made) AttentionOptions{.heads = heads,
                                        .scale = scale,
                                        .masks = {shared(key_mask), shared(mask)},
                                        .causal = causal,
                                        .exclude_self = exclude_self,
                                        .dropout = dropout_of(p, rng, first)};
          },
          "heads"_a = 1, "scale"_a = nb::none(), "key_mask"_a = nb::none(), "mask"_a = nb::none(),
          "causal"_a = false, "exclude_self"_a = false, "p"_a = 0.0, "rng"_a = nb::none(),
          "first_sample"_a = 0);
}

void add_attention(nb::module_& m) {
  using Options = AttentionOptions;
  define_op(
      m, "attention",
      []<class T>(const Variable<T>& q, const Variable<T>& k, const Variable<T>& v,
                  const Options& options,
                  const Maybe<T>& bias) { return attention<T>(q, k, v, options, bias); },
      "q"_a, "k"_a, "v"_a, "options"_a, "bias"_a = nb::none());
  define_op(
      m, "self_attention",
      []<class T>(const Variable<T>& qkv, const Options& options, const Maybe<T>& bias) {
        return self_attention<T>(qkv, options, bias);
      },
      "qkv"_a, "options"_a, "bias"_a = nb::none());
  define_op(
      m, "additive_scores",
      []<class T>(const Variable<T>& q, const Variable<T>& k, const Variable<T>& weight) {
        return additive_scores(q, k, weight);
      },
      "q"_a, "k"_a, "weight"_a);
  define_op(
      m, "attention_scores",
      []<class T>(const Variable<T>& q, const Variable<T>& k, const Options& options) {
        return attention_scores(q.value(), k.value(), options);
      },
      "q"_a, "k"_a, "options"_a);
  define_op(
      m, "attention_probabilities",
      []<class T>(const Variable<T>& q, const Variable<T>& k, const Options& options,
                  const Maybe<T>& bias) {
        return attention_probabilities<T>(q.value(), k.value(), options, bias);
      },
      "q"_a, "k"_a, "options"_a, "bias"_a = nb::none());
  m.def(
      "attention_mask",
      [](const Options& options, std::size_t batch, std::size_t queries, std::size_t keys) {
        return detail::returned(attention_mask(options, batch, queries, keys));
      },
      kOpDocs.at("attention_mask"), "options"_a, "batch"_a, "queries"_a, "keys"_a);
}

void add_losses(nb::module_& m) {
  using Weights = std::vector<double>;
  define_op(
      m, "cross_entropy",
      []<class T>(const Variable<T>& logits, const Ids& targets, std::int32_t ignore_index,
                  double label_smoothing, const Weights& class_weights, MaybeNumber divisor) {
        return cross_entropy(logits, targets,
                             {ignore_index, label_smoothing, class_weights, divisor});
      },
      "logits"_a, "targets"_a, "ignore_index"_a = -100, "label_smoothing"_a = 0.0,
      "class_weights"_a = Weights(), "normalizer"_a = nb::none());
  const auto loss = [&](const char* name, auto f) {
    define_op(
        m, name,
        [f]<class T>(const Variable<T>& x, const Variable<T>& y, const SharedMask& mask,
                     MaybeNumber normalizer) {
          return f(x, y, LossOptions{mask, normalizer});
        },
        "x"_a, "y"_a, "mask"_a = nb::none(), "normalizer"_a = nb::none());
  };
  loss("mse_loss", [](const auto& x, const auto& y, const auto& o) { return mse_loss(x, y, o); });
  loss("l1_loss", [](const auto& x, const auto& y, const auto& o) { return l1_loss(x, y, o); });
  loss("binary_cross_entropy_with_logits", [](const auto& x, const auto& y, const auto& o) {
    return binary_cross_entropy_with_logits(x, y, o);
  });
  define_op(
      m, "huber_loss",
      []<class T>(const Variable<T>& x, const Variable<T>& y, double delta, const SharedMask& mask,
                  MaybeNumber normalizer) {
        return huber_loss(x, y, delta, {mask, normalizer});
      },
      "x"_a, "y"_a, "delta"_a = 1.0, "mask"_a = nb::none(), "normalizer"_a = nb::none());
}

}  // namespace

void add_ops(nb::module_& m, nb::class_<Var>& variable) {
  add_arithmetic(m, variable);
  add_functions(m);
  add_shapes(m);
  add_reductions(m);
  add_products(m);
  add_normalisation(m);
  add_dropout(m);
  add_lookups(m);
  add_attention_options(m);
  add_attention(m);
  add_losses(m);
}

}  // namespace xgrad::python
