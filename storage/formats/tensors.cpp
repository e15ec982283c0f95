#include <xgrad/storage/formats/tensors.hpp>

#include <algorithm>
#include <cstring>

namespace xgrad {

namespace {

constexpr std::size_t kMostRank = 32;

template <class T>
AnyTensor cast_to(const Array& array) {
  Tensor<T> tensor = empty<T>(Shape(array.extents.begin(), array.extents.end()));
  std::copy(array.values.begin(), array.values.end(), tensor.data());
  return tensor;
}

template <class Number>
void put(std::string& bytes, Number number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

}  // namespace

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

NamedTensor to_tensor(const std::string& name, const Array& array) {
  check<FormatError>(!array.text && !array.whole, name,
                     ": its type is neither float32 nor float64");
  NamedTensor named{name, array.single ? cast_to<float>(array) : cast_to<double>(array)};
  check_finite<FormatError>(name, named.tensor);
  return named;
}

std::string pack(const Array& array) {
  std::string bytes;
  for (const bool flag : {array.text, array.whole, array.single}) put(bytes, std::uint8_t(flag));
  put(bytes, std::uint64_t(array.extents.size()));
  for (const std::size_t extent : array.extents) put(bytes, std::uint64_t(extent));
  bytes.append(reinterpret_cast<const char*>(array.values.data()),
               array.values.size() * sizeof(double));
  for (const std::string& text : array.texts) {
    put(bytes, std::uint64_t(text.size()));
    bytes += text;
  }
  return bytes;
}

Array unpack(std::string_view bytes) {
  const auto require = [](bool ok) { check<FormatError>(ok, "cannot be read"); };
  const auto take = [&](std::size_t size) {
    require(size <= bytes.size());
    const std::string_view taken = bytes.substr(0, size);
    bytes.remove_prefix(size);
    return taken;
  };
  const auto number = [&]<class Number>(Number value) {
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  };
  Array array;
  for (bool* flag : {&array.text, &array.whole, &array.single}) *flag = number(std::uint8_t());
  const auto rank = number(std::uint64_t());
  require(rank <= kMostRank);
  for (std::uint64_t axis = 0; axis < rank; ++axis) {
    array.extents.push_back(number(std::uint64_t()));
  }
  const auto count = product(array.extents, sizeof(double));
  require(count && *count <= bytes.size());
  for (std::size_t i = 0; i < *count / sizeof(double); ++i) {
    if (array.text) {
      array.texts.emplace_back(take(number(std::uint64_t())));
    } else {
      array.values.push_back(number(double()));
    }
  }
  require(bytes.empty());
  return array;
}

}  // namespace xgrad
