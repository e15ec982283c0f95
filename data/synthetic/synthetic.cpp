#include <xgrad/data/synthetic/synthetic.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/portable_math.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/rules/ngram.hpp>

namespace xgrad {

namespace {

// A split has a tenth of all inputs, so this many draws miss it with probability 0.9^1000 = 1e-46.
constexpr std::uint32_t kMostDraws = 1000;

struct Description {
  std::string name;
  std::uint64_t seed;
  Synthetic task;
  std::function<Example(const Rng& rng)> draw_test;
  std::size_t sizes[3];  // examples per split; if inputs are listed, only [0] counts (0: all)
};

using Shared = std::shared_ptr<const Description>;

// Draws an input of a split, without the targets that `solve` computes.
Example draw_input(const Description& of, Split split, const Rng& rng) {
  const auto& draw = split == Split::test ? of.draw_test : of.task.draw;
  if (of.task.is_continuous) return draw(rng);
  for (std::uint32_t i = 0; i < kMostDraws; ++i) {
    Example example = draw(rng / i);
    if ((of.task.split ? of.task.split(example) : split_of(example)) == split) return example;
  }
  detail::fail<ConfigError>(of.name, ": none of ", kMostDraws, " inputs belonged to the ",
                            to_string(split), " split: there are too few different inputs");
}

std::unique_ptr<Dataset> drawn_inputs(const Shared& of, Split split) {
  const Rng rng =
      Rng(of->seed) / (of->task.is_continuous ? "vectors" : "tokens") / to_string(split);
  const auto input = [=](std::size_t index) { return draw_input(*of, split, rng / index); };
  auto data = dataset_of(
      of->sizes[std::size_t(split)],
      [=](std::uint64_t, std::size_t index) {
        Example example = input(index);
        if (of->task.solve && !of->task.is_continuous) {
          example.targets = of->task.solve(example.ids);
        }
        return example;
      },
      [=](std::size_t index, const TaskShape& shape) { return length_of(input(index), shape); });
  data->get(0, 0);  // fail now rather than during a run if the split has no inputs
  return data;
}

std::unique_ptr<Dataset> listed_inputs(const Shared& of, Split split) {
  const std::vector<Tokens>& inputs = of->task.inputs;
  std::vector<std::size_t> chosen;
  for (std::size_t i : (Rng(of->seed) / "inputs").permutation(inputs.size())) {
    if (split_of(inputs[i]) == split) chosen.push_back(i);
  }
  if (const std::size_t wanted = of->sizes[0]; split == Split::train && wanted > 0) {
    check<ConfigError>(wanted <= chosen.size(), of->name, ": examples is ", wanted,
                       ", must be at most ", chosen.size(),
                       ", the number of inputs in the train split");
    chosen.resize(wanted);
  }
  return dataset_of(chosen.size(), [=](std::uint64_t, std::size_t index) {
    const Tokens& ids = of->task.inputs[chosen[index]];
    return Example{.ids = ids, .targets = of->task.solve(ids)};
  });
}

Example parse_input(const std::string& task, const std::string& line, TaskShape shape) {
  if (shape.graph) return parse_graph(task, line, shape);
  Example example;
  if (shape.input == InputKind::tokens) {
    example.ids = parse_tokens(task, line, shape);
    return example;
  }
  if (shape.input == InputKind::image) {  // one vector of all pixels, row by row
    shape.features = shape.height * shape.width * shape.channels;
    shape.max_length = 1;
  }
  example.features = parse_vectors<float>(task, line, shape.features);
  const std::size_t count = example.features.size() / shape.features;
  check<DataError>(count <= shape.max_length, task, ": the line has ", count,
                   " vectors, must have at most ", shape.max_length);
  return example;
}

class SyntheticTask final : public Task {
 public:
  explicit SyntheticTask(Description description)
      : of_(std::make_shared<Description>(std::move(description))) {}

  TaskShape shape() const override { return of_->task.shape; }

  std::unique_ptr<Dataset> dataset(Split split) const override {
    return of_->task.inputs.empty() ? drawn_inputs(of_, split) : listed_inputs(of_, split);
  }

  Example parse(const std::string& line) const override {
    Example example = parse_input(of_->name, line, of_->task.shape);
    if (of_->task.with_slots) example.ids = of_->task.with_slots(std::move(example.ids));
    try {
      if (of_->task.solve) example.targets = of_->task.solve(example.ids);
    } catch (const DataError& error) {
      throw DataError(of_->name + ": " + error.what());
    }
    return example;
  }

