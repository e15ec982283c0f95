// Index: a hash table that gives each distinct key a number, without allocating a node per key.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

/// Numbers distinct keys 0, 1, 2 and so on in order of first use; at most 2^32 - 1 keys. A key is a
/// text (std::string) or a number of 64 bits (std::uint64_t). A key of 64 bits takes 16 to 32 bytes
/// of memory, and up to 1.5 times as much while the table grows.
template <class Key>
class Index {
 public:
  /// The type in which the functions below take a key.
  using View = std::conditional_t<std::is_same_v<Key, std::string>, std::string_view, Key>;
  /// Returned by find() for an unknown key.
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  /// The number of distinct keys.
  std::size_t size() const { return keys_.size(); }
  /// Returns the key with this number.
  const Key& key(std::size_t number) const { return keys_[number]; }
  /// Returns the number of a key; kNone if the key was never added.
  std::uint32_t find(View key) const { return numbers_[place(key)]; }
  /// Returns the number of a key, adding it if it is new. Throws DataError if no number is left.
  std::uint32_t add(View key) {
    std::uint32_t& number = numbers_[place(key)];
    if (number != kNone) return number;
    check<DataError>(keys_.size() < kNone, "there are more than ", kNone, " different keys");
    number = std::uint32_t(keys_.size());
    keys_.emplace_back(key);
    if (2 * keys_.size() > numbers_.size()) grow();
    return std::uint32_t(keys_.size() - 1);
  }

 private:
  // Returns the slot of the key or, for a new key, the free slot to put it in (linear probing).
  std::size_t place(View key) const {
    std::uint64_t hash = std::hash<View>()(key);
    if constexpr (std::is_same_v<View, Key>) {  // the standard library's hash is the number itself
      hash *= 0x9E3779B97F4A7C15u;              // 2^64 divided by the golden ratio
      hash = (hash ^ hash >> 32) * 0x9E3779B97F4A7C15u;
      hash ^= hash >> 32;
    }
    const std::size_t mask = numbers_.size() - 1;
    std::size_t at = hash & mask;
    while (numbers_[at] != kNone && keys_[numbers_[at]] != key) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    const std::size_t size = 2 * numbers_.size();
    numbers_ = {};
    numbers_.assign(size, kNone);
    for (std::size_t i = 0; i < keys_.size(); ++i) numbers_[place(keys_[i])] = std::uint32_t(i);
  }

  std::vector<Key> keys_;  // keys by number
  // Numbers by slot; the size is a power of two.
  std::vector<std::uint32_t> numbers_ = std::vector(16, kNone);
};

}  // namespace xgrad
