// linear and linear_gelu, the weight products of a transformer and nearly all of its arithmetic;
// and matmul.

#include <utility>

#include <xgrad/autograd/kernels/dropout_pieces.hpp>
#include <xgrad/autograd/kernels/gemm.hpp>
#include <xgrad/autograd/kernels/loops.hpp>
#include <xgrad/autograd/kernels/math.hpp>
#include <xgrad/autograd/kernels/operands.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/parallel.hpp>

namespace xgrad {

namespace {

using detail::Operand;

// Rows per task of a pass over activations. Fixed, because sums over rows are split there and the
// bits must not depend on the number of threads.
constexpr std::size_t kRows = 64;

// Up to this many rows, a product reads the packed copy of its weight, if there is one. For more
// rows, packing costs little compared with the product, and the product packs wider blocks than
// those of the copy.
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
template <class T>
Value<T> product(const Operand<T>& x, const Tensor<T>& weight, const Sizes& s, bool bf16) {
  Shape shape = x.shape();
  shape.back() = s.out;
  auto y = make_value<T>(shape);
  const MatrixView<T> rows{x.data(), s.in};
  const auto* packed = s.rows <= kFewRows ? detail::packed_copy(weight, bf16) : nullptr;
  if (packed != nullptr) {
    parallel_gemm(s.rows, T(1), rows, *packed, T(0), y->data(), s.out);
  } else {
    parallel_gemm(s.rows, s.out, s.in, T(1), rows,
                  {Operand<T>(weight, bf16).data(), s.in, Transpose::yes}, T(0), y->data(), s.out);
  }
  return y;
}

// dX = dY W and dW = dY^T X.
template <class T>
void product_backward(const Sizes& s, const Operand<T>& dy, const Operand<T>& x,
                      const Saved<T>& weight, bool bf16, Grads<T>& dx) {
  if (dx.wants(0)) {
    const auto target = dx.target(0);
    parallel_gemm(s.rows, s.in, s.out, T(1), {dy.data(), s.out},
                  {Operand<T>(*weight, bf16).data(), s.in}, target.beta(), target.data(), s.in);
  }
  if (dx.wants(1)) {
    const auto target = dx.target(1);
    parallel_gemm(s.out, s.in, s.rows, T(1), {dy.data(), s.out, Transpose::yes}, {x.data(), s.in},
                  target.beta(), target.data(), s.in);
  }
}

// In one pass over dy: calls prepare(row, its elements) for every row and, if the bias wants a
// gradient, sums the rows, db_j = sum_r dy_rj. Returns dy as an operand of the products. With bf16,
// frees dy itself, so that its memory can hold dX.
template <class T, class Prepare>
Operand<T> rows_and_bias_backward(const Sizes& s, Tensor<T>& dy, bool bf16, Grads<T>& dx,
                                  const Prepare& prepare) {
  const bool wanted = dx.wants(2);
  const auto operand = bf16 ? std::make_shared<Tensor<Bf16>>(empty<Bf16>(dy.shape())) : nullptr;
  const auto add = [&](std::size_t row, T* sum) {
    T* d = dy.data() + row * s.out;
    prepare(row, d);
    if (wanted) {
#pragma omp simd
      for (std::size_t j = 0; j < s.out; ++j) sum[j] += d[j];
    }
    if (bf16) detail::round_to_bf16(d, s.out, operand->data() + row * s.out);
  };
  detail::add_rows(s.rows, kRows, wanted ? s.out : 0, 0, add,
                   wanted ? dx.target(2).sums(0, s.out) : nullptr);
  if (!bf16) return Operand<T>(dy, false);
  detail::free_elements(dy);
  return Saved<Bf16>(operand);
}

template <class T>
struct Linear final : Op<T> {
  const char* name() const override { return "linear"; }
  const char* arguments() const override { return "x weight bias?"; }

