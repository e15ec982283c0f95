#include <xgrad/train/inspect/lengths.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include <xgrad/autograd/check.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/metrics/metrics.hpp>
#include <xgrad/train/weights/trained_model.hpp>

namespace xgrad {

namespace {

// The examples of a score. `task` owns the data that they read.
struct Bin {
  LengthScore score;
  std::unique_ptr<Task> task = nullptr;
  std::unique_ptr<Dataset> data = nullptr;
};

// The task with all examples of one length.
std::unique_ptr<Task> task_of_length(Config config, std::size_t length) {
  Options& options = config.task_options;
  options["length"] = std::int64_t(length);
  if (options.contains("min_length")) options["min_length"] = std::int64_t(length);
  if (options.contains("test_length")) options["test_length"] = std::int64_t(0);
  return make_task(config);
}

// Says why a model for one shape cannot read examples of the other; empty if it can.
std::string misfit(const ModelConfig& model, const TaskShape& has, const TaskShape& asked) {
  const auto differs = [](const char* what, std::size_t a, std::size_t b) {
    return fmt::format("the task then has {} {}, and the model was made for {}", b, what, a);
  };
  const std::size_t tokens = has.vocabulary;
  if (asked.vocabulary != tokens) return differs("different tokens", tokens, asked.vocabulary);
  const bool fewer = asked.classes < has.classes && asked.output != OutputKind::generated;
  if (asked.classes != has.classes && !fewer) return differs("classes", has.classes, asked.classes);
  const bool longer = asked.max_length > has.max_length || asked.max_outputs > has.max_outputs;
  if (model.positions.starts_with("learned") && longer) {
    return fmt::format("model.positions = \"{}\" has learned {} places", model.positions,
                       asked.max_length > has.max_length ? has.max_length : has.max_outputs);
  }
  return "";
}

// The examples of each length: chosen from `all` or, if it is null, drawn by the task.
std::vector<Bin> bins_of(std::span<const FoundRun> sources, Split split, const TaskShape& has,
                         const Dataset* all, const std::vector<std::size_t>& lengths) {
  std::vector<std::vector<std::size_t>> chosen(lengths.size());
  for (std::size_t i = 0; all != nullptr && i < all->size(); ++i) {
    const auto bin = std::ranges::lower_bound(lengths, all->length(i, has));
    if (bin != lengths.end()) chosen[std::size_t(bin - lengths.begin())].push_back(i);
  }
  std::vector<Bin> bins;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    Bin& bin = bins.emplace_back(Bin{{lengths[i], lengths[i]}});
    std::string& why_not = bin.score.why_not;
    if (all != nullptr) {
      bin.score.shortest = i == 0 ? 0 : lengths[i - 1] + 1;
      if (chosen[i].empty()) why_not = "the split has no example of this length";
      bin.data = std::make_unique<Subset>(*all, std::move(chosen[i]));
      continue;
    }
    try {
      bin.task = task_of_length(sources.front().config, lengths[i]);
      for (const FoundRun& source : sources) {
        if (why_not.empty()) why_not = misfit(source.config.model, has, bin.task->shape());
      }
      if (why_not.empty()) bin.data = bin.task->dataset(split);
    } catch (const ConfigError& error) {
      why_not = error.what();
    }
  }
  return bins;
}

}  // namespace

std::string LengthScore::length_text() const {
  return shortest == length ? fmt::to_string(length) : fmt::format("{}-{}", shortest, length);
}

std::vector<LengthScore> score_lengths(
    std::span<const FoundRun> sources, Split split, const std::vector<std::size_t>& lengths,
    const std::function<void(std::size_t, std::size_t)>& progress) {
  const Config& config = sources.front().config;
  const auto task = make_task(config, &sources.front().checkpoint);
  TaskShape shape = task->shape();
  check<ConfigError>(shape.input != InputKind::image, "--lengths: the examples of task ",
                     config.task, " are images, which have no length");
  const Objective objective = make_objective(config.train, shape);
  const auto found = config.task_options.find("length");
  const bool draws =
      found != config.task_options.end() && std::holds_alternative<std::int64_t>(found->second);
  const auto all = draws ? nullptr : task->dataset(split);
  const std::vector<Bin> bins = bins_of(sources, split, shape, all.get(), lengths);
  const auto scored = [](const Bin& bin) { return bin.score.why_not.empty(); };
  check<ConfigError>(std::any_of(bins.begin(), bins.end(), scored), "--lengths: length ",
                     bins.front().score.length_text(), ": ", bins.front().score.why_not);
  for (const Bin& bin : bins) {  // the model reads the longest of them
    if (!scored(bin) || !bin.task) continue;
    shape.max_length = std::max(shape.max_length, bin.task->shape().max_length);
    shape.max_outputs = std::max(shape.max_outputs, bin.task->shape().max_outputs);
  }
  return with_precision(config, [&]<class T>() {
    const TrainedModel<T> trained(sources, shape);
    std::vector<LengthScore> scores;
    for (const Bin& bin : bins) {
      progress(scores.size(), bins.size());
      LengthScore& score = scores.emplace_back(bin.score);
      if (!scored(bin)) continue;
      score.examples = bin.data->size();
      score.metrics = evaluate(*trained.model, {*bin.data, shape, config.train.batch}, objective);
    }
    return scores;
  });
}

}  // namespace xgrad
