// Counts of n-grams, and the two rules that use these counts: a language model and naive Bayes.
#pragma once

#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <xgrad/data/index.hpp>
#include <xgrad/data/task.hpp>

namespace xgrad {

/// Limits at which counting n-grams stops.
struct GramLimits {
  /// The largest number of occurrences of n-grams to count. If examples have several binary
  /// answers, an occurrence counts once for each answer.
  std::size_t counted = std::size_t(1) << 24;
  /// The largest number of distinct n-grams, and the largest number of distinct (n-gram, class) or
  /// (n-gram, token) pairs. With the default, n-grams and pairs together take about 200 MB.
  std::size_t different = std::size_t(1) << 22;
};

/// Gives ids to n-grams, and counts how often each occurs with a class or the token after it.
class GramCounts {
 public:
  /// How often an n-gram was counted with a class or token.
  struct Count {
    std::uint32_t with = 0;   ///< the class or token
    std::uint32_t count = 0;  ///< occurrences
  };
  /// This id means "no n-gram"; no n-gram has it.
  static constexpr std::uint32_t kNone = Index<std::uint64_t>::kNone;

  /// The limits are for is_room() and is_room_for_another(); add() and count() do not check them.
  explicit GramCounts(GramLimits limits) : limits_(limits) {}

  /// Returns the id of the n-gram that extends the n-gram with the id `gram` by one token; kNone if
  /// the longer n-gram is unknown. For an n-gram of one token, `gram` is kNone.
  std::uint32_t find(std::uint32_t gram, std::int32_t token) const {
    return grams_.find(key(gram, std::uint32_t(token)));
  }
  /// find(), but adds the n-gram if it is new.
  std::uint32_t add(std::uint32_t gram, std::int32_t token) {
    return grams_.add(key(gram, std::uint32_t(token)));
  }
  /// The number of n-grams.
  std::size_t size() const { return grams_.size(); }

  /// Whether the limits allow another count() of a known n-gram.
  bool is_room() const { return counted_ < limits_.counted && pairs_.size() < limits_.different; }
  /// Whether the limits also allow add() for a new n-gram.
  bool is_room_for_another() const { return is_room() && grams_.size() < limits_.different; }
  /// Counts an n-gram with a class or token.
  void count(std::uint32_t gram, std::uint32_t with) {
    const std::uint32_t pair = pairs_.add(key(gram, with));
    if (pair == numbers_.size()) numbers_.push_back(0);
    ++numbers_[pair];
    ++counted_;
  }
  /// Ends the counting: groups the counts by n-gram with a counting sort. Call it before of().
  void finish() {
    begins_.assign(grams_.size() + 1, 0);
    for (std::size_t i = 0; i < pairs_.size(); ++i) ++begins_[pairs_.key(i) >> 32];
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
    counts_.resize(pairs_.size());
    for (std::size_t i = pairs_.size(); i-- > 0;) {  // turns the end of each group into its begin
      const std::uint64_t pair = pairs_.key(i);
      counts_[--begins_[pair >> 32]] = {std::uint32_t(pair), numbers_[i]};
    }
    pairs_ = {};
    numbers_ = {};
  }
  /// The counts of an n-gram: one for each class or token that it was counted with.
  std::span<const Count> of(std::uint32_t gram) const {
    return {counts_.data() + begins_[gram], counts_.data() + begins_[gram + 1]};
  }

 private:
  static std::uint64_t key(std::uint32_t first, std::uint32_t second) {
    return std::uint64_t(first) << 32 | second;
  }

  GramLimits limits_;
  std::size_t counted_ = 0;
  // Trie: the key of an n-gram is its last token and the id of the n-gram without this token.
  Index<std::uint64_t> grams_;
  Index<std::uint64_t> pairs_ = {};          // an n-gram, and a class or token counted with it
  std::vector<std::uint32_t> numbers_ = {};  // counts by pair
  std::vector<std::uint32_t> begins_ = {};   // (grams + 1): where the counts of each n-gram begin
  std::vector<Count> counts_ = {};
};

/// The name of a rule. If the rule counted only `counted` of the `rows` rows, the name says so.
inline std::string name_with_rows(const std::string& name, std::size_t counted, std::size_t rows) {
  if (counted == rows) return name;
  return name + ", counted in " + std::to_string(counted) + " of " + std::to_string(rows) + " rows";
}

/// Probabilities of the next token, from counts of n-grams, interpolated as in method C of Witten
/// and Bell (1991). With the context h of the last k tokens and h' of the last k - 1,
///
///     P(w | h) = (c(h w) + d(h) P(w | h')) / (c(h) + d(h))
///
/// where c(h w) is how often w follows h, c(h) = sum_w c(h w), and d(h) is the number of different
/// tokens that follow h. If a context h was not seen in training, P(w | h) = P(w | h'). For the
/// empty context, P(w | h') is the same for all tokens. Contexts do not cross examples, so they are
/// shorter at the beginning of an example.
class NGram {
 public:
  /// Counts n-grams of 1 to `longest` tokens (contexts of up to longest - 1) in the training
  /// examples, taken in random order, until a limit is reached. Requires: the target of a token is
  /// the next token.
  NGram(const Dataset& train, std::size_t classes, std::size_t longest, GramLimits limits = {});

