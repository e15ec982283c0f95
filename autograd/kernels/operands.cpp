#include <xgrad/autograd/kernels/operands.hpp>

#include <algorithm>
#include <array>

#include <xgrad/autograd/kernels/loops.hpp>

namespace xgrad {

Tensor<Bf16> detail::rounded(const Tensor<float>& x) {
  Tensor<Bf16> result = empty<Bf16>(x.shape());
  const float* from = x.data();
  Bf16* to = result.data();
  parallel_for(x.size(), detail::kElementGrain, [=](std::size_t begin, std::size_t end) {
    detail::round_to_bf16(from + begin, end - begin, to + begin);
  });
  return result;
}

namespace detail {

namespace {

// A result and its rounded copy. The copy lives as long as an op keeps it.
struct Copy {
  std::weak_ptr<const Tensor<float>> of;
  std::weak_ptr<const Tensor<Bf16>> copy;

  bool is_of(const Saved<float>& x) const { return !of.owner_before(x) && !x.owner_before(of); }
};

// The copies that this thread used last, newest first. All layers of a decoder read the result of
// the encoder. A layer reads fewer than 16 results, so the copy of the encoder's result is still
// here in the next layer.
thread_local std::array<Copy, 16> copies;

}  // namespace

Saved<Bf16> rounded_input(const Inputs<float>& x, std::size_t i) {
  // Shares copies of results of recorded ops only, because other tensors can change.
  if (!static_cast<const Versioned<float>&>(x[i]).recorded) {
    return std::make_shared<const Tensor<Bf16>>(rounded(x[i]));
  }
  const Saved<float> value = x.save(i);
  auto found = std::find_if(copies.begin(), copies.end(),
                            [&](const Copy& known) { return known.is_of(value); });
  Saved<Bf16> copy = found != copies.end() ? found->copy.lock() : nullptr;
  if (!copy) copy = std::make_shared<const Tensor<Bf16>>(rounded(*value));
  if (found == copies.end()) --found;
  *found = {value, copy};
  std::rotate(copies.begin(), found, found + 1);
  return copy;
}

}  // namespace detail

}  // namespace xgrad
