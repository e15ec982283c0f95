// KeyIndex: numbers 64-bit keys, in one table without an allocation per key.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace xgrad {

/// Numbers distinct 64-bit keys in order of first use. Takes 16 to 32 bytes per key, and half as
/// much again while it grows.
class KeyIndex {
 public:
  /// Returned by find() for an unknown key.
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  /// The number of distinct keys.
  std::size_t size() const { return keys_.size(); }
  /// Returns the key with this number.
  std::uint64_t key(std::size_t number) const { return keys_[number]; }
  /// Returns the number of a key, or kNone.
  std::uint32_t find(std::uint64_t key) const { return numbers_[place(key)]; }
  /// Returns the number of a key, adding the key if it is new.
  std::uint32_t add(std::uint64_t key) {
    std::uint32_t& number = numbers_[place(key)];
    if (number != kNone) return number;
    number = std::uint32_t(keys_.size());
    keys_.push_back(key);
    if (2 * keys_.size() > numbers_.size()) grow();
    return std::uint32_t(keys_.size() - 1);
  }

 private:
  // Returns the slot of the key, or the free slot where it belongs, by linear probing.
  std::size_t place(std::uint64_t key) const {
    std::uint64_t hash = key * 0x9E3779B97F4A7C15u;  // 2^64 divided by the golden ratio
    hash = (hash ^ hash >> 32) * 0x9E3779B97F4A7C15u;
    const std::size_t mask = numbers_.size() - 1;
    std::size_t at = (hash ^ hash >> 32) & mask;
    while (numbers_[at] != kNone && keys_[numbers_[at]] != key) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    const std::size_t size = 2 * numbers_.size();
    numbers_ = {};
    numbers_.assign(size, kNone);
    for (std::size_t i = 0; i < keys_.size(); ++i) numbers_[place(keys_[i])] = std::uint32_t(i);
  }

  std::vector<std::uint64_t> keys_;  // keys by number
  // Numbers by slot; the size is a power of two.
  std::vector<std::uint32_t> numbers_ = std::vector(16, kNone);
};

}  // namespace xgrad
