#include <xgrad/data/synthetic/synthetic.hpp>

#include <algorithm>
#include <bit>
#include <memory>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/rules/naive_bayes.hpp>
#include <xgrad/data/text/example_text.hpp>

namespace xgrad {

namespace {

// A split has a tenth of all inputs, so this many draws miss it with probability 0.9^1000 = 1e-46.
constexpr std::uint32_t kMostDraws = 1000;

struct Description {
  std::string name;
  std::uint64_t seed;
  Synthetic task;
  std::function<Example(const Rng& rng)> draw_test;
  std::size_t sizes[3];  // examples per split; listed inputs use only the training size, 0: all
};

using Shared = std::shared_ptr<const Description>;

class DrawnDataset final : public Dataset {
 public:
  DrawnDataset(Shared of, Split split)
      : of_(std::move(of)),
        split_(split),
        rng_(Rng(of_->seed) / (of_->task.is_continuous ? "vectors" : "tokens") / to_string(split)) {
    get(0, 0);  // fail now rather than during a run if the split has no inputs
  }

  std::size_t size() const override { return of_->sizes[std::size_t(split_)]; }

  Example get(std::uint64_t, std::size_t index) const override {
    Example example = input(index);
    if (of_->task.solve && !of_->task.is_continuous) {
      example.targets = of_->task.solve(example.ids);
    }
    return example;
  }

  std::size_t length(std::size_t index, const TaskShape& shape) const override {
    return length_of(input(index), shape);
  }

 private:
  // The input only, without the targets that `solve` computes.
  Example input(std::size_t index) const {
    const Rng own = rng_ / index;
    const auto& draw = split_ == Split::test ? of_->draw_test : of_->task.draw;
    if (of_->task.is_continuous) return draw(own);
    for (std::uint32_t i = 0; i < kMostDraws; ++i) {
      Example example = draw(own / i);
      const Split own_split = of_->task.split ? of_->task.split(example) : split_of(example);
      if (own_split == split_) return example;
    }
    detail::fail<ConfigError>(of_->name, ": none of ", kMostDraws, " inputs belonged to the ",
                              to_string(split_), " split: there are too few different inputs");
  }

  Shared of_;
  Split split_;
  Rng rng_;
};

class ListedDataset final : public Dataset {
 public:
  ListedDataset(Shared of, Split split) : of_(std::move(of)) {
    const std::vector<Tokens>& inputs = of_->task.inputs;
    for (std::size_t i : (Rng(of_->seed) / "inputs").permutation(inputs.size())) {
      if (split_of(inputs[i]) == split) chosen_.push_back(i);
    }
    const std::size_t wanted = of_->sizes[0];
    if (split != Split::train || wanted == 0) return;
    check<ConfigError>(wanted <= chosen_.size(), of_->name, ": examples is ", wanted,
                       ", must be at most ", chosen_.size(),
                       ", the number of inputs in the train split");
    chosen_.resize(wanted);
  }

  std::size_t size() const override { return chosen_.size(); }

  Example get(std::uint64_t, std::size_t index) const override {
    const Tokens& ids = of_->task.inputs[chosen_[index]];
    return {.ids = ids, .targets = of_->task.solve(ids)};
  }

 private:
  Shared of_;
  std::vector<std::size_t> chosen_;
};

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
    if (of_->task.inputs.empty()) return std::make_unique<DrawnDataset>(of_, split);
    return std::make_unique<ListedDataset>(of_, split);
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

Synthetic describe_named(const std::string& name, const Describe& describe,
                         const Options& options) {
  try {
    Synthetic task = describe(options);
    TaskShape& shape = task.shape;
    if (!shape.token_names.empty()) shape.vocabulary = shape.token_names.size();
    if (!shape.class_names.empty()) shape.classes = shape.class_names.size();
    return task;
  } catch (const ConfigError& error) {
    throw ConfigError(name + ": " + error.what());
  }
}

Description make_description(const std::string& name, const Describe& describe, Options options,
                             std::uint64_t seed) {
  const auto size = [&](const char* key) {
    return options.contains(key) ? get_size(options, key) : 0;
  };
  Synthetic task = describe_named(name, describe, options);
  const auto draw = task.draw;
  if (const std::size_t longest = size("test_length"); longest > 0) {
    // Takes the shape of the longer test sequences, but keeps the shorter training draws.
    const std::int64_t length = get_int(options, "length");
    check<ConfigError>(std::int64_t(longest) > length, name, ": test_length is ", longest,
                       ", must be above length, ", length);
    options["min_length"] = length + 1;
    options["length"] = std::int64_t(longest);
    task = describe_named(name, describe, options);
  }
  const auto draw_test = std::exchange(task.draw, draw);
  return {
      name, seed, std::move(task), draw_test, {size("examples"), size("validation"), size("test")}};
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

}  // namespace xgrad
