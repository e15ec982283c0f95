#include <limits>

#include <xgrad/autograd/kernels/axes.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

template <class T>
Ids argmax(const Tensor<T>& x, std::size_t axis) {
  const detail::AxisView view = detail::split_at("argmax", x.shape(), axis);
  check_shape(view.extent > 0, "argmax: axis ", axis, " of shape ", x.shape(), " has no elements");
  check_shape(view.extent <= std::size_t(std::numeric_limits<std::int32_t>::max()), "argmax: axis ",
              axis, " of shape ", x.shape(), " is too long for int32 indices");
  Ids best = empty<std::int32_t>(detail::without_axis(x.shape(), axis));
  for (std::size_t i = 0; i < best.size(); ++i) {
    const T* row = x.data() + i / view.inner * view.extent * view.inner + i % view.inner;
    std::size_t at = 0;
    for (std::size_t e = 1; e < view.extent; ++e) {
      const T largest = row[at * view.inner], next = row[e * view.inner];
      if (next > largest || (next != next && largest == largest)) at = e;  // NaN is the largest
    }
    best.data()[i] = std::int32_t(at);
  }
  return best;
}

#define XGRAD_INSTANTIATE(T) template Ids argmax(const Tensor<T>&, std::size_t);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
