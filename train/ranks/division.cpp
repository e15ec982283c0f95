#include <xgrad/train/ranks/division.hpp>

#include <algorithm>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/autograd/scalar.hpp>
#include <xgrad/optim/clip.hpp>
#include <xgrad/train/ranks/shard_tree.hpp>

namespace xgrad {

namespace {

constexpr std::size_t kBlock = detail::Row::kBlock;

template <class T>
void add(T* to, const T* from, std::size_t n) {
  parallel_for(n, kBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) to[i] += from[i];
  });
}

// Slices of whole blocks, so that the norm adds the same sums of blocks for any number of ranks.
std::vector<Range> slices_of(std::size_t scalars, std::size_t ranks) {
  if (ranks == 1) return {kAllScalars};
  std::vector<Range> slices;
  for (std::size_t r = 0; r < ranks; ++r) {
    const Range blocks = share((scalars + kBlock - 1) / kBlock, r, ranks);
    slices.push_back(
        {std::min(blocks.begin * kBlock, scalars), std::min(blocks.end * kBlock, scalars)});
  }
  return slices;
}

}  // namespace

template <class T>
Division<T>::Division(const Parameters<T>& parameters, std::size_t shards, Ranks& ranks)
    : parameters_(&parameters), count_(shards), ranks_(&ranks) {
  check<ConfigError>(ranks.size() <= shards, "train.shards: is ", shards, ", but there are ",
                     ranks.size(), " processes; set train.shards=", ranks.size(), " or more");
  for (const Parameter<T>& p : parameters) {
    if (!p.variable.requires_grad()) continue;
    leaves_.push_back(p.variable);
    row_.append(p.variable.value().size());
  }
  slices_ = slices_of(row_.size(), ranks.size());
  arrived_.resize(leaves_.size());
}

template <class T>
template <class F>
void Division<T>::with_gradients(T* values, const F& f) const {
  std::vector<const T*> gradients;
  for (const Variable<T>& leaf : leaves_) {
    gradients.push_back(leaf.has_grad() ? leaf.grad().data() : nullptr);
  }
  row_.parallel_runs(kAllScalars,
                     [&](std::size_t i, std::size_t first, std::size_t n, std::size_t at) {
                       for (std::size_t e = 0; e < n; ++e) {
                         f(values[at + e], gradients[i] ? gradients[i][first + e] : T(0));
                       }
                     });
}

template <class T>
void Division<T>::take() {
  if (count_ == 1) return;
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    if (leaves_[i].has_grad()) arrived_[i] = true;
  }
  const std::size_t shard = sums_.empty() ? shards().begin : sums_.back().node.end;
  const auto joins = [&](const Sum& sum, std::size_t end) {
    return is_node({sum.node.begin, end}, count_);
  };
  if (!sums_.empty() && joins(sums_.back(), shard + 1)) {
    with_gradients(sums_.back().values.data(), [](T& sum, T gradient) { sum += gradient; });
    sums_.back().node.end = shard + 1;
  } else {
    sums_.push_back({{shard, shard + 1}, empty<T>({row_.size()})});
    with_gradients(sums_.back().values.data(), [](T& sum, T gradient) { sum = gradient; });
  }
  parameters_->zero_grad();
  while (sums_.size() > 1 && joins(sums_[sums_.size() - 2], shard + 1)) {
    Sum& left = sums_[sums_.size() - 2];
    add(left.values.data(), sums_.back().values.data(), row_.size());
    left.node.end = shard + 1;
    sums_.pop_back();
  }
}

template <class T>
void Division<T>::add_up() {
  if (count_ == 1) return;
  if (ranks_->size() == 1) {
    leave(sums_.front().values.data());
  } else {
    exchange();
  }
  sums_.clear();
}

// Each rank sends the sums of its largest nodes, slice by slice, to the ranks that own the slices.
template <class T>
void Division<T>::exchange() {
  std::vector<std::vector<Range>> nodes;  // by rank
  std::size_t rounds = 0;
  for (std::size_t r = 0; r < ranks_->size(); ++r) {
    nodes.push_back(nodes_of(share(count_, r, ranks_->size()), count_));
    rounds = std::max(rounds, nodes.back().size());
  }
  const std::size_t self = ranks_->rank();
  std::vector<std::pair<Range, T*>> found;
  std::vector<Tensor<T>> received(rounds);
  for (std::size_t round = 0; round < rounds; ++round) {
    std::vector<Range> to_rank(ranks_->size()), from_rank(ranks_->size());
    const bool sends = round < nodes[self].size();
    std::size_t end = 0;
    for (std::size_t r = 0; r < ranks_->size(); ++r) {
      if (r == self) continue;
      if (sends) to_rank[r] = slices_[r];
      if (round >= nodes[r].size()) continue;
      from_rank[r] = {end, end + slice().size()};
      end += slice().size();
    }
    received[round] = empty<T>({end});
    T* values = sends ? sums_[round].values.data() : nullptr;
    ranks_->exchange(values, to_rank, received[round].data(), from_rank, sizeof(T));
    for (std::size_t r = 0; r < ranks_->size(); ++r) {
      if (round >= nodes[r].size()) continue;
      found.push_back({nodes[r][round], r == self ? values + slice().begin
                                                  : received[round].data() + from_rank[r].begin});
    }
  }
  leave(sum_of({0, count_}, found));
}

