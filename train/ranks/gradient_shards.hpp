// GradientShards: how the ranks divide a step. Each computes the gradients of some shards of the
// batch, and updates a slice of the parameters.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/parameters.hpp>
#include <xgrad/optim/optimizers.hpp>
#include <xgrad/train/ranks/ranks.hpp>

namespace xgrad {

/// The part of a rank in each step.
///
/// The gradients of the shards are added as a tree over their numbers says (shard_tree.hpp), so the
/// sum depends on the number of shards and not on the number of ranks. A shard without examples has
/// gradients of 0.
///
/// The scalars of all parameters that require a gradient are numbered in one row. It is cut into
/// buckets, each of which is sent once its gradients are complete. Every rank updates a slice of
/// the row, with a part in each bucket, so that all of them receive equally much at any time.
template <class T>
class GradientShards {
 public:
  /// The shards of the gradients of `parameters`, which must be complete and outlive this object.
  /// Throws ConfigError if there are more ranks than shards.
  GradientShards(const Parameters<T>& parameters, std::size_t shards, Ranks& ranks);
  GradientShards(const GradientShards&) = delete;
  GradientShards& operator=(const GradientShards&) = delete;

  /// Number of shards of a batch.
  std::size_t count() const { return count_; }
  /// The shards of this rank.
  Range shards() const { return share(count_, ranks_->rank(), ranks_->size()); }
  /// The scalars that this rank updates; without ranges, all of them.
  const ModelPart& slice() const { return slices_[ranks_->rank()]; }
  /// The processes.
  Ranks& ranks() const { return *ranks_; }

  /// Sends gradients from now on while the backward() on this thread computes others. Call it for
  /// the last shard of this rank, before the last backward() of the shard.
  void send_early();
  /// Takes the gradients of the parameters as those of a shard, and clears them. Called for the
  /// shards of this rank in order. With a single shard, the gradients stay where they are.
  void take();
  /// Adds up the gradients of all shards, and leaves the sums of this rank's slice in the gradients
  /// of the parameters; other elements of the gradients have no meaning.
  void add_up();
  /// The norm of the summed gradients, as global_norm() computes it.
  double norm() const;

  /// Number of parameters that require a gradient.
  std::size_t tensors() const { return leaves_.size(); }
  /// The whole tensors of a slot of an optimizer that has this rank's slice, for each parameter
  /// that requires a gradient. Ranks other than 0 get none unless `everywhere`.
  std::vector<Tensor<T>> whole(std::span<const OptimizerState<T>> slot, bool everywhere) const;
  /// Completes the values of the parameters: sends this rank's slice to the other ranks, and
  /// receives theirs.
  void gather_values() const;
  /// Completes the gradients that add_up() left, in the same way.
  void gather_gradients() const {
    if (ranks_->size() > 1) gather(arrived_gradients());
  }

 private:
  // The sum over the shards of a node of the tree, in the order of the row.
  struct Sum {
    Range node;
    Tensor<T> values;
  };
  // A bucket on its way: sums that this rank receives for its part of it, in rounds.
  struct Exchange {
    std::size_t bucket;
    std::vector<Tensor<T>> received;
    std::vector<std::unique_ptr<Transfer>> transfers;
  };

  // A shard is taken in three steps: finds the sum that it begins or continues, adds the gradients
  // in ranges of the row, and merges nodes that are complete.
  void open();
  void add_gradients(const Range& range);
  // Whether the node of a sum continues to the shard that is being taken.
  bool joins(const Sum& sum) const;
  void on_gradient(const Node<T>& leaf);
  void send();
  // The ranges of the buffer in which rounds[r] ranks send this rank its part of a bucket.
  std::vector<Range> arrivals(std::size_t bucket, std::size_t round) const;
  void receive(Exchange& exchange);
  // Returns the sum of a node over n scalars, from the sums of smaller nodes that `found` has.
  T* sum_of(const Range& node, const std::vector<std::pair<Range, T*>>& found, std::size_t n) const;
  // Makes `values` the gradients of a range of the row.
  void leave(const Range& range, const T* values);
  // The gradients that add_up() leaves, of each parameter; null where there is none.
  std::vector<T*> arrived_gradients() const;
  // Sends this rank's slice of tensors to the other ranks, and receives theirs. The tensors belong
  // to the parameters that require a gradient, in their order; null where there is none.
  void gather(const std::vector<T*>& tensors) const;
  // Copies the slices of all ranks but one, which lie one after the other, into tensors.
  void take_slices(const Tensor<T>& all, const std::vector<T*>& tensors, std::size_t but) const;
  // Calls f(i, first, n, place) for each run of n elements of tensor i in the slice of a rank;
  // `place` is its own among the slices of all ranks, one after the other.
  template <class F>
  void for_each_run(std::size_t rank, const F& f) const;

  const Parameters<T>* parameters_;
  std::size_t count_;
  Ranks* ranks_;
  std::vector<Variable<T>> leaves_;  // parameters that require a gradient
  detail::FlatParameters row_;
  std::vector<Range> buckets_;                   // of the row, in order
  std::vector<ModelPart> slices_;                // by rank, with a range for each bucket
  std::vector<Range> places_;                    // by rank, of slices that lie one after the other
  std::vector<std::vector<Range>> nodes_;        // by rank, the largest nodes of its shards
  std::size_t rounds_ = 0;                       // most nodes of a rank
  std::map<const Node<T>*, std::size_t> index_;  // of leaves
  std::vector<Sum> sums_;                        // of this rank's shards so far, in order
  std::size_t shard_ = 0;                        // the one that is being taken
  bool begins_ = false;                          // whether the shard being taken begins a sum
  std::optional<OnGradient<T>> sender_;          // while gradients are sent early
  std::vector<std::size_t> missing_;             // by bucket, leaves without a complete gradient
  std::size_t unsent_ = 0;                       // buckets; the last ones are sent first
  std::vector<Exchange> exchanges_;
  std::vector<bool> arrived_;  // by leaf, whether it had a gradient in any step
  bool checked_ = false;
};

}  // namespace xgrad
