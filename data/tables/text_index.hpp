// TextIndex: numbers texts, with few memory accesses per word since tables have millions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace xgrad {

/// Numbers distinct texts 0, 1, 2 and so on in order of first use; at most 2^32 - 1 texts.
class TextIndex {
 public:
  /// Returned by find() for an unknown text.
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  /// Returns the number of a text, adding the text if it is new.
  std::size_t add(std::string_view text);
  /// Returns the number of a text, or kNone.
  std::size_t find(std::string_view text) const;
  /// The number of texts.
  std::size_t size() const { return ends_.size(); }
  /// Returns the text with a number. Requires: number < size().
  std::string_view text(std::size_t number) const;

 private:
  // Open addressing with linear probing. Texts of up to eight bytes are compared within the slot,
  // without reading texts_.
  struct Slot {
    std::uint64_t head = 0;  // head_of() the text
    std::uint32_t size = 0;  // bytes of the text
    std::uint32_t number = kFree;
  };
  static constexpr std::uint32_t kFree = std::numeric_limits<std::uint32_t>::max();

  std::size_t slot_of(std::string_view text, std::uint64_t head, std::uint64_t hash) const;
  void grow();

  std::vector<Slot> slots_ = std::vector<Slot>(1024);  // power of two, at most half full
  std::string texts_;                                  // all texts, concatenated
  std::vector<std::size_t> ends_;                      // where each text ends in texts_
};

}  // namespace xgrad
