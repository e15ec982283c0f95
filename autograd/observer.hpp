// OpObserver: who is told of every op that runs, for summaries and profiles.
#pragma once

#include <cstdint>
#include <vector>

#include <xgrad/autograd/tensor.hpp>

namespace xgrad {

/// A tensor as an observer sees it.
struct Operand {
  const void* value = nullptr;  ///< which one: Variable::shared_value().get(); null: left out. Of
                                ///< backward, where a gradient has come to: the Tensor that sums it
  Shape shape = {};             ///< (...) of the tensor
  bool gradient = false;        ///< whether its gradient is wanted
};

/// One thing that ran: an op, its derivative, or a named part of a step that is no op.
struct OpCall {
  /// What a call was.
  enum class Kind { forward, backward, region };
  const char* name;                  ///< a string literal
  Kind kind = Kind::region;          ///< which of them
  std::size_t scalar = 0;            ///< bytes of an element
  std::vector<Operand> inputs = {};  ///< what it read; of backward, where gradients have come to
  Operand result = {};               ///< what it gave; of backward, the gradient that it got
  std::uint64_t node = 0;            ///< what backward knows a forward by; 0: nothing was recorded
};

/// Told before and after each call on its thread. Calls do not overlap, except that regions may
/// hold others.
class OpObserver {
 public:
  virtual ~OpObserver() = default;
  /// Before a call, with its name.
  virtual void begin(const char* /*name*/) {}
  /// Right after it, before what it was is put together for end(), which takes a while.
  virtual void done() {}
  /// After it.
  virtual void end(const OpCall& call) = 0;
};

/// While one lives, the observer is told of what runs on this thread; without one, an op pays for
/// one test of a pointer.
class Observing {
 public:
  /// From now on, to the end of the block.
  explicit Observing(OpObserver& observer);
  ~Observing();
  Observing(const Observing&) = delete;
  Observing& operator=(const Observing&) = delete;

 private:
  OpObserver* before_;
};

/// The observer of this thread, or null.
OpObserver* op_observer();

/// A part of a step that is no op, from here to the end of the block. The name is a literal.
class Region {
 public:
  /// From now on, to the end of the block; `name` is a literal.
  explicit Region(const char* name) : name_(name), observer_(op_observer()) {
    if (observer_) observer_->begin(name_);
  }
  ~Region() {
    if (!observer_) return;
    observer_->done();
    observer_->end({name_});
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

 private:
  const char* name_;
  OpObserver* observer_;
};

}  // namespace xgrad
