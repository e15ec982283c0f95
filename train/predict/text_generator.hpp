// TextGenerator: texts by a language model, as `xgrad generate` prints them.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <xgrad/autograd/random.hpp>

namespace xgrad {

struct AnyModel;

/// How the next token is chosen from the probabilities of a model.
struct Sampling {
  double temperature = 1;  ///< divides the logits; 0: always the likeliest token
  std::uint64_t seed = 1;  ///< of the random numbers
};

/// Draws a class from softmax(logits / temperature) over the classes other than kUnknownId, by the
/// uniform number u in [0, 1): the first class whose cumulative probability is above u. With
/// temperature 0, the class with the largest logit, the first of equal ones.
template <class T>
std::int32_t sample(const T* logits, std::size_t classes, double temperature, double u);

/// A trained language model that continues texts. All calls are thread-safe.
class TextGenerator {
 public:
  /// Loads a checkpoint, or the newest checkpoint of a run directory. Reads no data. Throws
  /// IoError, CheckpointError, and ConfigError if the model is no causal encoder for next tokens.
  explicit TextGenerator(const std::string& run);

  /// Calls say() with the text of each token that follows `beginning`, as soon as it is known,
  /// until the text ends or has `most` more tokens. Returns whether it ended. The token at position
  /// p of the text is chosen with the p-th number of Rng(seed) / "generate", so a text depends only
  /// on model, beginning and sampling, and not on the number of threads.
  ///
  /// The model reads at most TaskShape::max_length tokens at once, of a longer beginning the last
  /// ones. When so many are read, it starts again with the last half of them. Throws DataError when
  /// the beginning has tokens that are not in the vocabulary.
  bool generate(const std::string& beginning, std::size_t most, const Sampling& sampling,
                const std::function<void(const std::string&)>& say) const;

 private:
  std::shared_ptr<const AnyModel> model_;
};

}  // namespace xgrad
