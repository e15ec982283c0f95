#include <xgrad/train/ranks/gradient_shards.hpp>

#include <algorithm>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/optim/clip.hpp>

namespace xgrad {

constexpr std::size_t kBlock = detail::FlatParameters::kBlock;
// Each bucket has a fixed cost. With smaller or more buckets, this cost would exceed the gain of
// sending earlier.
constexpr std::size_t kLeastBlocks = 8, kMostBuckets = 8;

template <class T>
static void add(T* to, const T* from, std::size_t n) {
  parallel_for(n, kBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) to[i] += from[i];
  });
}

// A bucket ends at the first boundary of a block after a tensor.
static std::vector<Range> buckets_of(const detail::FlatParameters& row, std::size_t ranks) {
  const std::size_t blocks = (row.size() + kBlock - 1) / kBlock;
  const std::size_t least = std::max({ranks, kLeastBlocks, blocks / kMostBuckets}) * kBlock;
  std::vector<Range> buckets{{0, row.size()}};
  for (std::size_t i = 0; i < row.count(); ++i) {
    const std::size_t end = (row.start(i) + kBlock - 1) / kBlock * kBlock;
    if (end < buckets.back().begin + least || end + least > row.size()) continue;
    buckets.back().end = end;
    buckets.push_back({end, row.size()});
  }
  return buckets;
}

// The index of the part of a bucket that belongs to a rank. Every second bucket has its parts in
// reverse order. So if a tensor lies in two buckets, each slice has one contiguous piece of it.
static std::size_t part_of(std::size_t bucket, std::size_t rank, std::size_t ranks) {
  return bucket % 2 == 0 ? rank : ranks - 1 - rank;
}

// Parts consist of whole blocks, so that the norm adds the same per-block sums on any number of
// ranks.
static ModelPart slice_of(const std::vector<Range>& buckets, std::size_t rank, std::size_t ranks) {
  ModelPart slice;
  std::size_t extra = 0;  // remaining blocks go to the ranks one after the other
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    const Range& bucket = buckets[b];
    const std::size_t blocks = (bucket.size() + kBlock - 1) / kBlock;
    const auto begin_of = [&](std::size_t part) {
      std::size_t before = blocks / ranks * part;
      for (std::size_t k = 0; k < blocks % ranks; ++k) {
        before += part_of(b, (extra + k) % ranks, ranks) < part;
      }
      return std::min(bucket.begin + before * kBlock, bucket.end);
    };
    const std::size_t part = part_of(b, rank, ranks);
    slice.push_back({begin_of(part), begin_of(part + 1)});
    extra += blocks % ranks;
  }
  return slice;
}

template <class T>
GradientShards<T>::GradientShards(const Parameters<T>& parameters, std::size_t shards, Ranks& ranks)
    : parameters_(&parameters), count_(shards), ranks_(&ranks) {
  check<ConfigError>(ranks.size() <= shards, "train.shards: is ", shards, ", but there are ",
                     ranks.size(), " processes; set train.shards=", ranks.size(), " or more");
  for (const Parameter<T>& p : parameters) {
    if (!p.variable.requires_grad()) continue;
    index_[p.variable.node().get()] = leaves_.size();
    leaves_.push_back(p.variable);
    row_.append(p.value().size());
  }
  buckets_ = buckets_of(row_, ranks.size());
  std::size_t end = 0;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    slices_.push_back(ranks.size() == 1 ? ModelPart() : slice_of(buckets_, r, ranks.size()));
    places_.push_back({end, end});
    for (const Range& range : slices_[r]) end = places_.back().end += range.size();
    nodes_.push_back(nodes_of(share(count_, r, ranks.size()), {0, count_}));
    rounds_ = std::max(rounds_, nodes_[r].size());
  }
  arrived_.resize(leaves_.size());
}

template <class T>
void GradientShards<T>::open() {
  shard_ = sums_.empty() ? shards().begin : sums_.back().node.end;
  begins_ = sums_.empty() || !joins(sums_.back());
  if (begins_) sums_.push_back({{shard_, shard_ + 1}, empty<T>({row_.size()})});
}

