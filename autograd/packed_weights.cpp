#include <xgrad/autograd/packed_weights.hpp>

#include <xgrad/autograd/kernels/operands.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

template <class T>
void pack_weights(const Parameters<T>& parameters) {
  for (const Parameter<T>& p : parameters) {
    auto& packed = p.variable.shared_value()->packed;
    if (!packed) packed = std::make_shared<detail::PackedCopies<T>>();
  }
}

#define XGRAD_INSTANTIATE(T) template void pack_weights(const Parameters<T>&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
