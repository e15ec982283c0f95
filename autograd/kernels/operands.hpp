// Operands: the factors of an op's matrix products, in the op's own scalar or in Bf16. Internal.
#pragma once

#include <atomic>
#include <memory>
#include <type_traits>
#include <utility>

#include <xgrad/autograd/autocast.hpp>
#include <xgrad/autograd/kernels/gemm.hpp>
#include <xgrad/autograd/op.hpp>

namespace xgrad::detail {

/// x with each element rounded to bfloat16, in parallel.
Tensor<Bf16> rounded(const Tensor<float>& x);

/// Whether products of T on this thread now use operands of Bf16. An op keeps the answer for its
/// backward.
template <class T>
bool products_in_bf16() {
  return std::is_same_v<T, float> && autocast_enabled();
}

/// A tensor of T, or its copy rounded to Bf16.
template <class T>
class Operand {
 public:
  Operand() = default;
  /// Keeps x. If x is null, the operand is empty.
  Operand(Saved<T> x) : exact_(std::move(x)) {}
  /// Keeps a rounded copy. Requires: T is float.
  Operand(Saved<Bf16> x) : rounded_(std::move(x)) {}
  /// Refers to x, which must outlive the operand. With `bf16`, keeps a rounded copy of x instead.
  Operand(const Tensor<T>& x, bool bf16) {
    if constexpr (std::is_same_v<T, float>) {
      if (bf16) rounded_ = std::make_shared<const Tensor<Bf16>>(rounded(x));
    }
    if (!rounded_) exact_ = Saved<T>(Saved<T>(), &x);
  }

  explicit operator bool() const { return exact_ || rounded_; }
  const Shape& shape() const { return rounded_ ? rounded_->shape() : exact_->shape(); }
  /// Calls f(pointer to the first element).
  template <class F>
  auto visit(const F& f) const {
    if constexpr (std::is_same_v<T, float>) {
      if (rounded_) return f(rounded_->data());
    }
    return f(exact_ ? exact_->data() : nullptr);
  }
  Elements<T> data() const {
    return visit([](const auto* first) { return Elements<T>(first); });
  }

 private:
  Saved<T> exact_;
  Saved<Bf16> rounded_;
};

/// A copy of input i, rounded to Bf16. If the input is the result of a recorded op, all ops of this
/// thread that read the input share one copy, which lives as long as one of these ops keeps it.
Saved<Bf16> rounded_input(const Inputs<float>& x, std::size_t i);

/// Input i of an op as an operand of forward(). Set `keep` if backward() needs the operand, too.
template <class T>
Operand<T> operand(const Inputs<T>& x, std::size_t i, bool bf16, bool keep = true) {
  if constexpr (std::is_same_v<T, float>) {
    if (bf16) return rounded_input(x, i);
  }
  return keep ? Operand<T>(x.save(i)) : Operand<T>(x[i], false);
}

/// The packed copies of a weight in T and in Bf16, each made by the first product that needs it.
template <class T>
struct PackedCopies {
  ~PackedCopies() {
    for (const auto& copy : of_type) delete copy.load();
  }
  std::atomic<const PackedMatrix<T>*> of_type[2] = {};
};

/// The packed copy of a weight (out, in), for x weight^T. Null if pack_weights() was not called for
/// the weight, or if the shape of the weight has changed since the copy was made.
template <class T>
const PackedMatrix<T>* packed_copy(const Tensor<T>& weight, bool bf16) {
  const auto& copies = static_cast<const Versioned<T>&>(weight).packed;
  if (!copies) return nullptr;
  auto& matrix = copies->of_type[bf16];
  const std::size_t out = weight.shape()[0], in = weight.shape()[1];
  if (const auto* known = matrix.load()) return known->has_size(out, in) ? known : nullptr;
  // Threads that come here together each make a copy, rather than wait for one another inside the
  // tasks of parallel_for(). The first copy stays.
  auto made = std::make_unique<const PackedMatrix<T>>(
      out, in, MatrixView<T>{Operand<T>(weight, bf16).data(), in, Transpose::yes});
  const PackedMatrix<T>* first = nullptr;
  return matrix.compare_exchange_strong(first, made.get()) ? made.release() : first;
}

}  // namespace xgrad::detail