template <class T>
void GradientShards<T>::add_gradients(const Range& range) {
  T* newest = sums_.back().values.data();
  std::vector<const T*> gradients;
  for (const Variable<T>& leaf : leaves_) {
    gradients.push_back(leaf.has_grad() ? leaf.grad().data() : nullptr);
  }
  const auto run = [&](std::size_t i, std::size_t first, std::size_t n, std::size_t) {
    T* to = newest + row_.start(i) + first;
    const T* from = gradients[i] == nullptr ? nullptr : gradients[i] + first;
    if (begins_) {
      from == nullptr ? std::fill_n(to, n, T(0)) : std::copy_n(from, n, to);
    } else {
      for (std::size_t e = 0; e < n; ++e) to[e] += from == nullptr ? T(0) : from[e];
    }
  };
  row_.parallel_runs({range}, run);
  for (std::size_t k = sums_.size() - 1; k > 0 && joins(sums_[k - 1]); --k) {
    add(sums_[k - 1].values.data() + range.begin, sums_[k].values.data() + range.begin,
        range.size());
  }
}

template <class T>
void GradientShards<T>::send_early() {
  if (ranks_->size() == 1) return;
  open();
  unsent_ = buckets_.size();
  missing_.assign(buckets_.size(), 0);
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    row_.for_each_run(buckets_[b].begin, buckets_[b].end,
                      [&](std::size_t, std::size_t, std::size_t) { ++missing_[b]; });
  }
  sender_.emplace([this](const Node<T>& leaf) { on_gradient(leaf); });
}

template <class T>
void GradientShards<T>::on_gradient(const Node<T>& leaf) {
  const auto found = index_.find(&leaf);
  if (found == index_.end()) return;
  const std::size_t begin = row_.start(found->second), end = row_.start(found->second + 1);
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    if (begin < buckets_[b].end && end > buckets_[b].begin) --missing_[b];
  }
  while (unsent_ > 0 && missing_[unsent_ - 1] == 0) send();
  ranks_->progress();
}

template <class T>
void GradientShards<T>::take() {
  if (count_ == 1) return;
  const bool is_early = sender_.has_value();
  sender_.reset();
  if (!is_early) {
    open();
    unsent_ = buckets_.size();
  }
  if (ranks_->size() > 1 && shard_ + 1 == shards().end) {
    while (unsent_ > 0) send();
  } else {
    add_gradients({0, row_.size()});
  }
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    if (leaves_[i].has_grad()) arrived_[i] = true;
  }
  parameters_->zero_grad();
  while (sums_.size() > 1 && joins(sums_[sums_.size() - 2])) sums_.pop_back();
  sums_.back().node.end = shard_ + 1;
}

template <class T>
void GradientShards<T>::add_up() {
  if (count_ == 1) return;
  // A parameter that has no gradient on any rank keeps none, so that the optimizer reports it.
  const std::string arrived(arrived_.begin(), arrived_.end());
  for (const std::string& text :
       checked_ ? std::vector<std::string>() : gather_texts(*ranks_, arrived)) {
    for (std::size_t i = 0; i < text.size(); ++i) arrived_[i] = arrived_[i] || text[i];
  }
  checked_ = true;
  if (ranks_->size() == 1) leave({0, row_.size()}, sums_.front().values.data());
  for (Exchange& exchange : exchanges_) receive(exchange);
  exchanges_.clear();
  sums_.clear();
}

// In each round, a rank sends the sum of one of its nodes to all other ranks. Each gets the part in
// its own slice.
template <class T>
void GradientShards<T>::send() {
  const std::size_t bucket = --unsent_, self = ranks_->rank();
  add_gradients(buckets_[bucket]);
  Exchange exchange{bucket, {}};
  for (std::size_t round = 0; round < rounds_; ++round) {
    std::vector<Range> to_rank(ranks_->size()), from_rank;
    const bool sends = round < nodes_[self].size();
    std::size_t end = 0;
    for (std::size_t r = 0; r < ranks_->size(); ++r) {
      if (sends && r != self) to_rank[r] = slices_[r][bucket];
      const bool comes = r != self && round < nodes_[r].size();
      from_rank.push_back({end, end + (comes ? slice()[bucket].size() : 0)});
      end = from_rank.back().end;
    }
    Tensor<T> received = empty<T>({end});
    auto transfer = ranks_->begin_exchange(sends ? sums_[round].values.data() : nullptr, to_rank,
                                           received.data(), from_rank, sizeof(T));
    exchange.rounds.push_back({std::move(received), std::move(from_rank), std::move(transfer)});
  }
  exchanges_.push_back(std::move(exchange));
}

