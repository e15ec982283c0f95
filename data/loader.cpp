#include <xgrad/data/loader.hpp>

#include <algorithm>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/autograd/random.hpp>

namespace xgrad {

namespace {

// Examples per parallel task: about 20 us of work, far above the cost of a parallel region.
constexpr std::size_t kGrain = 64;

}  // namespace

Loader::Loader(const Dataset& dataset, TaskShape shape, LoaderOptions options)
    : dataset_(&dataset), shape_(std::move(shape)), options_(options) {
  check<ConfigError>(dataset.size() > 0, "Loader: the data set is empty");
  check<ConfigError>(options.batch > 0, "Loader: the batch is 0, must be at least 1");
}

Batch Loader::next() {
  if (options_.shuffle) order_epoch();
  const std::size_t size = dataset_->size();
  const std::size_t count = std::min<std::size_t>(options_.batch, size - state_.position);
  examples_.resize(count);
  parallel_for(count, kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      examples_[i] = dataset_->get(state_.epoch, example_at(state_.position + i));
    }
  });
  // In order, so that the message names the first bad example.
  for (std::size_t i = 0; i < count; ++i) {
    check_example(examples_[i], shape_, example_at(state_.position + i));
  }
  Batch batch = collate(examples_, shape_);
  state_.position += count;
  if (state_.position == size) state_ = {state_.epoch + 1, 0};
  return batch;
}

std::size_t Loader::batches_per_epoch() const {
  return (dataset_->size() + options_.batch - 1) / options_.batch;
}

void Loader::restore(LoaderState state) {
  check<DataError>(state.position < dataset_->size(), "Loader: the position is ", state.position,
                   ", but the data set has ", dataset_->size(), " examples");
  state_ = state;
}

std::size_t Loader::example_at(std::uint64_t position) const {
  return options_.shuffle ? order_[position] : position;
}

void Loader::order_epoch() {
  if (!order_.empty() && ordered_ == state_.epoch) return;
  order_.clear();  // stays empty if an exception is thrown below
  auto order = (Rng(options_.seed) / "order" / state_.epoch).permutation(dataset_->size());
  if (options_.bucket > 1) sort_by_length(order);
  order_ = std::move(order);
  ordered_ = state_.epoch;
}

void Loader::sort_by_length(std::vector<std::size_t>& order) {
  if (lengths_.empty()) {
    std::vector<std::size_t> lengths(order.size());
    parallel_for(lengths.size(), kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) lengths[i] = dataset_->length(i, shape_);
    });
    lengths_ = std::move(lengths);
  }
  const std::size_t window = options_.bucket * options_.batch;
  for (std::size_t begin = 0; begin < order.size(); begin += window) {
    const std::size_t end = std::min(begin + window, order.size());
    std::stable_sort(order.begin() + std::ptrdiff_t(begin), order.begin() + std::ptrdiff_t(end),
                     [&](std::size_t a, std::size_t b) { return lengths_[a] < lengths_[b]; });
  }
  // Shuffle full batches only: a smaller batch stays last.
  const std::vector<std::size_t> sorted = order;
  const auto batches =
      (Rng(options_.seed) / "batches" / state_.epoch).permutation(order.size() / options_.batch);
  for (std::size_t i = 0; i < batches.size(); ++i) {
    std::copy_n(sorted.begin() + std::ptrdiff_t(batches[i] * options_.batch), options_.batch,
                order.begin() + std::ptrdiff_t(i * options_.batch));
  }
}

}  // namespace xgrad
