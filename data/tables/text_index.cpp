#include <xgrad/data/tables/text_index.hpp>

#include <cstring>
#include <functional>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

namespace {

constexpr std::size_t kHead = 8;

template <class Word>
std::uint64_t load(const char* bytes) {
  Word word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

/// Returns a word that, together with its size, identifies a text of up to eight bytes. For longer
/// texts it holds the first eight bytes.
std::uint64_t head_of(std::string_view text) {
  const char* begin = text.data();
  const std::size_t size = text.size();
  if (size >= kHead) return load<std::uint64_t>(begin);
  if (size >= 4) return load<std::uint32_t>(begin) | load<std::uint32_t>(begin + size - 4) << 32;
  if (size == 0) return 0;
  return load<std::uint8_t>(begin) | load<std::uint8_t>(begin + size / 2) << 8 |
         load<std::uint8_t>(begin + size - 1) << 16;
}

std::uint64_t hash_of(std::string_view text, std::uint64_t head) {
  std::uint64_t hash = head ^ text.size();
  if (text.size() > kHead) hash ^= std::hash<std::string_view>()(text.substr(kHead));
  hash *= 0x9e3779b97f4a7c15u;  // 2^64 divided by the golden ratio (Knuth 1973)
  return hash ^ hash >> 32;
}

}  // namespace

std::string_view TextIndex::text(std::size_t number) const {
  const std::size_t begin = number == 0 ? 0 : ends_[number - 1];
  return {texts_.data() + begin, ends_[number] - begin};
}

/// Returns the slot of the text, or the free slot where it belongs.
std::size_t TextIndex::slot_of(std::string_view text, std::uint64_t head,
                               std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (slot.number == kFree) return at;
    if (slot.head != head || slot.size != std::uint32_t(text.size())) continue;
    if (text.size() <= kHead || this->text(slot.number) == text) return at;
  }
}

std::size_t TextIndex::find(std::string_view text) const {
  const std::uint64_t head = head_of(text);
  const Slot& slot = slots_[slot_of(text, head, hash_of(text, head))];
  return slot.number == kFree ? kNone : slot.number;
}

std::size_t TextIndex::add(std::string_view text) {
  const std::uint64_t head = head_of(text), hash = hash_of(text, head);
  std::size_t at = slot_of(text, head, hash);
  if (slots_[at].number != kFree) return slots_[at].number;
  const std::size_t number = ends_.size();
  check<DataError>(number < kFree, "there are more than ", kFree, " different texts");
  if (2 * (number + 1) > slots_.size()) {
    grow();
    at = slot_of(text, head, hash);
  }
  texts_ += text;
  ends_.push_back(texts_.size());
  slots_[at] = {head, std::uint32_t(text.size()), std::uint32_t(number)};
  return number;
}

void TextIndex::grow() {
  slots_.assign(2 * slots_.size(), Slot());
  for (std::size_t number = 0; number < size(); ++number) {
    const std::string_view known = text(number);
    const std::uint64_t head = head_of(known);
    slots_[slot_of(known, head, hash_of(known, head))] = {head, std::uint32_t(known.size()),
                                                          std::uint32_t(number)};
  }
}

}  // namespace xgrad
