// GradientShards: how the ranks divide a step. Each rank computes the gradients of some shards of
// the batch, and updates a slice of the parameters.
#pragma once

#include <bit>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/parameters.hpp>
#include <xgrad/autograd/range.hpp>
#include <xgrad/optim/optimizers.hpp>
#include <xgrad/train/ranks/ranks.hpp>

namespace xgrad {

// A binary tree fixes the order in which gradients are added. Each node is a range of shards.

/// Returns the first shard of the right child of a node with at least two shards. The size of the
/// left child is the largest power of two below the size of the node.
///
///     5 shards:  ((0 + 1) + (2 + 3)) + 4
inline std::size_t cut_of(const Range& node) {
  return node.begin + std::bit_floor(node.size() - 1);
}

/// The largest nodes in the subtree of `node`, in order, that lie inside a range of shards. If one
/// rank has the shards of the range, the other ranks need only that rank's sums of these nodes.
inline std::vector<Range> nodes_of(const Range& range, const Range& node) {
  if (range.end <= node.begin || node.end <= range.begin) return {};
  if (range.begin <= node.begin && node.end <= range.end) return {node};
  std::vector<Range> nodes = nodes_of(range, {node.begin, cut_of(node)});
  const std::vector<Range> right = nodes_of(range, {cut_of(node), node.end});
  nodes.insert(nodes.end(), right.begin(), right.end());
  return nodes;
}

/// Whether the tree over shards 0 ... count - 1 has this node.
inline bool is_node(const Range& range, std::size_t count) {
  return nodes_of(range, {0, count}).size() == 1;
}

/// The work of one rank in each step. The gradients of the shards are added in the order of the
/// tree above. So the sum depends on the number of shards, but not on the number of ranks. A shard
/// without examples has gradients of 0.
///
/// The scalars of all parameters that require a gradient form one long row, which is divided into
/// buckets. A bucket is sent when all its gradients are complete. Every rank updates its slice of
/// the row. A slice consists of a part of each bucket, so that all ranks receive about the same
/// amount of data at any time.
template <class T>
class GradientShards {
 public:
  /// Divides the gradients of `parameters`, which must outlive this object and get no more members.
  /// Throws ConfigError if there are more ranks than shards.
  GradientShards(const Parameters<T>& parameters, std::size_t shards, Ranks& ranks);
  GradientShards(const GradientShards&) = delete;
  GradientShards& operator=(const GradientShards&) = delete;

  /// Number of shards of a batch.
  std::size_t count() const { return count_; }
  /// The shards of this rank.
  Range shards() const { return share(count_, ranks_->rank(), ranks_->size()); }
  /// The ranges of the scalars that this rank updates; an empty list means all scalars.
  const ModelPart& slice() const { return slices_[ranks_->rank()]; }
  /// The processes.
  Ranks& ranks() const { return *ranks_; }

  /// From now on, sends complete buckets while backward() computes the other gradients on this
  /// thread. Call it for the last shard of this rank, before the last backward() of the shard.
  void send_early();
  /// Moves the gradients from the parameters to this object, as the gradients of this rank's next
  /// shard. If the batch has one shard only, leaves the gradients in the parameters.
  void take();
  /// Adds up the gradients of all shards. Afterwards, the gradients of the parameters hold the sums
  /// in this rank's slice; outside of the slice, they have no meaning.
  void add_up();
  /// The norm of the summed gradients, as global_norm() computes it.
  double norm() const;

  /// Number of parameters that require a gradient.
  std::size_t tensors() const { return leaves_.size(); }
  /// Completes the tensors of `states`, because each rank has only its slice of them. `states` are
  /// tensors of an optimizer: for each slot, such as exp_avg, one tensor for each parameter that
  /// requires a gradient. Returns an empty list on ranks where `wanted` is false.
  std::vector<Tensor<T>> whole(std::span<const OptimizerState<T>> states, bool wanted) const;
  /// Completes the values of the parameters: each rank sends its slice to the others.
  void gather_values() const;
  /// Completes the gradients that add_up() left: each rank sends its slice to the others.
  void gather_gradients() const {
    if (ranks_->size() > 1) gather(arrived_gradients());
  }

 private:
  // The gradients of the whole row, summed over the shards of a node of the tree.
  struct Sum {
    Range node;
    Tensor<T> values;
  };
  // In round k, each rank that has a k-th node sends the sum of this node to all others. The sum of
  // rank r is in the range from_rank[r] of `received`; the range is empty if rank r sends nothing.
  struct Round {
    Tensor<T> received;
    std::vector<Range> from_rank;
    std::unique_ptr<Transfer> transfer;
  };
  // The exchange of a bucket: this rank receives the sums for its own part of the bucket.
  struct Exchange {
    std::size_t bucket;
    std::vector<Round> rounds;
  };

  // Finds the Sum that the next shard continues, or begins a new Sum.
  void open();
  void add_gradients(const Range& range);
  // Whether the shards from the first shard of a sum to the shard being taken form a node.
  bool joins(const Sum& sum) const { return is_node({sum.node.begin, shard_ + 1}, count_); }
  void on_gradient(const Node<T>& leaf);
  void send();
  void receive(Exchange& exchange);
  // Returns the sum of a node, n scalars, computed from the sums of smaller nodes in `found`.
  T* sum_of(const Range& node, const std::vector<std::pair<Range, T*>>& found, std::size_t n) const;
  // Makes `values` the gradients of a range of the row.
  void leave(const Range& range, const T* values);
  // The gradient that add_up() leaves for each leaf; null for a leaf that never had a gradient.
  std::vector<T*> arrived_gradients() const;
  // Fills `tensors`, one per leaf, with the slices of the other ranks; skips null.
  void gather(const std::vector<T*>& tensors) const;

  const Parameters<T>* parameters_;
  std::size_t count_;
  Ranks* ranks_;
  std::vector<Variable<T>> leaves_;  // parameters that require a gradient
  detail::FlatParameters row_;
  std::vector<Range> buckets_;                   // of the row, in order
  std::vector<ModelPart> slices_;                // by rank, with a range for each bucket
  std::vector<Range> places_;                    // by rank, its slice in the buffer of gather()
  std::vector<std::vector<Range>> nodes_;        // by rank, the largest nodes of its shards
  std::size_t rounds_ = 0;                       // largest number of nodes of a rank
  std::map<const Node<T>*, std::size_t> index_;  // of leaves
  std::vector<Sum> sums_;                        // of this rank's shards so far, in order
  std::size_t shard_ = 0;                        // the shard that is being taken
  bool begins_ = false;                          // whether the shard being taken begins a sum
  std::optional<OnGradient<T>> sender_;          // while gradients are sent early
  std::vector<std::size_t> missing_;             // by bucket, leaves without a complete gradient
  std::size_t unsent_ = 0;                       // number of unsent buckets; the last goes first
  std::vector<Exchange> exchanges_;
  std::vector<bool> arrived_;  // by leaf, whether it had a gradient in any step
  bool checked_ = false;
};

}  // namespace xgrad
