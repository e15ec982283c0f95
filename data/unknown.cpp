#include <xgrad/data/unknown.hpp>

#include <algorithm>

#include <xgrad/autograd/random.hpp>

namespace xgrad {

namespace {

class UnknownDataset final : public Dataset {
 public:
  UnknownDataset(std::unique_ptr<Dataset> examples, std::vector<double> probabilities,
                 std::uint64_t seed)
      : examples_(std::move(examples)),
        probabilities_(std::move(probabilities)),
        rng_(Rng(seed) / "unknown") {}

  std::size_t size() const override { return examples_->size(); }
  std::size_t length(std::size_t index, const TaskShape& shape) const override {
    return examples_->length(index, shape);
  }

  Example get(std::uint64_t epoch, std::size_t index) const override {
    Example example = examples_->get(epoch, index);
    const Rng own = rng_ / epoch / index;
    for (std::size_t i = 0; i < example.ids.size(); ++i) {
      if (own.uniform(i) < probabilities_[std::size_t(example.ids[i])]) example.ids[i] = kUnknownId;
    }
    return example;
  }

  std::unique_ptr<Dataset> take_examples() { return std::move(examples_); }

 private:
  std::unique_ptr<Dataset> examples_;
  std::vector<double> probabilities_;  // replacement probability by token id
  Rng rng_;
};

}  // namespace

std::unique_ptr<Dataset> unknown_dataset(std::unique_ptr<Dataset> examples,
                                         std::vector<std::size_t> counts, double rate,
                                         std::uint64_t seed, bool special) {
  std::vector<double> probabilities;
  for (const std::size_t n : counts) {
    probabilities.push_back(std::max(rate, 0.5 / double(std::max<std::size_t>(n, 1))));
  }
  if (special) probabilities[1] = 0;
  return std::make_unique<UnknownDataset>(std::move(examples), std::move(probabilities), seed);
}

std::unique_ptr<Dataset> whole_training_set(const Task& task) {
  std::unique_ptr<Dataset> examples = task.dataset(Split::train);
  auto* const replaced = dynamic_cast<UnknownDataset*>(examples.get());
  return replaced == nullptr ? std::move(examples) : replaced->take_examples();
}

OptionSpec unknown_option() {
  return {.name = "unknown",
          .fallback = 0.01,
          .help =
              "Minimum probability of replacing a training token by <unk>, so that <unk> is "
              "trained. A token that occurs n times has probability 1/(2n) if that is higher. 0: "
              "no token is replaced.",
          .min = 0,
          .max = 0.5};
}

}  // namespace xgrad
