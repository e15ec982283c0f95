#include <memory>
#include <utility>

#include <xgrad/data/batch.hpp>
#include <xgrad/data/synthetic/chain.hpp>
#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

// Spread of the probabilities in a row.
constexpr double kSpread = 2;

// Hides each token independently; if that hides none, hides one.
static Example draw(const Chain& chain, double rate, const Rng& rng, std::size_t length) {
  const auto mask = std::int32_t(chain.states);
  const Rng own = rng / "mask";
  Example example;
  example.ids = walk(chain, rng / "states", length);
  example.targets.assign(length, kIgnore);
  const auto uniforms = own.uniforms(length);
  bool any = false;
  for (std::size_t t = 0; t < length; ++t) {
    if (uniforms[t] >= rate) continue;
    example.targets[t] = std::exchange(example.ids[t], mask);
    any = true;
  }
  const std::size_t one = (own / "one").below(length, 0);
  if (!any) example.targets[one] = std::exchange(example.ids[one], mask);
  return example;
}

static Synthetic::Best best(const Chain& chain, const Tokens& ids) {
  std::vector<double> likelihood;
  for (std::int32_t id : ids) {
    for (std::size_t state = 0; state < chain.states; ++state) {
      likelihood.push_back(std::size_t(id) == state || std::size_t(id) == chain.states);
    }
  }
  const std::vector<double> posterior = smooth(chain, likelihood);
  Synthetic::Best sum;
  for (std::size_t t = 0; t < ids.size(); ++t) {
    if (std::size_t(ids[t]) != chain.states) continue;
    add_best_guess(posterior.data() + t * chain.states, chain.states, sum);
  }
  return sum;
}

static Synthetic describe(const Options& options) {
  const auto states = get_size(options, "states");
  const Rng rng = Rng(get_size(options, "instance")) / "markov";
  const auto chain = std::make_shared<Chain>(random_chain(rng, states, kSpread));
  const double rate = get_double(options, "masked");
  Synthetic task;
  task.shape.classes = states;
  task.shape.token_names = numbered(states);
  task.shape.token_names.push_back("_");
  draw_lengths(task, Lengths(options),
               [=](const Rng& own, std::size_t length) { return draw(*chain, rate, own, length); });
  task.best = [=](const Example& input) { return best(*chain, input.ids); };
  return task;
}

// Masked-token modelling with a known lowest loss: the entropy of a hidden token given the nearest
// visible ones.
TaskEntry markov_task() {
  return synthetic_task(
      {.name = "markov",
       .summary = "Fill in the hidden tokens of a Markov chain.",
       .options = length_options(
           32, {{"states", 8, "Number of different tokens.", 2, 256},
                {"masked", 0.25, "Fraction of the tokens to hide.", above(0), below(1)},
                {"instance", 1, "Seed of the transition probabilities.", 0}}),
       .needs = "Positions and one layer: a hidden token depends on the nearest visible ones.",
       .theory = "needs positions: a hidden token depends on the nearest visible ones",
       .source =
           "the masked tokens of Devlin et al. 2019 (BERT), arXiv:1810.04805, on a Markov chain",
       .best = kComputed},
      describe);
}

}  // namespace xgrad
