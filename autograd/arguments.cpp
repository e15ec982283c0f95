#include <string>

#include <xgrad/autograd/op.hpp>

namespace xgrad::detail {

void check_left_out(const char* op, std::string_view arguments, std::size_t i) {
  std::size_t rest = i;  // index of the input among those that the next name stands for
  for (std::size_t space = 0; rest > 0 && (space = arguments.find(' ')) != arguments.npos; --rest) {
    arguments.remove_prefix(space + 1);
  }
  std::string name(arguments.substr(0, arguments.find(' ')));
  if (name.ends_with('?')) return;
  if (name.empty()) name = "input " + std::to_string(i);
  if (name.ends_with("[]")) name.insert(name.size() - 1, std::to_string(rest));
  check_shape(false, op, ": ", name, ": expected a value, got a Variable without one");
}

}  // namespace xgrad::detail
