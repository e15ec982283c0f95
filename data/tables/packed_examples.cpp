#include <xgrad/data/tables/packed_examples.hpp>

#include <array>
#include <cstring>
#include <vector>

#include <xgrad/data/task.hpp>

namespace xgrad {

namespace {

using Counts = std::array<std::uint32_t, 5>;  // of the lists of an example

// The lists of an example, in the order of a record.
template <class AnExample, class Visit>
void for_each_list(AnExample& example, const Visit& visit) {
  visit(example.ids);
  visit(example.targets);
  visit(example.features);
  visit(example.values);
  visit(example.edges);
}

}  // namespace

PackedExamples::PackedExamples(const std::string& shared)
    : records_(shared.substr(0, shared.find(','))), ends_(shared.substr(shared.find(',') + 1)) {}

void PackedExamples::add(const Example& example) {
  Counts counts;
  auto count = counts.begin();
  for_each_list(example, [&](const auto& list) { *count++ = std::uint32_t(list.size()); });
  records_.append(counts.data(), sizeof counts);
  for_each_list(example, [&](const auto& list) {
    records_.append(list.data(), list.size() * sizeof list[0]);
  });
  const std::size_t end = records_.size();
  ends_.append(&end, sizeof end);
}

void PackedExamples::finish() {
  records_.finish();
  ends_.finish();
}

const char* PackedExamples::record(std::size_t index) const {
  std::size_t begin = 0;
  if (index > 0) std::memcpy(&begin, ends_.data() + (index - 1) * sizeof begin, sizeof begin);
  return records_.data() + begin;
}

Example PackedExamples::get(std::size_t index) const {
  const char* at = record(index);
  Counts counts;
  std::memcpy(counts.data(), at, sizeof counts);
  at += sizeof counts;
  Example example;
  auto count = counts.begin();
  for_each_list(example, [&](auto& list) {
    list.resize(*count++);
    const std::size_t bytes = list.size() * sizeof list[0];
    if (bytes > 0) std::memcpy(static_cast<void*>(list.data()), at, bytes);
    at += bytes;
  });
  return example;
}

std::size_t PackedExamples::length(std::size_t index, const TaskShape& shape) const {
  Counts counts;
  std::memcpy(counts.data(), record(index), sizeof counts);
  return shape.input == InputKind::vectors ? counts[2] / shape.features : counts[0];
}

}  // namespace xgrad
