// The operands of an op's matrix products, as elements of type In: the op's own scalar, or Bf16.
// Internal.
#pragma once

#include <atomic>
#include <memory>
#include <type_traits>

#include <xgrad/autograd/bf16_products.hpp>
#include <xgrad/autograd/kernels/gemm.hpp>
#include <xgrad/autograd/op.hpp>

namespace xgrad::detail {

/// Calls f.operator()<In>() for the products of this thread's ops on T.
template <class T, class F>
auto with_operands(const F& f) {
  if constexpr (std::is_same_v<T, float>) {
    if (bf16_products()) return f.template operator()<Bf16>();
  }
  return f.template operator()<T>();
}

/// x as an operand: x itself, or its rounded copy.
template <class In, class T>
decltype(auto) as_operand(const Tensor<T>& x) {
  if constexpr (std::is_same_v<In, T>) {
    return (x);
  } else {
    return rounded(x);
  }
}

/// Input i, rounded. Ops of a thread that read the same result of a recorded op share the copy
/// while one of them keeps it.
Saved<Bf16> rounded_input(const Inputs<float>& x, std::size_t i);

/// Input i of an op as an operand of forward(), which backward may keep.
template <class T, class In>
class InputOperand {
 public:
  InputOperand(const Inputs<T>& x, std::size_t i) : x_(x), i_(i) {
    if constexpr (!std::is_same_v<In, T>) rounded_ = rounded_input(x, i);
  }
  const In* data() const { return tensor().data(); }
  const Tensor<In>& tensor() const {
    if constexpr (std::is_same_v<In, T>) {
      return x_[i_];
    } else {
      return *rounded_;
    }
  }
  Saved<In> save() const {
    if constexpr (std::is_same_v<In, T>) {
      return x_.save(i_);
    } else {
      return rounded_;
    }
  }

 private:
  const Inputs<T>& x_;
  std::size_t i_;
  Saved<In> rounded_;  // null if In is T
};

/// A packed copy that the first product to need it makes.
template <class T, class In>
struct PackedCopy {
  ~PackedCopy() { delete matrix.load(); }
  std::atomic<const PackedMatrix<T, In>*> matrix = nullptr;
};

/// The packed copies of a weight: one for each type of operands.
template <class T>
struct PackedCopies : PackedCopy<T, T> {};
template <>
struct PackedCopies<float> : PackedCopy<float, float>, PackedCopy<float, Bf16> {};
template <>
struct PackedCopies<long double> {};  // its products are not packed

/// The packed copy of a weight (out, in), for x weight^T; null unless it is one of pack_weights()
/// with the shape that it had there.
template <class In, class T>
const PackedMatrix<T, In>* packed_copy(const Tensor<T>& weight) {
  const auto& copies = static_cast<const Versioned<T>&>(weight).packed;
  if (!copies) return nullptr;
  auto& matrix = static_cast<PackedCopy<T, In>&>(*copies).matrix;
  const std::size_t out = weight.shape()[0], in = weight.shape()[1];
  if (const auto* known = matrix.load()) return known->has_size(out, in) ? known : nullptr;
  // Threads that come here together each make a copy, rather than wait for one another inside the
  // tasks of parallel_for(). The first copy stays.
  const Tensor<In>& operand = as_operand<In>(weight);
  auto made = std::make_unique<const PackedMatrix<T, In>>(
      out, in, MatrixView<In>{operand.data(), in, Transpose::yes});
  const PackedMatrix<T, In>* first = nullptr;
  return matrix.compare_exchange_strong(first, made.get()) ? made.release() : first;
}

}  // namespace xgrad::detail
