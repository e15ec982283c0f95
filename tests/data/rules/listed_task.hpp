// A task whose examples are written out.
#pragma once

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include <xgrad/data/task.hpp>

namespace xgrad::test {

using Examples = std::vector<Example>;

class ListedDataset final : public Dataset {
 public:
  explicit ListedDataset(Examples examples) : examples_(std::move(examples)) {}
  std::size_t size() const override { return examples_.size(); }
  Example get(std::uint64_t, std::size_t index) const override { return examples_[index]; }

 private:
  Examples examples_;
};

class ListedTask final : public Task {
 public:
  ListedTask(TaskShape shape, Examples train, Examples validation, Examples test)
      : shape_(std::move(shape)),
        splits_{std::move(train), std::move(validation), std::move(test)} {}
  TaskShape shape() const override { return shape_; }
  std::unique_ptr<Dataset> dataset(Split split) const override {
    return std::make_unique<ListedDataset>(splits_[std::size_t(split)]);
  }
  Example parse(const std::string&) const override { return {}; }

 private:
  TaskShape shape_;
  std::array<Examples, 3> splits_;
};

}  // namespace xgrad::test
