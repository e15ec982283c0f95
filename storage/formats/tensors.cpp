#include <xgrad/storage/formats/tensors.hpp>

#include <xgrad/autograd/kernels/element.hpp>
#include <xgrad/storage/formats/format_error.hpp>

namespace xgrad {

std::size_t count(const std::vector<NamedTensor>& tensors) {
  std::size_t numbers = 0;
  for (const NamedTensor& t : tensors) {
    numbers += std::visit([](const auto& x) { return x.size(); }, t.tensor);
  }
  return numbers;
}

template <class Exception>
void check_finite(const std::string& name, const AnyTensor& tensor) {
  std::visit(
      [&]<class T>(const Tensor<T>& t) {
        const auto bad = first_not_finite(t);
        check<Exception>(!bad, name, ": entry ", bad.value_or(0), " of shape ", t.shape(),
                         " is not finite");
      },
      tensor);
}

template void check_finite<NumericError>(const std::string&, const AnyTensor&);
template void check_finite<CheckpointError>(const std::string&, const AnyTensor&);
template void check_finite<FormatError>(const std::string&, const AnyTensor&);

}  // namespace xgrad
