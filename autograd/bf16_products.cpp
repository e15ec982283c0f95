#include <xgrad/autograd/bf16_products.hpp>

#include <utility>

#include <xgrad/autograd/kernels/elementwise.hpp>

namespace xgrad {

namespace {
thread_local bool products_in_bf16 = false;
}  // namespace

Tensor<Bf16> rounded(const Tensor<float>& x) {
  Tensor<Bf16> result = empty<Bf16>(x.shape());
  const float* from = x.data();
  Bf16* to = result.data();
  parallel_for(x.size(), detail::kElementGrain, [=](std::size_t begin, std::size_t end) {
    detail::round_to_bf16(from + begin, end - begin, to + begin);
  });
  return result;
}

Bf16Products::Bf16Products(bool on) : before_(std::exchange(products_in_bf16, on)) {}

Bf16Products::~Bf16Products() {
  products_in_bf16 = before_;
}

bool bf16_products() {
  return products_in_bf16;
}

}  // namespace xgrad
