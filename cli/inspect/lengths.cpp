#include <xgrad/cli/inspect/lengths.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/excerpt.hpp>
#include <xgrad/data/text/columns.hpp>
#include <xgrad/train/config/precision.hpp>
#include <xgrad/train/metrics/evaluate.hpp>
#include <xgrad/train/metrics/figure_text.hpp>
#include <xgrad/train/metrics/rows.hpp>
#include <xgrad/train/report/chart.hpp>
#include <xgrad/train/weights/trained_model.hpp>

namespace xgrad::commands {

namespace {

using Lengths = std::vector<std::size_t>;

// Some of the examples of a data set.
class Part final : public Dataset {
 public:
  Part(const Dataset& all, std::vector<std::size_t> chosen)
      : all_(all), chosen_(std::move(chosen)) {}
  std::size_t size() const override { return chosen_.size(); }
  Example get(std::uint64_t epoch, std::size_t index) const override {
    return all_.get(epoch, chosen_[index]);
  }

 private:
  const Dataset& all_;
  std::vector<std::size_t> chosen_;
};

bool draws_lengths(const Config& config) {
  const auto found = config.task_options.find("length");
  return found != config.task_options.end() && std::holds_alternative<std::int64_t>(found->second);
}

// The task with all examples of one length.
std::unique_ptr<Task> task_of_length(Config config, std::size_t length) {
  config.task_options["length"] = std::int64_t(length);
  if (config.task_options.contains("min_length")) {
    config.task_options["min_length"] = std::int64_t(length);
  }
  if (config.task_options.contains("test_length")) {
    config.task_options["test_length"] = std::int64_t(0);
  }
  return make_task(config);
}

// Says why a model for one shape cannot read examples of the other; empty if it can.
std::string misfit(const ModelConfig& model, const TaskShape& has, const TaskShape& asked) {
  const auto differs = [](const char* what, std::size_t a, std::size_t b) {
    return fmt::format("the task then has {} {}, and the model was made for {}", b, what, a);
  };
  if (asked.vocabulary != has.vocabulary) {
    return differs("different tokens", has.vocabulary, asked.vocabulary);
  }
  const bool fewer = asked.classes < has.classes && asked.output != OutputKind::generated;
  if (asked.classes != has.classes && !fewer) return differs("classes", has.classes, asked.classes);
  const bool longer = asked.max_length > has.max_length || asked.max_outputs > has.max_outputs;
  if (model.positions.starts_with("learned") && longer) {
    return fmt::format("model.positions = \"{}\" has learned {} places", model.positions,
                       asked.max_length > has.max_length ? has.max_length : has.max_outputs);
  }
  return "";
}

template <class T>
class Scorer {
 public:
  Scorer(const FoundRun& source, Split split)
      : source_(source),
        split_(split),
        task_(make_task(source.config, &source.checkpoint)),
        shape_(task_->shape()),
        objective_(make_objective(source.config.train, shape_)) {}

  std::vector<LengthScore> score(const Lengths& lengths,
                                 const std::function<void(std::size_t, std::size_t)>& progress) {
    check<ConfigError>(shape_.input != InputKind::image, "--lengths: the examples of task ",
                       source_.config.task, " are images, which have no length");
    std::vector<LengthScore> scores = prepare(lengths);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      progress(i, scores.size());
      if (!scores[i].why_not.empty()) continue;
      const auto metrics =
          evaluate(*trained_->model, {*data_[i], shape_, source_.config.train.batch}, objective_);
      scores[i].examples = data_[i]->size();
      scores[i].metrics = *metrics;
    }
    return scores;
  }

 private:
  // Makes the data sets, then the model for the longest of them.
  std::vector<LengthScore> prepare(const Lengths& lengths) {
    std::vector<LengthScore> scores =
        draws_lengths(source_.config) ? draw(lengths) : sort_out(lengths);
    trained_.emplace(source_.config, source_.checkpoint, shape_);
    return scores;
  }

  std::vector<LengthScore> draw(const Lengths& lengths) {
    std::vector<LengthScore> scores;
    const TaskShape has = shape_;
    for (const std::size_t length : lengths) {
      LengthScore& score = scores.emplace_back(LengthScore{length, length});
      data_.emplace_back();
      try {
        tasks_.push_back(task_of_length(source_.config, length));
        const TaskShape shape = tasks_.back()->shape();
        score.why_not = misfit(source_.config.model, has, shape);
        if (!score.why_not.empty()) continue;
        data_.back() = tasks_.back()->dataset(split_);
        shape_.max_length = std::max(shape_.max_length, shape.max_length);
        shape_.max_outputs = std::max(shape_.max_outputs, shape.max_outputs);
      } catch (const ConfigError& error) {
        score.why_not = error.what();
      }
    }
    return scores;
  }

