#include <xgrad/train/loop/on_spike.hpp>

namespace xgrad {

Remedy remedy_of(const std::string& on_spike) {
  if (on_spike == "skip") return Remedy::pass_over;
  return on_spike == "rollback" ? Remedy::go_back : Remedy::end;
}

Remedy judge(Remedy wanted, bool lasting, std::uint64_t& in_a_row) {
  constexpr std::uint64_t kMost = 10;
  if (wanted == Remedy::end || (lasting && wanted == Remedy::pass_over)) return Remedy::end;
  return ++in_a_row > kMost ? Remedy::end : wanted;
}

}  // namespace xgrad
