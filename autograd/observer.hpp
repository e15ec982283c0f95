// OpObserver: called for every op that runs. Summaries and profiles are observers.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <xgrad/autograd/scoped.hpp>
#include <xgrad/autograd/tensor.hpp>

namespace xgrad {

/// A tensor as an observer sees it.
struct Operand {
  /// Identifies the tensor. In forward it is Variable::shared_value().get(), null if the input was
  /// left out. In backward it is the Tensor with the accumulated gradient, null if there is none.
  const void* value = nullptr;
  Shape shape = {};       ///< its shape; () if left out or, in backward, if no gradient is wanted
  bool gradient = false;  ///< whether its gradient is wanted
};

/// A call that ran: an op's forward, its backward, or a Region.
struct OpCall {
  /// The kinds of calls.
  enum class Kind { forward, backward, region };
  const char* name;                  ///< name of the op or region, a string literal
  Kind kind = Kind::region;          ///< kind of call
  std::size_t scalar = 0;            ///< bytes of an element
  std::vector<Operand> inputs = {};  ///< the op's inputs
  Operand result = {};               ///< the op's result
  std::uint64_t node = 0;            ///< links an op's forward and backward; 0: not recorded
  /// In forward: owns the result. No other value gets the result's address while an owner exists.
  std::shared_ptr<const void> owner = {};
};

/// Callbacks before and after each call on a thread. A region may contain other calls, and so may
/// the backward of a recompute(), because it runs a function again. Other calls contain none.
class OpObserver {
 public:
  virtual ~OpObserver() = default;
  /// Runs before a call, with its name.
  virtual void begin(const char* /*name*/) {}
  /// Runs right after a call. Measure times here: collecting the OpCall for end() takes a while.
  virtual void done() {}
  /// Runs after done(), with the call.
  virtual void end(const OpCall& call) = 0;
};

/// While a ScopedObserver lives, its observer is called for every op on this thread. Without an
/// observer, an op costs one extra null check.
class ScopedObserver : detail::Scoped<OpObserver*> {
 public:
  /// Replaces this thread's observer until destruction.
  explicit ScopedObserver(OpObserver& observer);
};

/// The observer of this thread, or null.
OpObserver* op_observer();

/// A part of a step that is not an op; the observer sees it as one call.
class Region {
 public:
  /// Begins the region. It ends when this object is destroyed. `name` is a string literal.
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