  std::vector<LengthScore> sort_out(const Lengths& lengths) {
    all_ = task_->dataset(split_);
    std::vector<std::vector<std::size_t>> chosen(lengths.size());
    for (std::size_t i = 0; i < all_->size(); ++i) {
      const std::size_t length = all_->length(i, shape_);
      const auto bin = std::lower_bound(lengths.begin(), lengths.end(), length);
      if (bin != lengths.end()) chosen[std::size_t(bin - lengths.begin())].push_back(i);
    }
    std::vector<LengthScore> scores;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      scores.push_back({i == 0 ? 0 : lengths[i - 1] + 1, lengths[i]});
      if (chosen[i].empty()) scores.back().why_not = "the split has no example of this length";
      data_.push_back(std::make_unique<Part>(*all_, std::move(chosen[i])));
    }
    return scores;
  }

  const FoundRun& source_;
  Split split_;
  std::unique_ptr<Task> task_;
  TaskShape shape_;  // with the greatest lengths
  Objective objective_;
  std::unique_ptr<Dataset> all_;
  std::vector<std::unique_ptr<Task>> tasks_;
  std::vector<std::unique_ptr<Dataset>> data_;  // by length
  std::optional<TrainedModel<T>> trained_;
};

std::string length_text(const LengthScore& score) {
  return score.shortest == score.length ? fmt::to_string(score.length)
                                        : fmt::format("{}-{}", score.shortest, score.length);
}

}  // namespace

std::vector<std::size_t> parse_lengths(const std::string& text) {
  std::size_t numbers[3] = {0, 0, 0};
  std::size_t count = 0;
  const char *at = text.data(), *const end = at + text.size();
  for (bool more = true; more; ++count) {
    const auto read = count < 3 ? std::from_chars(at, end, numbers[count])
                                : std::from_chars_result{at, std::errc::invalid_argument};
    const bool good = read.ec == std::errc() && numbers[count] > 0 && numbers[count] <= 65536 &&
                      (read.ptr == end || *read.ptr == ':');
    check<ConfigError>(good && (count > 0 || read.ptr != end),
                       "--lengths: expected FIRST:LAST or FIRST:LAST:STEP, such as 4:512, with "
                       "numbers from 1 to 65536, got ",
                       excerpt(text));
    more = read.ptr != end;
    at = read.ptr + more;
  }
  const auto [first, last, step] = numbers;
  check<ConfigError>(first <= last, "--lengths: the first length, ", first, ", is above the last, ",
                     last);
  Lengths lengths;
  for (std::size_t n = first; n<last; n += step> 0 ? step : n) lengths.push_back(n);
  lengths.push_back(last);
  return lengths;
}

std::vector<LengthScore> score_lengths(
    const FoundRun& source, Split split, const std::vector<std::size_t>& lengths,
    const std::function<void(std::size_t, std::size_t)>& progress) {
  std::vector<LengthScore> scores = with_precision(
      source.config, [&]<class T>() { return Scorer<T>(source, split).score(lengths, progress); });
  const bool any = std::any_of(scores.begin(), scores.end(),
                               [](const LengthScore& score) { return score.why_not.empty(); });
  check<ConfigError>(any, "--lengths: length ", length_text(scores.front()), ": ",
                     scores.front().why_not);
  return scores;
}

std::string to_text(const std::vector<LengthScore>& scores) {
  std::vector<std::vector<std::string>> rows;
  std::string missing;
  for (const LengthScore& score : scores) {
    if (!score.why_not.empty()) {
      missing += fmt::format("length {}: {}\n", length_text(score), score.why_not);
      continue;
    }
    const std::vector<Figure> figures = score.metrics.figures();
    if (rows.empty()) {
      rows.push_back({"length", "examples"});
      for (const Figure& figure : figures) rows[0].push_back(figure.name);
    }
    rows.push_back({length_text(score), fmt::to_string(score.examples)});
    for (const Figure& figure : figures) {
      rows.back().push_back(figure_text(figure.value, figure.standard_error));
    }
  }
  return text_table(rows, {Align::right}) + missing;
}

std::string to_json(const std::vector<LengthScore>& scores, std::uint64_t step,
                    const std::string& split) {
  std::string rows;
  for (const LengthScore& score : scores) {
    if (!score.why_not.empty()) continue;
    const std::string shortest = score.shortest < score.length
                                     ? fmt::format("\"shortest\":{},", score.shortest)
                                     : std::string();
    const std::string metrics = xgrad::to_json(metrics_row(step, split, score.metrics));
    rows += fmt::format("{}{{{}\"length\":{},\"examples\":{},{}", rows.empty() ? "" : ",", shortest,
                        score.length, score.examples, metrics.substr(1));
  }
  return "{\"lengths\":[" + rows + "]}";
}

std::string to_svg(const std::vector<std::pair<std::string, std::vector<LengthScore>>>& runs) {
  std::string metric;
  std::vector<html::ChartLine> lines;
  for (const auto& [name, scores] : runs) {
    html::ChartLine line{name, lines.size() % html::kLooks, {}};
    for (const LengthScore& score : scores) {
      if (!score.why_not.empty()) continue;
      const Figure figure = score.metrics.figures()[1];  // the most important one
      metric = figure.name;
      if (!std::isfinite(figure.value)) continue;
      const double error = std::isfinite(figure.standard_error) ? figure.standard_error : 0;
      line.points.push_back({double(score.length), figure.value, error});
    }
    lines.push_back(std::move(line));
  }
  return html::picture(metric + " by length", lines);
}

}  // namespace xgrad::commands
