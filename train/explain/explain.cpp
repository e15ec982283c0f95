#include <xgrad/train/explain/explain.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <variant>

#include <xgrad/autograd/check.hpp>
#include <xgrad/storage/formats/png.hpp>
#include <xgrad/text/excerpt.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/checkpoint/state_dict.hpp>
#include <xgrad/train/config/keys.hpp>
#include <xgrad/train/export/export.hpp>
#include <xgrad/train/logs/history.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/version.hpp>

namespace xgrad {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kUsual = 8'000'000, kMost = 40'000'000;  // bytes of weights in Base64
constexpr std::size_t kMostExamples = 64, kMostPoints = 300;
constexpr std::size_t kMostOfRest = 195'000;  // bytes of the page without weights

std::string float32(const std::vector<NamedTensor>& tensors) {
  std::string bytes;
  for (const NamedTensor& t : tensors) {
    const AnyTensor single = std::visit(
        [](const auto& x) { return AnyTensor(Tensor<float>(xt::cast<float>(x))); }, t.tensor);
    bytes += bytes_of(single);
  }
  return to_base64(bytes);
}

// The keys of [model].
Json model_of(const Config& config) {
  Json model;
  for (const detail::ConfigKey& key : detail::config_keys()) {
    if (key.section != "model") continue;
    const auto value = key.get(config);
    if (value) std::visit([&](const auto& x) { model[key.spec.name] = x; }, *value);
  }
  return model;
}

Json shape_of(const TaskShape& shape) {
  constexpr const char *kInputs[] = {"tokens", "image", "vectors"},
                       *kOutputs[] = {"tokens", "sequence", "generated"},
                       *kTargets[] = {"classes", "numbers", "binary"},
                       *kNext[] = {"", "character", "word"};
  return {{"input", kInputs[int(shape.input)]},
          {"output", kOutputs[int(shape.output)]},
          {"target", kTargets[int(shape.target)]},
          {"next", kNext[int(shape.next)]},
          {"vocabulary", shape.vocabulary},
          {"max_length", shape.max_length},
          {"height", shape.height},
          {"width", shape.width},
          {"channels", shape.channels},
          {"features", shape.features},
          {"input_mean", shape.input_mean},
          {"input_deviation", shape.input_deviation},
          {"graph", shape.graph},
          {"classes", shape.classes},
          {"max_outputs", shape.max_outputs},
          {"class_names", shape.class_names},
          {"token_names", shape.token_names},
          {"value_mean", shape.value_mean},
          {"value_deviation", shape.value_deviation}};
}

// The value of task.tokens, which says how text becomes tokens; empty if the task has no such key.
std::string tokens_of(const Config& config) {
  return config.task_options.contains("tokens") ? get_string(config.task_options, "tokens") : "";
}

Json to_json(const Example& example) {
  Json json;
  if (!example.ids.empty()) json["ids"] = example.ids;
  const std::string_view features(reinterpret_cast<const char*>(example.features.data()),
                                  example.features.size() * sizeof(float));
  if (!features.empty()) json["features"] = to_base64(features);
  if (!example.edges.empty()) json["edges"] = example.edges;
  if (!example.targets.empty()) json["targets"] = example.targets;
  if (!example.values.empty()) json["values"] = example.values;  // NaN becomes null
  return json;
}

// The first examples of the test split, as many as fit in `room` bytes; none if its files are
// missing.
Json examples_of(const Task& task, std::size_t room) try {
  const auto test = task.dataset(Split::test);
  Json examples = Json::array();
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < std::min(kMostExamples, test->size()); ++i) {
    Json example = to_json(test->get(0, i));
    bytes += example.dump().size();
    if (bytes > room) break;
    examples.push_back(std::move(example));
  }
  return examples;
} catch (const DataError&) {
  return Json::array();
}

// Rows [step, value] of the accuracy on the validation split; of R² or the loss if there is no
// accuracy.
Json curve_of(const std::string& directory) {
  if (directory.empty()) return nullptr;
  const RunHistory run = read_run(directory);
  const MetricsRow* last = run.last("validation");
  if (last == nullptr) return nullptr;
  const auto has = [&](const char* name) { return last->number(name).has_value(); };
  const std::string metric = has("accuracy") ? "accuracy" : has("r2") ? "r2" : "loss";
  Json points = Json::array();
  for (const MetricsRow& row : run.rows) {
    const auto value = row.split == "validation" ? row.number(metric) : std::nullopt;
    if (value) points.push_back({row.step, *value});
  }
  const std::size_t every = points.size() / kMostPoints + 1;
  Json some = Json::array();
  for (std::size_t i = (points.size() - 1) % every; i < points.size(); i += every) {
    some.push_back(points[i]);
  }
  return {{"metric", metric}, {"points", some}};
}

