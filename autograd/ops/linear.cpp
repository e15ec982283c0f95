// linear and linear_gelu: the weight products of a transformer, nearly all of its arithmetic.

#include <utility>

#include <xgrad/autograd/kernels/dropout_pieces.hpp>
#include <xgrad/autograd/kernels/elementwise.hpp>
#include <xgrad/autograd/kernels/gelu.hpp>
#include <xgrad/autograd/kernels/gemm.hpp>
#include <xgrad/autograd/kernels/operands.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

using detail::as_operand;
using detail::InputOperand;

// Rows per task of a pass over activations. Fixed, because sums over rows are split there and the
// bits must not depend on the number of threads.
constexpr std::size_t kRows = 64;

// Up to here, a product reads its weight's packed copy, if there is one; beyond, packing takes
// little beside the product, whose blocks are wider than those of the copy.
constexpr std::size_t kFewRows = 256;

// The sizes of y (rows, out) = x (rows, in) weight^T (out, in) + bias (out).
struct Sizes {
  std::size_t rows = 0, in = 0, out = 0;
};

template <class T>
Sizes checked_sizes(const char* op, const Inputs<T>& x) {
  const Shape& shape = x[0].shape();
  const Shape& weight = x[1].shape();
  check_shape(weight.size() == 2, op, ": weight: expected (out, in), got ", weight);
  check_shape(!shape.empty() && shape.back() == weight[1], op, ": weight ", weight,
              ": expected x (..., ", weight[1], "), got ", shape);
  check_shape(!x.has(2) || x[2].shape() == Shape{weight[0]}, op, ": weight ", weight,
              ": expected bias (", weight[0], "), got ", x.has(2) ? x[2].shape() : Shape{});
  return {size_of(Shape(shape.begin(), shape.end() - 1)), weight[1], weight[0]};
}

// x W^T, without the bias.
template <class T, class In>
Value<T> product(const InputOperand<T, In>& x, const Tensor<T>& weight, const Sizes& s) {
  Shape shape = x.tensor().shape();
  shape.back() = s.out;
  auto y = make_value<T>(shape);
  if constexpr (!std::is_same_v<T, long double>) {
    const auto* packed = s.rows <= kFewRows ? detail::packed_copy<In>(weight) : nullptr;
    if (packed != nullptr) {
      parallel_gemm<T, In>(s.rows, T(1), {x.data(), s.in}, *packed, T(0), y->data(), s.out);
      return y;
    }
  }
  const Tensor<In>& w = as_operand<In>(weight);
  parallel_gemm<T, In>(s.rows, s.out, s.in, T(1), {x.data(), s.in},
                       {w.data(), s.in, Transpose::yes}, T(0), y->data(), s.out);
  return y;
}

// Calls f(row) for every row, in parallel.
template <class F>
void for_rows(const Sizes& s, const F& f) {
  parallel_for(s.rows, detail::row_grain(s.out), [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) f(row);
  });
}

// With Y = X W^T + b: dX = dY W and dW = dY^T X.
template <class T, class In>
void product_backward(const Sizes& s, const Tensor<In>& dy, const Saved<In>& x,
                      const Saved<T>& weight, Grads<T>& dx) {
  if (dx.wants(0)) {
    const Tensor<In>& w = as_operand<In>(*weight);
    const auto target = dx.target(0);
    parallel_gemm<T, In>(s.rows, s.in, s.out, T(1), {dy.data(), s.out}, {w.data(), s.in},
                         target.beta(), target.data, s.in);
  }
  if (dx.wants(1)) {
    const auto target = dx.target(1);
    parallel_gemm<T, In>(s.out, s.in, s.rows, T(1), {dy.data(), s.out, Transpose::yes},
                         {x->data(), s.in}, target.beta(), target.data, s.in);
  }
}

// Memory for gelu's slopes, which backward only multiplies by; z itself, if they have its type.
template <class In, class T>
std::shared_ptr<Tensor<In>> room_for_slopes(const Value<T>& z) {
  if constexpr (std::is_same_v<In, T>) {
    return z;
  } else {
    return std::make_shared<Tensor<In>>(empty<In>(z->shape()));
  }
}

