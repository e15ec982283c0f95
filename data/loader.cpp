#include <xgrad/data/loader.hpp>

#include <algorithm>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/autograd/random.hpp>

namespace xgrad {

// Examples per parallel task: about 20 us of work, far above the cost of a parallel region.
constexpr std::size_t kGrain = 64;

Loader::Loader(const Dataset& dataset, TaskShape shape, LoaderOptions options)
    : dataset_(&dataset), shape_(std::move(shape)), options_(options) {
  check<ConfigError>(dataset.size() > 0, "Loader: the data set is empty");
  check<ConfigError>(options.batch > 0, "Loader: the batch is 0, must be at least 1");
  if (options.curriculum.first == 0) return;
  find_lengths();
  const std::size_t shortest = *std::min_element(lengths_.begin(), lengths_.end());
  check<ConfigError>(shortest > 0, "train.curriculum_start: the task's examples have no length");
  check<ConfigError>(shortest <= options.curriculum.first, "train.curriculum_start: is ",
                     options.curriculum.first, ", but the shortest training example has length ",
                     shortest);
}

Batch Loader::next() {
  const std::optional<std::size_t> limit = this->limit();
  std::vector<std::size_t> numbers;
  std::uint64_t epoch = state_.epoch;
  LoaderState after = state_;
  while (numbers.empty()) {
    epoch = after.epoch;
    if (options_.shuffle) order_epoch(epoch);
    while (after.position < dataset_->size() && numbers.size() < options_.batch) {
      const std::size_t example = options_.shuffle ? order_[after.position] : after.position;
      ++after.position;
      if (!limit || lengths_[example] <= *limit) numbers.push_back(example);
    }
    if (after.position == dataset_->size()) after = {epoch + 1, 0, after.batches};
  }
  if (limit) ++after.batches;
  examples_.resize(numbers.size());
  parallel_for(numbers.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) examples_[i] = dataset_->get(epoch, numbers[i]);
  });
  // In order, so that the message names the first bad example.
  for (std::size_t i = 0; i < numbers.size(); ++i) check_example(examples_[i], shape_, numbers[i]);
  Batch batch = collate(examples_, shape_);
  state_ = after;
  return batch;
}

std::optional<std::size_t> Loader::limit() const {
  const Curriculum& c = options_.curriculum;
  if (c.first == 0) return std::nullopt;
  const std::size_t longest = *std::max_element(lengths_.begin(), lengths_.end());
  const std::uint64_t done = state_.batches - state_.batches % c.group;
  if (done >= c.batches || longest <= c.first) return longest;
  return c.first + std::size_t(double(longest - c.first) * double(done) / double(c.batches));
}

std::size_t Loader::batches_per_epoch() const {
  return (dataset_->size() + options_.batch - 1) / options_.batch;
}

void Loader::restore(LoaderState state) {
  check<DataError>(state.position < dataset_->size(), "Loader: the position is ", state.position,
                   ", but the data set has ", dataset_->size(), " examples");
  state_ = state;
}

void Loader::order_epoch(std::uint64_t epoch) {
  if (!order_.empty() && ordered_ == epoch) return;
  order_.clear();  // stays empty if an exception is thrown below
  auto order = (Rng(options_.seed) / "order" / epoch).permutation(dataset_->size());
  if (options_.bucket > 1) sort_by_length(order, epoch);
  order_ = std::move(order);
  ordered_ = epoch;
}

void Loader::find_lengths() {
  if (!lengths_.empty()) return;
  std::vector<std::size_t> lengths(dataset_->size());
  parallel_for(lengths.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) lengths[i] = dataset_->length(i, shape_);
  });
  lengths_ = std::move(lengths);
}

void Loader::sort_by_length(std::vector<std::size_t>& order, std::uint64_t epoch) {
  find_lengths();
  const std::size_t window = options_.bucket * options_.batch;
  for (std::size_t begin = 0; begin < order.size(); begin += window) {
    const std::size_t end = std::min(begin + window, order.size());
    std::stable_sort(order.begin() + std::ptrdiff_t(begin), order.begin() + std::ptrdiff_t(end),
                     [&](std::size_t a, std::size_t b) { return lengths_[a] < lengths_[b]; });
  }
  // Shuffle full batches only: a smaller batch stays last.
  const std::vector<std::size_t> sorted = order;
  const auto batches =
      (Rng(options_.seed) / "batches" / epoch).permutation(order.size() / options_.batch);
  for (std::size_t i = 0; i < batches.size(); ++i) {
    std::copy_n(sorted.begin() + std::ptrdiff_t(batches[i] * options_.batch), options_.batch,
                order.begin() + std::ptrdiff_t(i * options_.batch));
  }
}

}  // namespace xgrad
