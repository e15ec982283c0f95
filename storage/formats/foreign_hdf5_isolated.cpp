// What the process that reads an HDF5 file answers: an array as plain bytes.
#include <cstring>
#include <type_traits>

#include <xgrad/autograd/check.hpp>
#include <xgrad/storage/disk/isolated.hpp>
#include <xgrad/storage/formats/foreign_hdf5.hpp>

namespace xgrad {

namespace {

constexpr std::size_t kMemory = std::size_t(128) << 20;  // for libhdf5 itself
constexpr std::size_t kMostPerByte = 256;                // of the file: what deflate saved
constexpr std::size_t kMostRank = 32;

template <class Number>
void put(std::string& bytes, Number number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

std::string to_bytes(const Array& array) {
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

/// Whoever answers may have been taken over by the file.
class Answer {
 public:
  explicit Answer(std::string_view bytes) : rest_(bytes) {}

  std::string_view take(std::size_t size) {
    check<DataError>(size <= rest_.size(), "cannot be read");
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  template <class Number>
  Number number() {
    Number value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }

  Array array() {
    Array array;
    array.text = flag();
    array.whole = flag();
    array.single = flag();
    const auto rank = number<std::uint64_t>();
    check<DataError>(rank <= kMostRank, "cannot be read");
    std::size_t count = 1;
    for (std::uint64_t axis = 0; axis < rank; ++axis) {
      array.extents.push_back(number<std::uint64_t>());
      const bool fits = !__builtin_mul_overflow(count, array.extents.back(), &count);
      check<DataError>(fits, "cannot be read");
    }
    check<DataError>(count <= rest_.size() / sizeof(double), "cannot be read");
    for (std::size_t i = 0; i < count; ++i) {
      if (array.text) {
        array.texts.emplace_back(take(number<std::uint64_t>()));
      } else {
        array.values.push_back(number<double>());
      }
    }
    check<DataError>(rest_.empty(), "cannot be read");
    return array;
  }

 private:
  bool flag() { return number<std::uint8_t>() != 0; }

  std::string_view rest_;
};

}  // namespace

Array read_hdf5_dataset(const std::string& file, std::string_view bytes,
                        const std::string& dataset) {
  const auto read = [&] { return to_bytes(parse_hdf5_dataset(bytes, dataset)); };
  const std::size_t most = kMemory + kMostPerByte * bytes.size();
  const Isolated answer = run_isolated(read, {.memory = most, .result = most});
  check<DataError>(answer.done, file, ": ", answer.text);
  const std::string place = file + ": dataset \"" + dataset + "\": ";
  try {
    Array array = Answer(answer.text).array();
    check<DataError>(!array.extents.empty(), "has no rows");
    return array;
  } catch (const DataError& error) {
    detail::fail<DataError>(place, error.what());
  }
}

}  // namespace xgrad
