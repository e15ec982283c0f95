#include <algorithm>
#include <memory>
#include <utility>

#include <xgrad/data/synthetic/chain.hpp>
#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

namespace {

// Spread of the probabilities in a row, chosen so that a token alone reveals little, and its
// neighbours much.
constexpr double kTransitionSpread = 2, kEmissionSpread = 1.5;

struct HiddenMarkov {
  Chain chain;
  std::size_t symbols;
  std::vector<double> emission;  // (states, symbols)
};

Example draw(const HiddenMarkov& model, const Rng& rng, std::size_t length) {
  Example example;
  example.targets = walk(model.chain, rng / "states", length);
  const auto uniforms = (rng / "symbols").uniforms(length);
  for (std::size_t t = 0; t < length; ++t) {
    const double* row = model.emission.data() + std::size_t(example.targets[t]) * model.symbols;
    example.ids.push_back(choose(row, model.symbols, uniforms[t]));
  }
  return example;
}

Synthetic::Best best(const HiddenMarkov& model, const Tokens& ids) {
  std::vector<double> likelihood;
  for (std::int32_t id : ids) {
    for (std::size_t state = 0; state < model.chain.states; ++state) {
      likelihood.push_back(model.emission[state * model.symbols + std::size_t(id)]);
    }
  }
  const std::vector<double> posterior = smooth(model.chain, likelihood);
  Synthetic::Best sum;
  for (std::size_t t = 0; t < ids.size(); ++t) {
    add_best_guess(posterior.data() + t * model.chain.states, model.chain.states, sum);
  }
  return sum;
}

/// How often each state emits a token at an unknown position, up to a factor. Position t exists in
/// every sequence of more than t tokens, so its share of all tokens is proportional to P(length >
/// t). Its state is distributed as p_t = p_(t-1) A, with uniform p_0. Assumes that a split is
/// representative of all sequences, as it is unless it is small.
std::vector<double> state_shares(const Chain& chain, const Lengths& lengths) {
  const std::size_t k = chain.states;
  std::vector<double> shares(k), p(k, 1.0 / double(k));
  for (std::size_t t = 0; t < lengths.longest; ++t) {
    // Number of lengths above t.
    const auto longer = double(lengths.longest - std::max(t, lengths.shortest - 1));
    std::vector<double> next(k);
    for (std::size_t from = 0; from < k; ++from) {
      shares[from] += longer * p[from];
      for (std::size_t to = 0; to < k; ++to) next[to] += p[from] * chain.transition[from * k + to];
    }
    p = std::move(next);
  }
  return shares;
}

/// p(state | symbol) of a single token, (symbols, states): by Bayes, proportional to the state's
/// share times p(symbol | state). The best guess from the token alone is the most likely state.
std::vector<double> posterior_alone(const HiddenMarkov& model, const Lengths& lengths) {
  const std::vector<double> shares = state_shares(model.chain, lengths);
  const std::size_t k = model.chain.states;
  std::vector<double> posterior(model.symbols * k);
  for (std::size_t symbol = 0; symbol < model.symbols; ++symbol) {
    double sum = 0;
    for (std::size_t i = 0; i < k; ++i) {
      posterior[symbol * k + i] = shares[i] * model.emission[i * model.symbols + symbol];
      sum += posterior[symbol * k + i];
    }
    for (std::size_t i = 0; i < k; ++i) posterior[symbol * k + i] /= sum;
  }
  return posterior;
}

Synthetic::Best best_alone(const std::vector<double>& posterior, std::size_t states,
                           const Tokens& ids) {
  Synthetic::Best sum;
  for (const std::int32_t id : ids) {
    add_best_guess(posterior.data() + std::size_t(id) * states, states, sum);
  }
  return sum;
}

Synthetic describe(const Options& options) {
  const auto states = get_size(options, "states");
  const auto symbols = get_size(options, "symbols");
  const Rng rng = Rng(get_size(options, "instance")) / "hmm";
  const auto model = std::make_shared<HiddenMarkov>(
      HiddenMarkov{random_chain(rng, states, kTransitionSpread), symbols,
                   random_rows(rng / "emission", states, symbols, kEmissionSpread)});
  const Lengths lengths(options);
  Synthetic task;
  task.shape.vocabulary = symbols;
  task.shape.classes = states;
  draw_lengths(task, lengths,
               [model](const Rng& own, std::size_t length) { return draw(*model, own, length); });
  task.best = [=](const Example& input) { return best(*model, input.ids); };
  task.best_alone = [=, alone = posterior_alone(*model, lengths)](const Example& input) {
    return best_alone(alone, states, input.ids);
  };
  return task;
}

}  // namespace

// Resembles part-of-speech tagging. The best possible prediction is the posterior given the whole
// sequence, which forward-backward computes.
TaskEntry hmm_task() {
  return synthetic_task(
      {.name = "hmm",
       .summary = "Name the hidden state behind each token of a hidden Markov model.",
       .options = length_options(
           32, {{"states", 4, "Number of hidden states, which are the classes.", 2, 256},
                symbols_option(8, 2, 4096),
                {"instance", 1, "Seed of the transition and emission probabilities.", 0}}),
       .needs = "Positions and two layers: the state of a token depends on its neighbours, and "
                "theirs on their neighbours.",
       .theory = "needs positions: the posterior of a state depends most on its nearest neighbours",
       .source = "the forward-backward algorithm, as in Rabiner 1989",
       .best = kComputed},
      describe);
}

}  // namespace xgrad