// JSON that is also safe inside an HTML element.
std::string to_text(const Json& json) {
  std::string text;
  for (const char c : json.dump(-1, ' ', false, Json::error_handler_t::replace)) {
    text += c == '<' ? "\\u003c" : std::string(1, c);
  }
  return text;
}

// The checkpoints of a run, or the checkpoint that `path` names.
std::vector<CheckpointFile> checkpoints_of(const std::string& path, const FoundRun& found) {
  if (!std::filesystem::is_directory(path)) return {{found.file, found.checkpoint.step}};
  auto files = list_checkpoints({Folder(path), "checkpoints"});
  std::erase_if(files, [&](const auto& file) { return file.step > found.checkpoint.step; });
  return files;
}

// The checkpoints to show, counted from the last, which is 0.
std::vector<std::size_t> choose(std::size_t count, std::size_t bytes, std::size_t every,
                                const std::string& origin) {
  check<ConfigError>(bytes <= kMost, origin, ": a page with these weights would have ", bytes,
                     " bytes, and at most ", kMost, " are allowed");
  const std::size_t fit = std::clamp<std::size_t>(kUsual / bytes, 1, count);
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; every > 0 && i < count; i += every) chosen.push_back(i);
  for (std::size_t i = 0; every == 0 && i < fit; ++i) {
    chosen.push_back(fit == 1 ? 0 : i * (count - 1) / (fit - 1));
  }
  const std::size_t most = kMost / bytes;
  check<ConfigError>(chosen.size() <= most, "--every: ", chosen.size(), " checkpoints of ", bytes,
                     " bytes are more than the ", kMost, " bytes that are allowed; --every ",
                     (count + most - 1) / most, " shows fewer");
  return chosen;
}

std::string name_of(const std::string& path) {
  const auto absolute = std::filesystem::absolute(path).lexically_normal();
  return (absolute.has_filename() ? absolute : absolute.parent_path()).filename().string();
}

}  // namespace

Explanation explain_html(const std::string& run, std::size_t every, Take take) {
  const FoundRun found = find_run(run, {}, take);
  const auto unknown = unknown_settings(found.config, known_to_onnx());
  check<ConfigError>(unknown.empty(), "explain does not support ", joined(unknown));
  const auto task = make_task(found.config, &found.checkpoint);

  Json tensors = Json::array();
  for (const NamedTensor& t : found.checkpoint.parameters) {
    tensors.push_back({t.name, xgrad::shape_of(t.tensor)});
  }
  const auto files = checkpoints_of(run, found);
  const std::size_t bytes = count(found.checkpoint.parameters) * 16 / 3 + 4;
  const auto chosen = choose(files.size(), bytes, every, found.file);

  Explanation page;
  std::string weights;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto& [path, step] = files[i];
    const bool shown = std::ranges::find(chosen, files.size() - 1 - i) != chosen.end();
    try {
      if (shown) {
        const bool newest = step == found.checkpoint.step;
        const Checkpoint of_step =
            newest ? weights_of(found.checkpoint) : weights_of(load_checkpoint(path));
        weights += fmt::format("<script type=\"text/plain\" data-step=\"{}\">{}</script>\n", step,
                               float32(of_step.parameters));
      }
      (shown ? page.steps : page.left_out).push_back(step);
    } catch (const CheckpointError&) {
      page.left_out.push_back(step);
    }
  }
  Json data{{"name", name_of(found.directory.empty() ? run : found.directory)},
            {"task", found.config.task},
            {"version", kVersion},
            {"config", model_of(found.config)},
            {"shape", shape_of(task->shape())},
            {"tokens", tokens_of(found.config)},
            {"tensors", tensors},
            {"left_out", page.left_out},
            {"curve", curve_of(found.directory)}};
  const std::size_t rest = std::strlen(page::kBody) + std::strlen(page::kStyle) +
                           std::strlen(page::kModel) + std::strlen(page::kText) +
                           std::strlen(page::kScript) + to_text(data).size();
  // Base64 takes 5.33 of the 5.6 bytes of a weight; names of many tokens come with many weights.
  const std::size_t most = kMostOfRest + count(found.checkpoint.parameters) / 4;
  data["examples"] = examples_of(*task, most - std::min(most, rest));
  page.html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
      "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
      "<title>A model, explained</title>\n<style>{}</style>\n</head>\n<body>\n{}"
      "<script type=\"application/json\" id=\"data\">{}</script>\n{}"
      "<script type=\"module\" id=\"code\">\n{}{}{}</script>\n</body>\n</html>\n",
      page::kStyle, page::kBody, to_text(data), weights, page::kModel, page::kText, page::kScript);
  return page;
}

}  // namespace xgrad