  std::vector<Rule> rules() const override {
    const TaskShape& shape = of_->task.shape;
    const bool one_class = shape.input == InputKind::tokens &&
                           shape.output == OutputKind::sequence &&
                           shape.target == TargetKind::classes;
    return one_class ? std::vector{naive_bayes(*this, 1)} : std::vector<Rule>();
  }

  std::optional<Ceiling> ceiling(Split split) const override {
    return reached(of_->task.best, split);
  }
  std::optional<Ceiling> token_ceiling() const override {
    return reached(of_->task.best_alone, Split::test);
  }

 private:
  std::optional<Ceiling> reached(const std::function<Synthetic::Best(const Example&)>& best,
                                 Split split) const {
    if (!best) return std::nullopt;
    const auto data = dataset(split);
    Synthetic::Best sum;
    for (std::size_t i = 0; i < data->size(); ++i) {
      const Synthetic::Best one = best(data->get(0, i));
      sum.right += one.right;
      sum.loss += one.loss;
      sum.targets += one.targets;
    }
    return Ceiling{sum.right / sum.targets, sum.loss / sum.targets};
  }

  Shared of_;
};

Description make_description(const std::string& name, const Describe& describe, Options options,
                             std::uint64_t seed) try {
  const auto size = [&](const char* key) {
    return options.contains(key) ? get_size(options, key) : 0;
  };
  const auto described = [&] {
    Synthetic task;
    describe(options, task);
    TaskShape& shape = task.shape;
    if (!shape.token_names.empty()) shape.vocabulary = shape.token_names.size();
    if (!shape.class_names.empty()) shape.classes = shape.class_names.size();
    return task;
  };
  Synthetic task = described();
  const auto draw = task.draw;
  if (const std::size_t longest = size("test_length"); longest > 0) {
    // Takes the shape of the longer test sequences, but keeps the shorter training draws.
    const std::int64_t length = get_int(options, "length");
    check<ConfigError>(std::int64_t(longest) > length, "test_length is ", longest,
                       ", must be above length, ", length);
    options["min_length"] = length + 1;
    options["length"] = std::int64_t(longest);
    task = described();
  }
  const auto draw_test = std::exchange(task.draw, draw);
  return {
      name, seed, std::move(task), draw_test, {size("examples"), size("validation"), size("test")}};
} catch (const ConfigError& error) {
  throw ConfigError(name + ": " + error.what());
}

}  // namespace

Split split_of(const Tokens& ids) {
  // Hashes four tokens per round, keyed by the round before. The length starts the chain, so that
  // appending zeros changes the hash.
  std::uint64_t key = 0x73706C6974730000u + ids.size();  // "splits"
  for (std::size_t i = 0; i < ids.size(); i += 4) {
    const auto token = [&](std::size_t k) { return k < ids.size() ? std::uint32_t(ids[k]) : 0; };
    const auto words = Rng(key).words(token(i), token(i + 1), token(i + 2), token(i + 3));
    key = (std::uint64_t(words[1]) << 32) | words[0];
  }
  const std::uint64_t bucket = key % 10;
  return bucket == 0 ? Split::test : bucket == 1 ? Split::validation : Split::train;
}

Split split_of(const Example& input) {
  Tokens all = input.ids;
  for (float x : input.features) all.push_back(std::bit_cast<std::int32_t>(x));
  for (const auto& [a, b] : input.edges) all.insert(all.end(), {a, b});
  return split_of(all);
}

std::vector<std::string> numbered(std::size_t count, const std::vector<std::string>& more,
                                  const std::string& prefix, std::size_t first) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(prefix + std::to_string(first + i));
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

TaskEntry synthetic_task(TaskEntry about, Describe describe) {
  const auto is_examples = [](const OptionSpec& spec) { return spec.name == "examples"; };
  if (std::ranges::none_of(about.options, is_examples)) {
    about.options.insert(about.options.end(),
                         {{"examples", 50000, "Number of training examples.", 1, 1e9},
                          {"validation", 1000, "Number of validation examples.", 1, 1e9},
                          {"test", 1000, "Number of test examples.", 1, 1e9}});
  }
  about.make = [name = about.name, describe](const Options& options, std::uint64_t seed) {
    return std::make_unique<SyntheticTask>(make_description(name, describe, options, seed));
  };
  if (about.best.empty()) about.best = kCertain;
  return about;
}

Lengths::Lengths(const Options& options, std::size_t least)
    : shortest(0), longest(get_size(options, "length")) {
  if (options.contains("min_length")) shortest = get_size(options, "min_length");
  if (shortest == 0) shortest = longest;
  check<ConfigError>(shortest <= longest, "min_length is ", shortest, ", must be at most length, ",
                     longest);
  check<ConfigError>(shortest >= least, "sequences of ", shortest,
                     " tokens are too short; they need ", least);
}

std::size_t Lengths::draw(const Rng& rng) const {
  if (shortest == longest) return longest;
  return shortest + (rng / "length").below(longest - shortest + 1, 0);
}

OptionSpec symbols_option(std::int64_t symbols, double min, double max) {
  return {"symbols", symbols, "Number of different tokens.", min, max};
}

std::vector<OptionSpec> length_options(std::int64_t length, const std::vector<OptionSpec>& more,
                                       std::int64_t shortest) {
  std::vector<OptionSpec> table = {
      {"length", length, "Tokens in the longest sequence.", 1, 65536},
      {"min_length", shortest, "Tokens in the shortest sequence; 0: the same as length.", 0, 65536},
      {"test_length", 0,
       "Tests on longer sequences only, from length + 1 to this many tokens; 0: on the same "
       "lengths as in training.",
       0, 65536},
  };
  table.insert(table.end(), more.begin(), more.end());
  return table;
}

void draw_lengths(Synthetic& task, const Lengths& lengths,
                  std::function<Example(const Rng&, std::size_t)> draw) {
  task.shape.max_length = lengths.longest;
  task.draw = [lengths, draw = std::move(draw)](const Rng& rng) {
    return draw(rng, lengths.draw(rng));
  };
}

Tokens random_tokens(const Rng& rng, std::size_t length, std::size_t symbols) {
  Tokens ids(length);
  for (std::size_t token = 0; token < length; token += 4) {
    const auto words = rng.words(std::uint32_t(token / 4));
    for (std::size_t i = 0; i < 4 && token + i < length; ++i) {
      // Uniform, with a bias of at most symbols / 2^32.
      ids[token + i] = std::int32_t(std::uint64_t(words[i]) * symbols >> 32);
    }
  }
  return ids;
}

Edges random_edges(const Rng& rng, std::size_t nodes, double degree) {
  constexpr std::size_t kAtOnce = 1024;
  const std::size_t pairs = nodes * (nodes - 1) / 2;
  std::vector<double> uniforms;
  Edges edges;
  edges.reserve(nodes * std::size_t(degree));
  std::size_t pair = 0;
  for (std::size_t a = 0; a < nodes; ++a) {
    for (std::size_t b = a + 1; b < nodes; ++b, ++pair) {
      const std::size_t at = pair % kAtOnce;
      if (at == 0) uniforms = rng.uniforms(std::min(kAtOnce, pairs - pair), pair);
      if (uniforms[at] * double(nodes - 1) < degree) edges.emplace_back(a, b);
    }
  }
  return edges;
}

Synthetic uniform_tokens(const Options& options, Solve solve, std::size_t symbols) {
  const Lengths lengths(options);
  if (symbols == 0) symbols = get_size(options, "symbols");
  // With this many inputs, a split is empty with probability 0.9^1000 = 1e-46.
  constexpr double kFewestInputs = 1000;
  double inputs = 0;
  for (std::size_t n = lengths.shortest; n <= lengths.longest && inputs < kFewestInputs; ++n) {
    inputs += portable::pow(double(symbols), double(n));
  }
  check<ConfigError>(inputs >= kFewestInputs, "there are only ", inputs,
                     " different inputs; three disjoint splits need ", kFewestInputs,
                     options.contains("symbols") ? ": raise length or symbols" : ": raise length");
  Synthetic task;
  task.shape.vocabulary = task.shape.classes = symbols;
  draw_lengths(task, lengths, [symbols](const Rng& rng, std::size_t length) {
    return Example{.ids = random_tokens(rng, length, symbols)};
  });
  task.solve = std::move(solve);
  return task;
}

Synthetic uniform_bits(const Options& options, Solve solve) {
  Synthetic task = one_target(uniform_tokens(options, std::move(solve), 2));
  task.shape.class_names = {"no", "yes"};
  return task;
}

TaskEntry uniform_task(TaskEntry about, Solve solve) {
  if (about.options.empty()) about.options = uniform_options();
  return synthetic_task(std::move(about), [=](const Options& options, Synthetic& task) {
    task = uniform_tokens(options, solve);
  });
}

TaskEntry bits_task(TaskEntry about, Solve solve) {
  about.options = length_options();
  return synthetic_task(std::move(about), [=](const Options& options, Synthetic& task) {
    task = uniform_bits(options, solve);
  });
}

}  // namespace xgrad
