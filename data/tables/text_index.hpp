// TextIndex: numbers for texts, as few memory accesses as may be for each of millions of words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace xgrad {

/// Texts by number, 0, 1, 2 and so on, in the order in which they came first; at most 2^32 - 1.
class TextIndex {
 public:
  /// Of a text that is not there.
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  /// The number of a text, which is added where it is new.
  std::size_t add(std::string_view text);
  /// Its number, or kNone.
  std::size_t find(std::string_view text) const;
  /// How many there are.
  std::size_t size() const { return ends_.size(); }
  /// The text of a number. Requires: number < size().
  std::string_view text(std::size_t number) const;

 private:
  // An open-addressing table: the slot of a text is found by linear probing from its hash. One of
  // eight bytes or fewer is compared in the slot itself.
  struct Slot {
    std::uint64_t head = 0;  // of the text
    std::uint32_t size = 0;  // of the text
    std::uint32_t number = kFree;
  };
  static constexpr std::uint32_t kFree = std::numeric_limits<std::uint32_t>::max();

  std::size_t slot_of(std::string_view text, std::uint64_t head, std::uint64_t hash) const;
  void grow();

  std::vector<Slot> slots_ = std::vector<Slot>(1024);  // a power of two, at most half of them taken
  std::string texts_;                                  // one after another
  std::vector<std::size_t> ends_;                      // of each in texts_
};

}  // namespace xgrad
