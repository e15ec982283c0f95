// Division: how the ranks divide a step. Each computes the gradients of some shards of the batch,
// and updates a slice of the parameters.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <xgrad/autograd/parameters.hpp>
#include <xgrad/optim/optimizer.hpp>
#include <xgrad/train/ranks/ranks.hpp>

namespace xgrad {

/// The part of a rank in each step.
///
/// The gradients of the shards are added as a tree over their numbers says (shard_tree.hpp), so the
/// sum depends on the number of shards and not on the number of ranks. A shard without examples has
/// gradients of 0. The scalars of all parameters that require a gradient are numbered in one row,
/// which is cut into a slice for each rank.
template <class T>
class Division {
 public:
  /// The division of the gradients of `parameters`, which must be complete and outlive this object.
  /// Throws ConfigError if there are more ranks than shards.
  Division(const Parameters<T>& parameters, std::size_t shards, Ranks& ranks);

  /// Number of shards of a batch.
  std::size_t count() const { return count_; }
  /// The shards of this rank.
  Range shards() const { return share(count_, ranks_->rank(), ranks_->size()); }
  /// The scalars that this rank updates.
  const Range& slice() const { return slices_[ranks_->rank()]; }
  /// The processes.
  Ranks& ranks() const { return *ranks_; }

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
  /// Sends this rank's slice of tensors to the other ranks, and receives theirs. The tensors belong
  /// to the parameters that require a gradient, in their order.
  void gather(const std::vector<T*>& tensors) const;
  /// The whole tensors of a slot of an optimizer that has this rank's slice, for each parameter
  /// that requires a gradient. Ranks other than 0 get none unless `everywhere`.
  std::vector<Tensor<T>> whole(std::span<const OptimizerState<T>> slot, bool everywhere) const;
  /// gather() of the values of the parameters.
  void gather_values() const;

 private:
  // The sum over the shards of a node of the tree, in the order of the row.
  struct Sum {
    Range node;
    Tensor<T> values;
  };

  // Calls f(values, gradient) for each run of consecutive scalars of a parameter; the gradient is
  // null where there is none.
  template <class F>
  void with_gradients(T* values, const F& f) const;
  void exchange();
  // Returns the sum over the shards of `node` of this rank's slice, from the sums of smaller nodes
  // that `found` has.
  T* sum_of(const Range& node, const std::vector<std::pair<Range, T*>>& found) const;
  void leave(const T* slice);
  std::vector<bool> arrived_anywhere();

  const Parameters<T>* parameters_;
  std::size_t count_;
  Ranks* ranks_;
  std::vector<Variable<T>> leaves_;  // parameters that require a gradient
  detail::Row row_;
  std::vector<Range> slices_;  // by rank
  std::vector<Sum> sums_;      // of this rank's shards so far, in order
  std::vector<bool> arrived_;  // by leaf, whether it had a gradient in any step
  bool checked_ = false;
};

}  // namespace xgrad