  /// The number of training examples whose n-grams were all counted.
  std::size_t rows() const { return rows_; }

  /// Calls see(n, P) for n = 1 ... longest, where P[w] is the probability that w follows the token
  /// at `place`, computed from n-grams of 1 to n tokens.
  template <class See>
  void for_each_order(const Example& example, std::size_t place, const See& see) const {
    std::vector<double> p(classes_, 1 / double(classes_));
    std::uint32_t context = kEmpty;
    for (std::size_t n = 1; n <= longest_; ++n) {
      if (context != GramCounts::kNone) interpolate(context, p);
      see(n, p);
      if (n > place + 1) context = GramCounts::kNone;
      if (context != GramCounts::kNone) {
        context = contexts_.find(context, example.ids[place + 1 - n]);
      }
    }
  }

 private:
  static constexpr std::uint32_t kEmpty = 0;  // id of the empty context

  void interpolate(std::uint32_t context, std::vector<double>& p) const;

  std::size_t classes_, longest_, rows_ = 0;
  // The contexts and the tokens that follow each.
  GramCounts contexts_;
};

/// The loss of a rule in nats and in bits, as ", loss 1.4523 (2.0953 bits)"; empty if it has none.
std::string loss_text(const Rule& rule);

/// Measures NGram on the test split, with n-grams of 1 to n tokens. Chooses the n up to `longest`
/// that has the lowest loss on the validation split. Rule::accuracy is the share of targets for
/// which the likeliest token is right. The name of the rule gives n and, if `limits` stopped the
/// counting, the number of counted rows. Requires: TaskShape::next of the task is not none.
Rule ngram_rule(const Task& task, std::size_t longest,
                GramLimits limits = {.counted = std::size_t(1) << 27});

/// A multinomial naive Bayes classifier over n-grams (Manning, Raghavan & Schütze 2008, chapter
/// 13):
///
///     log P(class | x)  =  log P(class)  +  sum over n-grams g of x  of  log P(g | class)  + const
///     P(g | class)      =  (count of g in the class + a) / (n-grams of the class + a V)
///
/// where a is the smoothing and V the number of different n-grams in the training split. n-grams
/// unseen in training are ignored. Each binary answer is predicted on its own, as one of two
/// classes.
class NaiveBayes {
 public:
  /// Counts the n-grams of 1 to `longest` tokens in the training examples, taken in random order,
  /// until a limit is reached. Calls `tell` before each example. Requires: token inputs, and a
  /// class or binary answers for each sequence.
  NaiveBayes(
      const Dataset& train, const TaskShape& shape, std::size_t longest, GramLimits limits = {},
      const std::function<void()>& tell = [] {});

  /// The number of training examples whose n-grams were all counted.
  std::size_t rows() const { return rows_; }

  /// Returns the most likely class, or each answer as 0 or 1. Ties go to the smallest class, or to
  /// 0. Requires: smoothing > 0.
  std::vector<std::int32_t> guess(const Example& example, double smoothing) const;

 private:
  std::size_t longest_, choices_;  // choices: number of classes; 2 for binary answers
  bool answers_;
  std::size_t rows_ = 0;
  // Counts of n-grams by slot. A slot is a class. With binary answers, a slot is the value of an
  // answer: slot 2k is "no" to answer k, slot 2k + 1 is "yes".
  GramCounts grams_;
  std::vector<double> totals_, examples_;  // n-grams per slot, and training examples per slot
};

/// Measures NaiveBayes on n-grams of 1 to `longest` tokens. Chooses the smoothing among 1, 0.1,
/// 0.01 and 0.001 by accuracy on the validation split; ties go to the largest. If `limits` stop the
/// counting, the name of the rule says how many rows were counted. Reports each row to
/// WatchProgress. Requires: one class, or binary answers, for each sequence.
Rule naive_bayes(const Task& task, std::size_t longest, GramLimits limits = {});

}  // namespace xgrad
