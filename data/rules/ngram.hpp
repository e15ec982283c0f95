// NGram: a language model that counts, and the baseline of those that are trained.
#pragma once

#include <cstdint>
#include <vector>

#include <xgrad/data/rules/gram_counts.hpp>
#include <xgrad/data/task.hpp>

namespace xgrad {

/// Probabilities of the token that follows, from counts of n-grams, interpolated as in method C of
/// Witten and Bell (1991). With the context h of the last k tokens and h' of the last k - 1,
///
///     P(w | h) = (c(h w) + d(h) P(w | h')) / (c(h) + d(h))
///
/// where c(h w) is how often w follows h, c(h) = sum_w c(h w), and d(h) is the number of different
/// tokens that follow h. A context that was not seen adds nothing: P(w | h) = P(w | h'). Below the
/// empty context all tokens have the same probability. Contexts do not cross examples, so at the
/// beginning of one they are shorter.
class NGram {
 public:
  /// Counts n-grams of 1 to `longest` tokens (contexts of up to longest - 1) in the training
  /// examples, taken in random order, until a limit is reached. Requires: the targets are the
  /// tokens that follow.
  NGram(const Dataset& train, std::size_t classes, std::size_t longest, GramLimits limits = {});

  /// The number of training examples whose n-grams were all counted.
  std::size_t rows() const { return rows_; }

  /// Calls see(n, P) for n = 1 ... longest, where P[w] is the probability that w follows the token
  /// at `place` by n-grams of 1 to n tokens.
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
  static constexpr std::uint32_t kEmpty = 0;  // number of the empty context

  void interpolate(std::uint32_t context, std::vector<double>& p) const;

  std::size_t classes_, longest_, rows_ = 0;
  // Contexts, without their first tokens shorter ones, and the tokens that follow each.
  GramCounts contexts_;
};

/// The loss of a rule in nats and in bits, as ", loss 1.4523 (2.0953 bits)"; empty if it has none.
std::string loss_text(const Rule& rule);

/// Measures NGram on the test split, with n-grams of 1 to n tokens for the n up to `longest` that
/// has the lowest loss on the validation split. Its accuracy is that of the likeliest token. The
/// name of the rule says n, and in how many rows it counted if `limits` stopped the counting.
/// Requires: a task whose TaskShape::next is not none.
Rule ngram_rule(const Task& task, std::size_t longest,
                GramLimits limits = {.counted = std::size_t(1) << 27});

}  // namespace xgrad