// In one pass over dy: calls prepare(row, its elements) for every row and, if the bias wants a
// gradient, sums the rows, db_j = sum_r dy_rj. Blocks of rows are summed separately, then added in
// order. Returns dy as an operand of the products.
template <class In, class T, class Prepare>
Tensor<In> rows_and_bias_backward(const Sizes& s, Tensor<T> dy, Grads<T>& dx,
                                  const Prepare& prepare) {
  const std::size_t blocks = (s.rows + kRows - 1) / kRows;
  const bool wanted = dx.wants(2);
  Tensor<T> partial = empty<T>({wanted ? blocks : 0, s.out});
  Tensor<In> operand = std::is_same_v<In, T> ? Tensor<In>() : empty<In>(dy.shape());
  parallel_for(s.rows, kRows, [&](std::size_t begin, std::size_t end) {
    T* sum = partial.data() + begin / kRows * s.out;
    if (wanted) std::fill_n(sum, s.out, T(0));
    for (std::size_t row = begin; row < end; ++row) {
      T* d = dy.data() + row * s.out;
      prepare(row, d);
      if (wanted) {
#pragma omp simd
        for (std::size_t j = 0; j < s.out; ++j) sum[j] += d[j];
      }
      if constexpr (!std::is_same_v<In, T>) {
        detail::round_to_bf16(d, s.out, operand.data() + row * s.out);
      }
    }
  });
  if (wanted) {
    const auto target = dx.target(2);
    if (target.fresh) std::fill_n(target.data, s.out, T(0));
    for (std::size_t block = 0; block < blocks; ++block) {
      const T* sum = partial.data() + block * s.out;
#pragma omp simd
      for (std::size_t j = 0; j < s.out; ++j) target.data[j] += sum[j];
    }
  }
  if constexpr (std::is_same_v<In, T>) {
    return dy;
  } else {
    return operand;
  }
}

template <class T, class In>
struct Linear final : Op<T> {
  const char* name() const override { return "linear"; }
  const char* arguments() const override { return "x weight bias?"; }

  Value<T> forward(const Inputs<T>& x) override {
    sizes = checked_sizes(name(), x);
    const InputOperand<T, In> operand(x, 0);
    auto y = product(operand, x[1], sizes);
    if (x.has(2)) {
      const T* bias = x[2].data();
      for_rows(sizes, [&](std::size_t row) {
        T* out = y->data() + row * sizes.out;
#pragma omp simd
        for (std::size_t j = 0; j < sizes.out; ++j) out[j] += bias[j];
      });
    }
    if (x.wants(1)) input = operand.save();
    if (x.wants(0)) weight = x.save(1);
    return y;
  }

  // Y = X W^T + b: dX = dY W, dW = dY^T X, db = the sum of dY's rows.
  void backward(Tensor<T> dy, Grads<T>& dx) const override {
    if constexpr (std::is_same_v<In, T>) {
      if (!dx.wants(2)) return product_backward(sizes, dy, input, weight, dx);
    }
    const Tensor<In> d =
        rows_and_bias_backward<In>(sizes, std::move(dy), dx, [](std::size_t, T*) {});
    product_backward(sizes, d, input, weight, dx);
  }

  Sizes sizes;
  Saved<In> input;
  Saved<T> weight;
};

template <class T, class G, class In>
struct LinearGelu final : Op<T> {
  explicit LinearGelu(const DropoutOptions& dropout) : dropout(dropout) {}
  const char* name() const override { return "linear_gelu"; }
  const char* arguments() const override { return "x weight bias?"; }