  Value<T> forward(const Inputs<T>& x) override {
    sizes = checked_sizes(name(), x);
    const Operand<T> operand = detail::operand(x, 0, bf16, x.wants(1));
    auto y = product(operand, x[1], sizes, bf16);
    if (x.has(2)) {
      const T* bias = x[2].data();
      detail::for_each_row({sizes.rows, sizes.out}, [&](std::size_t at) {
        T* out = y->data() + at;
#pragma omp simd
        for (std::size_t j = 0; j < sizes.out; ++j) out[j] += bias[j];
      });
    }
    if (x.wants(1)) input = operand;
    if (x.wants(0)) weight = x.save(1);
    return y;
  }

  // Y = X W^T + b: dX = dY W, dW = dY^T X, db = the sum of dY's rows.
  void backward(Tensor<T>& dy, Grads<T>& dx) const override {
    const Operand<T> d = bf16 || dx.wants(2)
                             ? rows_and_bias_backward(sizes, dy, bf16, dx, [](std::size_t, T*) {})
                             : Operand<T>(dy, false);
    product_backward(sizes, d, input, weight, bf16, dx);
  }

  const bool bf16 = detail::products_in_bf16<T>();
  Sizes sizes;
  Operand<T> input;
  Saved<T> weight;
};

// d times gelu's slopes.
template <class T, class E>
[[gnu::noinline]] void multiply(T* d, const E* slopes, std::size_t n) {
#pragma omp simd
  for (std::size_t j = 0; j < n; ++j) d[j] *= T(slopes[j]);
}

template <class T, class G>
struct LinearGelu final : Op<T> {
  explicit LinearGelu(const DropoutOptions& dropout) : dropout(dropout) {}
  const char* name() const override { return "linear_gelu"; }
  const char* arguments() const override { return "x weight bias?"; }

  // One pass over Z = X W^T adds the bias, writes f gelu(Z) with dropout factors f, and keeps
  // f gelu'(Z), which shares most of the work. If no gradient is wanted, f gelu(Z) replaces Z.
  Value<T> forward(const Inputs<T>& x) override {
    sizes = checked_sizes(name(), x);
    const Operand<T> operand = detail::operand(x, 0, bf16, x.wants(1));
    const auto z = product(operand, x[1], sizes, bf16);
    const bool wanted = x.wants(0) || x.wants(1) || (x.has(2) && x.wants(2));
    const auto y = wanted ? make_value<T>(z->shape()) : z;
    const auto rounded =
        wanted && bf16 ? std::make_shared<Tensor<Bf16>>(empty<Bf16>(z->shape())) : nullptr;
    const Tensor<T> bias = x.has(2) ? x[2] : zeros<T>({sizes.out});
    const auto activate = [&](std::size_t at, const auto& factor) {
      activate_row(bias.data(), factor, z->data() + at, y->data() + at, wanted);
      if (rounded) detail::round_to_bf16(z->data() + at, sizes.out, rounded->data() + at);
    };
    detail::for_each_dropout_piece<T>(
        name(), z->shape(), dropout, [&](std::size_t first, const T* factors, std::size_t n) {
          for (std::size_t at = 0; at < n; at += sizes.out) {
            detail::with_factors(factors ? factors + at : nullptr,
                                 [&](const auto& factor) { activate(first + at, factor); });
          }
        });
    if (!wanted) return y;
    if (x.wants(1)) input = operand;
    if (x.wants(0)) weight = x.save(1);
    slope = bf16 ? Operand<T>(Saved<Bf16>(rounded)) : Saved<T>(z);
    return y;
  }

  // The pass over Z for one row. Replaces z by the slopes f gelu'(z). Another loop rounds the
  // slopes, because the compiler would not vectorize one loop that does both.
  template <class Factor>
  void activate_row(const T* bias, const Factor& factor, T* z, T* y, bool wanted) const {
    if (wanted) {
#pragma omp simd
      for (std::size_t j = 0; j < sizes.out; ++j) {
        const T v = z[j] + bias[j];
        y[j] = factor(j) * G::f(v);
        z[j] = factor(j) * G::df(v);
      }
    } else {
#pragma omp simd
      for (std::size_t j = 0; j < sizes.out; ++j) y[j] = factor(j) * G::f(z[j] + bias[j]);
    }
  }

