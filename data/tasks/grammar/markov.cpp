// Tasks about Markov chains, with hidden tokens or hidden states.
#include <algorithm>
#include <memory>
#include <utility>

#include <xgrad/data/batch.hpp>
#include <xgrad/data/synthetic/processes.hpp>

namespace xgrad {

namespace {

// The best guess of the states at the places for which `counts(id)` is true, from the posterior
// given all tokens (forward-backward). `likelihood(id, state)` is the likelihood of a token.
template <class Likelihood, class Counts>
Synthetic::Best best_states(const Chain& chain, const Tokens& ids, const Likelihood& likelihood,
                            const Counts& counts) {
  std::vector<double> evidence;
  for (const std::int32_t id : ids) {
    for (std::size_t state = 0; state < chain.states; ++state) {
      evidence.push_back(likelihood(std::size_t(id), state));
    }
  }
  const std::vector<double> posterior = smooth(chain, evidence);
  Synthetic::Best sum;
  for (std::size_t t = 0; t < ids.size(); ++t) {
    if (!counts(std::size_t(ids[t]))) continue;
    add_best_guess(posterior.data() + t * chain.states, chain.states, sum);
  }
  return sum;
}

// Hides each token independently; if that hides none, hides one.
Example draw_masked(const Chain& chain, double rate, const Rng& rng, std::size_t length) {
  const auto mask = std::int32_t(chain.states);
  const Rng own = rng / "mask";
  Example example{.ids = walk(chain, rng / "states", length), .targets = Tokens(length, kIgnore)};
  const auto uniforms = own.uniforms(length);
  const auto hide = [&](std::size_t t) {
    example.targets[t] = std::exchange(example.ids[t], mask);
  };
  for (std::size_t t = 0; t < length; ++t) {
    if (uniforms[t] < rate) hide(t);
  }
  if (std::ranges::count(example.ids, mask) == 0) hide((own / "one").below(length, 0));
  return example;
}

struct HiddenMarkov {
  Chain chain;
  std::size_t symbols;
  std::vector<double> emission;  // (states, symbols)

  double emitted(std::size_t state, std::size_t symbol) const {
    return emission[state * symbols + symbol];
  }
};

Example draw_hidden(const HiddenMarkov& model, const Rng& rng, std::size_t length) {
  Example example{.targets = walk(model.chain, rng / "states", length)};
  const auto uniforms = (rng / "symbols").uniforms(length);
  for (std::size_t t = 0; t < length; ++t) {
    const double* row = model.emission.data() + std::size_t(example.targets[t]) * model.symbols;
    example.ids.push_back(choose(row, model.symbols, uniforms[t]));
  }
  return example;
}

// p(state | symbol) of a single token at an unknown position, (symbols, states). By Bayes' theorem,
// it is proportional to p(symbol | state) times the fraction of all tokens that the state emits.
// Position t exists in every sequence of more than t tokens, so its share of all tokens is
// proportional to P(length > t). Its state is distributed as p_t = p_(t-1) A, with uniform p_0.
// Assumes that a split is representative of all sequences, which holds unless the split is small.
std::vector<double> posterior_alone(const HiddenMarkov& model, const Lengths& lengths) {
  const std::size_t k = model.chain.states;
  std::vector<double> shares(k), p(k, 1.0 / double(k)), posterior(model.symbols * k);
  for (std::size_t t = 0; t < lengths.longest; ++t) {
    // Number of lengths above t.
    const auto longer = double(lengths.longest - std::max(t, lengths.shortest - 1));
    std::vector<double> next(k);
    for (std::size_t from = 0; from < k; ++from) {
      const double* const step = model.chain.transition.data() + from * k;
      shares[from] += longer * p[from];
      for (std::size_t to = 0; to < k; ++to) next[to] += p[from] * step[to];
    }
    p = std::move(next);
  }
  for (std::size_t symbol = 0; symbol < model.symbols; ++symbol) {
    double* const row = posterior.data() + symbol * k;
    for (std::size_t i = 0; i < k; ++i) row[i] = shares[i] * model.emitted(i, symbol);
    normalise(row, k);
  }
  return posterior;
}

}  // namespace

extern const std::vector<TaskEntry> kMarkovTasks = {
    // Masked-token modelling with a known lowest loss: the entropy of a hidden token given the
    // nearest visible ones.
    synthetic_task(
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
        [](const Options& options, Synthetic& task) {
          constexpr double kSpread = 2;  // of the probabilities in a row
          const auto states = get_size(options, "states");
          const Rng rng = Rng(get_size(options, "instance")) / "markov";
          const auto chain = std::make_shared<Chain>(random_chain(rng, states, kSpread));
          const double rate = get_double(options, "masked");
          task.shape.classes = states;
          task.shape.token_names = numbered(states, {"_"});
          draw_lengths(task, Lengths(options), [=](const Rng& own, std::size_t length) {
            return draw_masked(*chain, rate, own, length);
          });
          task.best = [=](const Example& input) {
            return best_states(
                *chain, input.ids,
                [=](std::size_t id, std::size_t state) { return id == state || id == states; },
                [=](std::size_t id) { return id == states; });
          };
        }),
    // Resembles part-of-speech tagging. The spreads of the probabilities in a row are chosen so
    // that a token alone reveals little, and its neighbours much.
    synthetic_task(
        {.name = "hmm",
         .summary = "Name the hidden state behind each token of a hidden Markov model.",
         .options = length_options(
             32, {{"states", 4, "Number of hidden states, which are the classes.", 2, 256},
                  symbols_option(8, 2, 4096),
                  {"instance", 1, "Seed of the transition and emission probabilities.", 0}}),
         .needs = "Positions and two layers: the state of a token depends on the neighbouring "
                  "states, and these on their neighbours.",
         .theory = "needs positions: the posterior of a state depends most on the nearest tokens",
         .source = "the forward-backward algorithm, as in Rabiner 1989",
         .best = kComputed},
        [](const Options& options, Synthetic& task) {
          constexpr double kTransitionSpread = 2, kEmissionSpread = 1.5;
          const std::size_t states = get_size(options, "states"),
                            symbols = get_size(options, "symbols");
          const Rng rng = Rng(get_size(options, "instance")) / "hmm";
          const auto model = std::make_shared<HiddenMarkov>(
              HiddenMarkov{random_chain(rng, states, kTransitionSpread), symbols,
                           random_rows(rng / "emission", states, symbols, kEmissionSpread)});
          const Lengths lengths(options);
          task.shape.vocabulary = symbols;
          task.shape.classes = states;
          draw_lengths(task, lengths, [model](const Rng& own, std::size_t length) {
            return draw_hidden(*model, own, length);
          });
          task.best = [model](const Example& input) {
            return best_states(
                model->chain, input.ids,
                [&](std::size_t id, std::size_t state) { return model->emitted(state, id); },
                [](std::size_t) { return true; });
          };
          task.best_alone = [=, alone = posterior_alone(*model, lengths)](const Example& input) {
            Synthetic::Best sum;
            for (const std::int32_t id : input.ids) {
              add_best_guess(alone.data() + std::size_t(id) * states, states, sum);
            }
            return sum;
          };
        })};

}  // namespace xgrad