  // One pass over Z = X W^T adds the bias, writes f gelu(Z) with dropout factors f, and keeps
  // f gelu'(Z), which shares most of the work. If no gradient is wanted, f gelu(Z) replaces Z.
  Value<T> forward(const Inputs<T>& x) override {
    sizes = checked_sizes(name(), x);
    const InputOperand<T, In> operand(x, 0);
    const auto z = product(operand, x[1], sizes);
    const bool wanted = x.wants(0) || x.wants(1) || (x.has(2) && x.wants(2));
    const auto y = wanted ? make_value<T>(z->shape()) : z;
    const auto slopes = wanted ? room_for_slopes<In>(z) : nullptr;
    const Tensor<T> bias = x.has(2) ? x[2] : zeros<T>({sizes.out});
    const auto row_at = [&](auto drops, std::size_t at, const T* factors) {
      activate<drops()>(bias.data(), factors, z->data() + at, y->data() + at,
                        slopes ? slopes->data() + at : nullptr);
    };
    if (dropout.p == 0) {
      for_rows(sizes,
               [&](std::size_t row) { row_at(std::false_type(), row * sizes.out, nullptr); });
    } else {
      detail::for_each_dropout_piece<T>(
          name(), z->shape(), dropout, [&](std::size_t at, const T* factors, std::size_t n) {
            for (const T* end = factors + n; factors != end; factors += sizes.out, at += sizes.out)
              row_at(std::true_type(), at, factors);
          });
    }
    if (!wanted) return y;
    if (x.wants(1)) input = operand.save();
    if (x.wants(0)) weight = x.save(1);
    slope = slopes;
    return y;
  }

  // That pass for one row; slopes is null if no gradient is wanted. They are computed in z, and
  // rounded from there, because the compiler would not vectorize one loop that does both.
  template <bool kDrops>
  void activate(const T* bias, const T* factors, T* z, T* y, In* slopes) const {
    const auto factor = [&](std::size_t j) { return kDrops ? factors[j] : T(1); };
    if (slopes != nullptr) {
#pragma omp simd
      for (std::size_t j = 0; j < sizes.out; ++j) {
        const T v = z[j] + bias[j];
        y[j] = factor(j) * G::f(v);
        z[j] = factor(j) * G::df(v);
      }
      if constexpr (!std::is_same_v<In, T>) detail::round_to_bf16(z, sizes.out, slopes);
    } else {
#pragma omp simd
      for (std::size_t j = 0; j < sizes.out; ++j) y[j] = factor(j) * G::f(z[j] + bias[j]);
    }
  }

  // Y = f gelu(Z): dZ = dY f gelu'(Z); the rest is as in linear.
  void backward(Tensor<T> dy, Grads<T>& dx) const override {
    const auto to_dz = [&](std::size_t row, T* d) {
      const In* s = slope->data() + row * sizes.out;
#pragma omp simd
      for (std::size_t j = 0; j < sizes.out; ++j) d[j] *= T(s[j]);
    };
    const Tensor<In> dz = rows_and_bias_backward<In>(sizes, std::move(dy), dx, to_dz);
    product_backward(sizes, dz, input, weight, dx);
  }

  DropoutOptions dropout;
  Sizes sizes;
  Saved<In> input, slope;
  Saved<T> weight;
};

}  // namespace

template <class T>
Variable<T> linear(const Variable<T>& x, const Variable<T>& weight, const Variable<T>& bias) {
  auto op = detail::with_operands<T>(
      []<class In>() -> std::unique_ptr<Op<T>> { return std::make_unique<Linear<T, In>>(); });
  return apply<T>(std::move(op), {x, weight, bias});
}

template <class T>
Variable<T> linear_gelu(const Variable<T>& x, const Variable<T>& weight, const Variable<T>& bias,
                        Gelu kind, const DropoutOptions& dropout) {
  detail::check_dropout("linear_gelu", dropout);
  auto op = detail::with_operands<T>([&]<class In>() -> std::unique_ptr<Op<T>> {
    if (kind == Gelu::exact) {
      return std::make_unique<LinearGelu<T, detail::GeluExact<T>, In>>(dropout);
    }
    return std::make_unique<LinearGelu<T, detail::GeluTanh<T>, In>>(dropout);
  });
  return apply<T>(std::move(op), {x, weight, bias});
}

#define XGRAD_INSTANTIATE(T)                                                                   \
  template Variable<T> linear(const Variable<T>&, const Variable<T>&, const Variable<T>&);     \
  template Variable<T> linear_gelu(const Variable<T>&, const Variable<T>&, const Variable<T>&, \
                                   Gelu, const DropoutOptions&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