  // Y = f gelu(Z): dZ = dY f gelu'(Z); the rest is as in linear.
  void backward(Tensor<T>& dy, Grads<T>& dx) const override {
    const auto to_dz = [&](std::size_t row, T* d) {
      slope.visit([&](const auto* s) { multiply(d, s + row * sizes.out, sizes.out); });
    };
    const Operand<T> dz = rows_and_bias_backward(sizes, dy, bf16, dx, to_dz);
    product_backward(sizes, dz, input, weight, bf16, dx);
  }

  const bool bf16 = detail::products_in_bf16<T>();
  DropoutOptions dropout;
  Sizes sizes;
  Operand<T> input, slope;
  Saved<T> weight;
};

// A list of products (m, k) x (k, n), one per matrix of the result.
struct Plan {
  std::size_t m, n, k;
  Shape batch;                       // leading axes of the result
  Shape shape;                       // shape of the result
  std::vector<std::size_t> a, b, y;  // offsets of factors and result, one per product
};

Shape leading(const Shape& shape) {
  return Shape(shape.begin(), shape.end() - 2);
}

Plan plan(const Shape& a, const Shape& b, bool transpose_a, bool transpose_b) {
  check_shape(a.size() >= 2 && b.size() >= 2, "matmul: expected matrices, got ", a, " x ", b);
  const std::size_t ra = a.size(), rb = b.size();
  Plan p;
  p.m = a[transpose_a ? ra - 1 : ra - 2];
  p.k = a[transpose_a ? ra - 2 : ra - 1];
  p.n = b[transpose_b ? rb - 2 : rb - 1];
  check_shape(p.k == b[transpose_b ? rb - 1 : rb - 2], "matmul: inner sizes differ: ", a,
              transpose_a ? "^T" : "", " x ", b, transpose_b ? "^T" : "");
  p.batch = broadcast_shape("matmul", leading(a), leading(b));
  p.shape = p.batch;
  p.shape.push_back(p.m);
  p.shape.push_back(p.n);
  // If b is one matrix, the matrices of a, stacked, make a single product.
  if (size_of(leading(b)) == 1 && !transpose_a) {
    p.m *= size_of(p.batch);
    p.a = p.b = p.y = {0};
    return p;
  }
  const std::size_t count = size_of(p.batch);
  for (auto* offsets : {&p.a, &p.b, &p.y}) offsets->resize(count);
  const std::array strides = {detail::broadcast_strides(leading(a), p.batch),
                              detail::broadcast_strides(leading(b), p.batch)};
  detail::for_each_index(p.batch, strides, 0, count, [&](std::size_t i, const auto& offsets) {
    p.a[i] = offsets[0] * p.m * p.k;
    p.b[i] = offsets[1] * p.k * p.n;
    p.y[i] = i * p.m * p.n;
  });
  return p;
}

// A batch of matrices of the same form, at offsets from the first.
template <class T>
struct Matrices {
  MatrixView<T> first;
  const std::vector<std::size_t>& offsets;

  MatrixView<T> operator[](std::size_t i) const {
    return {first.data + offsets[i], first.stride, first.transpose};
  }
  Matrices flipped() const {
    Matrices result = *this;
    result.first.transpose = first.transpose == Transpose::yes ? Transpose::no : Transpose::yes;
    return result;
  }
};

// C_i = A_i B_i + beta C_i for contiguous C_i, each m x n.
template <class T>
void batched_gemm(std::size_t m, std::size_t n, std::size_t k, const Matrices<T>& a,
                  const Matrices<T>& b, T beta, T* c) {
  const std::size_t count = a.offsets.size();
  if (count == 1) return parallel_gemm(m, n, k, T(1), a[0], b[0], beta, c, n);
  constexpr std::size_t kWork = 1 << 18;  // minimum multiplications of a task
  const std::size_t grain = std::max<std::size_t>(1, kWork / std::max<std::size_t>(1, m * n * k));
  parallel_for(count, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      gemm(m, n, k, T(1), a[i], b[i], beta, c + i * m * n, n);
  });
}

template <class T>
struct Matmul final : Op<T> {
  Matmul(bool transpose_a, bool transpose_b) : transpose_a(transpose_a), transpose_b(transpose_b) {}
  const char* name() const override { return "matmul"; }
  const char* arguments() const override { return "a b"; }