template <class T>
void GradientShards<T>::receive(Exchange& exchange) {
  const Range& own = slice()[exchange.bucket];
  std::vector<std::pair<Range, T*>> found;
  for (std::size_t round = 0; round < rounds_; ++round) {
    auto& [received, from_rank, transfer] = exchange.rounds[round];
    transfer->wait();
    for (std::size_t r = 0; r < ranks_->size(); ++r) {
      if (round >= nodes_[r].size()) continue;
      T* sum = r == ranks_->rank() ? sums_[round].values.data() + own.begin
                                   : received.data() + from_rank[r].begin;
      found.push_back({nodes_[r][round], sum});
    }
  }
  leave(own, sum_of({0, count_}, found, own.size()));
}

template <class T>
T* GradientShards<T>::sum_of(const Range& node, const std::vector<std::pair<Range, T*>>& found,
                             std::size_t n) const {
  for (const auto& [range, values] : found) {
    if (range == node) return values;
  }
  const std::size_t cut = cut_of(node);
  T* left = sum_of({node.begin, cut}, found, n);
  add(left, sum_of({cut, node.end}, found, n), n);
  return left;
}

template <class T>
void GradientShards<T>::leave(const Range& range, const T* values) {
  const std::vector<T*> gradients = arrived_gradients();
  row_.parallel_runs({range}, [&](std::size_t i, std::size_t first, std::size_t n, std::size_t) {
    if (!gradients[i]) return;
    std::copy_n(values + (row_.start(i) + first - range.begin), n, gradients[i] + first);
  });
}

template <class T>
std::vector<T*> GradientShards<T>::arrived_gradients() const {
  std::vector<T*> gradients;
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    gradients.push_back(arrived_[i] ? leaves_[i].make_grad().data() : nullptr);
  }
  return gradients;
}

template <class T>
double GradientShards<T>::norm() const {
  const std::vector<double> all = gather_numbers(*ranks_, sums_of_squares(*parameters_, slice()));
  if (ranks_->size() == 1) return norm_of(all);
  std::vector<double> sums(all.size());  // in the order of the row
  auto next = all.begin();
  for (const ModelPart& slice : slices_) {
    for (const Range& block : row_.blocks(slice)) sums[block.begin / kBlock] = *next++;
  }
  return norm_of(sums);
}

template <class T>
void GradientShards<T>::gather(const std::vector<T*>& tensors) const {
  Tensor<T> all = empty<T>({row_.size()});  // the slices of all ranks, one after the other
  const auto for_each_run = [&](std::size_t rank, const auto& copy) {
    T* place = all.data() + places_[rank].begin;
    for (const Range& range : slices_[rank]) {
      row_.for_each_run(range.begin, range.end, [&](auto i, auto first, auto n) {
        copy(tensors[i] == nullptr ? nullptr : tensors[i] + first, n, place);
        place += n;
      });
    }
  };
  for_each_run(ranks_->rank(), [](const T* from, std::size_t n, T* to) {
    from == nullptr ? std::fill_n(to, n, T(0)) : std::copy_n(from, n, to);
  });
  ranks_->gather(all.data(), places_, sizeof(T));
  for (std::size_t r = 0; r < ranks_->size(); ++r) {
    if (r == ranks_->rank()) continue;
    for_each_run(r, [](T* to, std::size_t n, const T* from) {
      if (to != nullptr) std::copy_n(from, n, to);
    });
  }
}

// On each rank, the state of a parameter holds only the elements in the rank's slice, from `first`
// on.
template <class T>
std::vector<Tensor<T>> GradientShards<T>::whole(std::span<const OptimizerState<T>> states,
                                                bool wanted) const {
  std::vector<Tensor<T>> tensors;
  for (; !states.empty(); states = states.subspan(leaves_.size())) {
    std::vector<T*> values;
    for (const OptimizerState<T>& own : states.first(leaves_.size())) {
      values.push_back(tensors.emplace_back(empty<T>(own.shape)).data());
      std::copy_n(own.tensor.data(), own.tensor.size(), values.back() + own.first);
    }
    if (ranks_->size() > 1) gather(values);
    if (!wanted) tensors.clear();
  }
  return tensors;
}

template <class T>
void GradientShards<T>::gather_values() const {
  if (ranks_->size() == 1) return;
  std::vector<T*> values;
  for (const Variable<T>& leaf : leaves_) values.push_back(leaf.mutable_value().data());
  gather(values);
}

#define XGRAD_INSTANTIATE(T) template class GradientShards<T>;
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
