#include <xgrad/autograd/autocast.hpp>

#include <xgrad/autograd/kernels/elementwise.hpp>

namespace xgrad {

static thread_local bool products_in_bf16 = false;

Tensor<Bf16> rounded(const Tensor<float>& x) {
  Tensor<Bf16> result = empty<Bf16>(x.shape());
  const float* from = x.data();
  Bf16* to = result.data();
  parallel_for(x.size(), detail::kElementGrain, [=](std::size_t begin, std::size_t end) {
    detail::round_to_bf16(from + begin, end - begin, to + begin);
  });
  return result;
}

Autocast::Autocast(bool on) : Scoped(products_in_bf16, on) {}

bool autocast_enabled() {
  return products_in_bf16;
}

}  // namespace xgrad