  Value<T> forward(const Inputs<T>& x) override {
    p = plan(x[0].shape(), x[1].shape(), transpose_a, transpose_b);
    const Operand<T> first = detail::operand(x, 0, bf16, x.wants(1)),
                     second = detail::operand(x, 1, bf16, x.wants(0));
    if (x.wants(1)) a = first;
    if (x.wants(0)) b = second;
    auto y = make_value<T>(p.shape);
    batched_gemm(p.m, p.n, p.k, left(first), right(second), T(0), y->data());
    return y;
  }

  // With A and B as multiplied, Y = A B, so dA = dY B^T and dB = A^T dY. The gradient of an input
  // that was read transposed is dA^T = B dY^T or dB^T = dY^T A.
  void backward(Tensor<T>& dy, Grads<T>& dx) const override {
    const Operand<T> operand(dy, bf16);
    const Matrices<T> d{{operand.data(), p.n}, p.y};
    into(dx, 0, [&](T beta, T* da) {
      if (transpose_a) return batched_gemm(p.k, p.m, p.n, right(b), d.flipped(), beta, da);
      batched_gemm(p.m, p.k, p.n, d, right(b).flipped(), beta, da);
    });
    into(dx, 1, [&](T beta, T* db) {
      if (transpose_b) return batched_gemm(p.n, p.k, p.m, d.flipped(), left(a), beta, db);
      batched_gemm(p.k, p.n, p.m, left(a).flipped(), d, beta, db);
    });
  }

  Matrices<T> left(const Operand<T>& x) const {
    if (transpose_a) return {{x.data(), p.m, Transpose::yes}, p.a};
    return {{x.data(), p.k}, p.a};
  }
  Matrices<T> right(const Operand<T>& x) const {
    if (transpose_b) return {{x.data(), p.k, Transpose::yes}, p.b};
    return {{x.data(), p.n}, p.b};
  }

  // Runs multiply(beta, place) for the gradient of input `index`: in place, unless the input was
  // broadcast over the batch; then the engine sums the result.
  template <class Multiply>
  void into(Grads<T>& dx, std::size_t index, const Multiply& multiply) const {
    if (!dx.wants(index)) return;
    const Shape& input = dx.shape(index);
    Shape shape = p.batch;
    shape.insert(shape.end(), input.end() - 2, input.end());
    if (p.y.size() == 1 || size_of(shape) == size_of(input)) {
      const auto target = dx.target(index);
      return multiply(target.beta(), target.data());
    }
    Tensor<T> d = empty<T>(shape);
    multiply(T(0), d.data());
    dx.add(index, std::move(d));
  }

  bool transpose_a, transpose_b;
  const bool bf16 = detail::products_in_bf16<T>();
  Operand<T> a, b;
  Plan p;
};

}  // namespace

template <class T>
Variable<T> linear(const Variable<T>& x, const Variable<T>& weight, const Variable<T>& bias) {
  return apply<T>(std::make_unique<Linear<T>>(), {x, weight, bias});
}

template <class T>
Variable<T> linear_gelu(const Variable<T>& x, const Variable<T>& weight, const Variable<T>& bias,
                        Gelu kind, const DropoutOptions& dropout) {
  detail::check_dropout("linear_gelu", dropout);
  if (kind == Gelu::exact) {
    return apply<T>(std::make_unique<LinearGelu<T, detail::GeluExact<T>>>(dropout),
                    {x, weight, bias});
  }
  return apply<T>(std::make_unique<LinearGelu<T, detail::GeluTanh<T>>>(dropout), {x, weight, bias});
}

template <class T>
Variable<T> matmul(const Variable<T>& a, const Variable<T>& b, bool transpose_a, bool transpose_b) {
  return apply<T>(std::make_unique<Matmul<T>>(transpose_a, transpose_b), {a, b});
}

#define XGRAD_INSTANTIATE(T)                        \
  template decltype(linear<T>) linear<T>;           \
  template decltype(linear_gelu<T>) linear_gelu<T>; \
  template decltype(matmul<T>) matmul<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
