#include <xgrad/autograd/check.hpp>

#include <array>
#include <charconv>

namespace xgrad::detail {

void Message::add(double number) {
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
  text_.append(buffer.data(), end);
}

}  // namespace xgrad::detail
