// Records every draw that a program makes from the random number generator.
//
// The linker sends every call of the generator from outside of autograd/random.cpp through
// draws.cpp (--wrap, in tests/CMakeLists.txt).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace xgrad::test {

/// Keys of the streams, by what was drawn; "dropout" is for dropout_factors().
extern std::map<std::string, std::set<std::uint64_t>> drawn;

/// The place of a row of dropout factors.
struct MaskRow {
  std::uint64_t key = 0;  ///< the stream's
  std::uint32_t sample = 0, head = 0, token = 0;
  auto operator<=>(const MaskRow&) const = default;
};

/// The rows that dropout_factors() has written. A row that is drawn again, as in backward, must
/// have the same factors.
extern std::map<MaskRow, std::vector<double>> masks;

/// Forgets all draws.
void clear_draws();

}  // namespace xgrad::test
