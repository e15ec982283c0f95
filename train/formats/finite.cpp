#include <xgrad/train/formats/finite.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

namespace {

// On bits, so that no compiler flag can delete it: an exponent of all ones is an infinity or not a
// number.
bool finite(float x) {
  return (~std::bit_cast<std::uint32_t>(x) & 0x7f800000u) != 0;
}
bool finite(double x) {
  return (~std::bit_cast<std::uint64_t>(x) & 0x7ff0000000000000u) != 0;
}

}  // namespace

template <class Exception>
void check_finite(const std::string& name, const AnyTensor& tensor) {
  std::visit(
      [&]<class T>(const Tensor<T>& t) {
        const T* end = t.data() + t.size();
        const T* bad = std::find_if(t.data(), end, [](T x) { return !finite(x); });
        check<Exception>(bad == end, name, ": entry ", bad - t.data(), " of shape ", t.shape(),
                         " is not finite");
      },
      tensor);
}

template void check_finite<NumericError>(const std::string&, const AnyTensor&);
template void check_finite<CheckpointError>(const std::string&, const AnyTensor&);

}  // namespace xgrad
