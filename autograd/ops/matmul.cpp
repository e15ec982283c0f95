#include <xgrad/autograd/kernels/axes.hpp>
#include <xgrad/autograd/kernels/gemm.hpp>
#include <xgrad/autograd/kernels/operands.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

using detail::Operand;

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
  constexpr std::size_t kWork = 1 << 18;  // least multiplications worth a task
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
  void backward(Tensor<T> dy, Grads<T>& dx) const override {
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
Variable<T> matmul(const Variable<T>& a, const Variable<T>& b, bool transpose_a, bool transpose_b) {
  return apply<T>(std::make_unique<Matmul<T>>(transpose_a, transpose_b), {a, b});
}

#define XGRAD_INSTANTIATE(T) \
  template Variable<T> matmul(const Variable<T>&, const Variable<T>&, bool, bool);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
