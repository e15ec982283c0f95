// Ranks: the processes that train one model together.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <xgrad/autograd/range.hpp>
#include <xgrad/train/metrics/metrics.hpp>

namespace xgrad {

/// A transfer of data between ranks; this base class transfers nothing. The destructor never waits.
class Transfer {
 public:
  virtual ~Transfer() = default;
  /// Waits until this rank has sent and received all data of the transfer.
  virtual void wait() {}
};

/// One process among several that run the same steps. In this base class, it is the only process.
/// All ranks call the functions that are not const in the same order. These functions throw Error
/// if the processes cannot reach each other.
class Ranks {
 public:
  virtual ~Ranks() = default;

  /// Number of this process, below size(). Rank 0 writes the files and the console.
  virtual std::size_t rank() const { return 0; }
  /// Number of processes.
  virtual std::size_t size() const { return 1; }

  /// Begins to send the range to_rank[r] of the first buffer to each rank r, and to receive the
  /// range from_rank[r] of the second buffer from each rank r. Ranges count elements of `width`
  /// bytes. For this rank, both ranges are empty. Until Transfer::wait() returns, both buffers must
  /// live, and the first buffer must not change.
  virtual std::unique_ptr<Transfer> begin_exchange(const void*,
                                                   const std::vector<Range>& /*to_rank*/, void*,
                                                   const std::vector<Range>& /*from_rank*/,
                                                   std::size_t /*width*/) {
    return std::make_unique<Transfer>();
  }
  /// Advances the running transfers. Any rank may call it at any time, while other work runs.
  virtual void progress() {}
  /// of_rank[r] is the part of `all` that rank r has before the call. Afterwards every rank has all
  /// parts. Ranges count elements of `width` bytes.
  virtual void gather(void* /*all*/, const std::vector<Range>& /*of_rank*/, std::size_t /*width*/) {
  }

  /// From now on, ends all processes with a message if another rank does not answer for `timeout`
  /// seconds, because that rank or its machine has stopped.
  virtual void watch(double /*timeout*/) {}
};

/// The Ranks of a single process.
Ranks& alone();

/// The processes that train together with this one: alone() unless set_ranks() says otherwise.
Ranks& ranks();
/// Sets ranks(); null sets it to alone(). Requires: the object outlives all uses.
void set_ranks(Ranks* ranks);

/// Returns every rank's `own`, in the order of the ranks. All ranks get the same result.
template <class T>
std::vector<T> gather_all(Ranks& ranks, const T& own) {
  static_assert(std::is_trivially_copyable_v<T> && !std::is_same_v<T, bool>);
  if (ranks.size() == 1) return {own};
  std::vector<T> all(ranks.size(), own);
  std::vector<Range> of_rank;
  for (std::size_t r = 0; r < ranks.size(); ++r) of_rank.push_back({r, r + 1});
  ranks.gather(all.data(), of_rank, sizeof(T));
  return all;
}

/// Every rank's text, in the order of the ranks.
std::vector<std::string> gather_texts(Ranks& ranks, const std::string& own);

/// Every rank's numbers, one list after the other in the order of the ranks.
std::vector<double> gather_numbers(Ranks& ranks, const std::vector<double>& own);

/// Adds up the sums (such as Metrics) of all shards, in the order of the shards. `own` are the sums
/// of this rank's shards, in order.
template <class Sums>
Sums add_up(Ranks& ranks, const std::vector<Sums>& own) {
  std::vector<double> numbers;
  for (const Sums& part : own) {
    const std::vector<double> more = to_numbers(part);
    numbers.insert(numbers.end(), more.begin(), more.end());
  }
  numbers = gather_numbers(ranks, numbers);
  Sums sum;
  for (std::size_t at = 0; at < numbers.size();) sum.add(from_numbers<Sums>(numbers, at));
  return sum;
}

/// Calls work() on every rank. If work() throws on any rank, throws on all ranks: the exception of
/// work() on this rank, or else an Error that names the first rank that threw.
void together(Ranks& ranks, const std::function<void()>& work);

/// Whether `here` is true on any rank.
bool any(Ranks& ranks, bool here);

/// The first text that is not empty, in the order of the ranks; empty if all are.
std::string first_text(Ranks& ranks, const std::string& own);

}  // namespace xgrad