template <class T>
T* Division<T>::sum_of(const Range& node, const std::vector<std::pair<Range, T*>>& found) const {
  for (const auto& [range, values] : found) {
    if (range == node) return values;
  }
  const std::size_t cut = cut_of(node);
  T* left = sum_of({node.begin, cut}, found);
  add(left, sum_of({cut, node.end}, found), slice().size());
  return left;
}

// A parameter that has no gradient on any rank keeps none, so that the optimizer reports it.
template <class T>
void Division<T>::leave(const T* slice) {
  if (!checked_) arrived_ = arrived_anywhere();
  checked_ = true;
  std::vector<T*> gradients;
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    gradients.push_back(arrived_[i] ? leaves_[i].make_grad().data() : nullptr);
  }
  row_.parallel_runs(this->slice(),
                     [&](std::size_t i, std::size_t first, std::size_t n, std::size_t at) {
                       if (gradients[i]) std::copy_n(slice + at, n, gradients[i] + first);
                     });
}

template <class T>
std::vector<bool> Division<T>::arrived_anywhere() {
  std::vector<bool> anywhere(leaves_.size());
  for (const std::string& text :
       gather_texts(*ranks_, std::string(arrived_.begin(), arrived_.end()))) {
    for (std::size_t i = 0; i < text.size(); ++i) anywhere[i] = anywhere[i] || text[i];
  }
  return anywhere;
}

template <class T>
double Division<T>::norm() const {
  return norm_of(gather_numbers(*ranks_, sums_of_squares(*parameters_, slice())));
}

template <class T>
void Division<T>::gather(const std::vector<T*>& tensors) const {
  if (ranks_->size() == 1) return;
  Tensor<T> all = empty<T>({row_.size()});
  const auto copy = [&](const Range& part, bool into_tensors) {
    T* at = all.data() + part.begin;
    row_.for_each_run(part.begin, part.end, [&](std::size_t i, std::size_t first, std::size_t n) {
      T* own = tensors[i] + first;
      into_tensors ? std::copy_n(at, n, own) : std::copy_n(own, n, at);
      at += n;
    });
  };
  copy(slice(), false);
  ranks_->gather(all.data(), slices_, sizeof(T));
  for (std::size_t r = 0; r < ranks_->size(); ++r) {
    if (r != ranks_->rank()) copy(slices_[r], true);
  }
}

template <class T>
std::vector<Tensor<T>> Division<T>::whole(std::span<const OptimizerState<T>> slot,
                                          bool everywhere) const {
  const bool receives = everywhere || ranks_->rank() == 0;
  const Range& part = slice();
  Tensor<T> own = empty<T>({part.size()}), all = empty<T>({receives ? row_.size() : 0});
  T* at = own.data();
  row_.for_each_run(part.begin, part.end, [&](std::size_t i, std::size_t first, std::size_t n) {
    at = std::copy_n(slot[i].tensor.data() + (first - slot[i].first), n, at);
  });
  if (receives) std::copy_n(own.data(), own.size(), all.data() + part.begin);
  if (everywhere) {
    ranks_->gather(all.data(), slices_, sizeof(T));
  } else {
    std::vector<Range> to_rank(ranks_->size()), from_rank(ranks_->size());
    if (receives) {
      from_rank = slices_;
      from_rank[0] = {};
    } else {
      to_rank[0] = {0, part.size()};
    }
    ranks_->exchange(own.data(), to_rank, all.data(), from_rank, sizeof(T));
  }
  std::vector<Tensor<T>> tensors;
  if (!receives) return tensors;
  for (const OptimizerState<T>& state : slot) tensors.push_back(empty<T>(state.shape));
  const T* from = all.data();
  row_.for_each_run(0, row_.size(), [&](std::size_t i, std::size_t, std::size_t n) {
    std::copy_n(from, n, tensors[i].data());
    from += n;
  });
  return tensors;
}

template <class T>
void Division<T>::gather_values() const {
  if (ranks_->size() == 1) return;
  std::vector<T*> values;
  for (const Variable<T>& leaf : leaves_) values.push_back(leaf.mutable_value().data());
  gather(values);
}

#define XGRAD_INSTANTIATE(T) template class Division<T>;
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
