// The commands attention and patch, which show what happens inside a model.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include <xgrad/autograd/check.hpp>
#include <xgrad/cli/command.hpp>
#include <xgrad/data/example_text.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/text/excerpt.hpp>
#include <xgrad/train/inspect/activations.hpp>
#include <xgrad/train/inspect/attention_study.hpp>
#include <xgrad/train/predict/predictor.hpp>
#include <xgrad/train/report/report.hpp>

namespace xgrad::commands {

namespace {

using Names = std::vector<std::string>;

struct AttentionArguments : RunArguments {
  std::string out;
  std::size_t examples = 1000, maps = 16;
  std::optional<std::string> text, silence, outputs;
};

// Parses "0.1,1.3": pairs of LAYER.HEAD.
std::vector<Head> parse_heads(const std::string& text) {
  constexpr const char* kExpected = "--silence: expected LAYER.HEAD such as 0.1";
  std::vector<Head> heads;
  std::istringstream pairs(text);
  for (std::string pair; std::getline(pairs, pair, ',');) {
    auto& [layer, head] = heads.emplace_back();
    std::istringstream words(pair);
    char dot = 0;
    const bool good = pair.find_first_not_of("0123456789.") == pair.npos &&
                      words >> layer >> dot >> head && dot == '.' && words.eof();
    xgrad::check<ConfigError>(good, kExpected, ", got ", excerpt(pair));
  }
  xgrad::check<ConfigError>(!heads.empty(), kExpected);
  return heads;
}

template <class T>
Example parsed(const LoadedModel<T>& loaded, const std::string& text) {
  Example example = loaded.task->parse(text);
  check_example(example, loaded.shape, 1);
  return example;
}

template <class T>
int show_line(const LoadedModel<T>& loaded, const AttentionArguments& a) {
  std::vector<Example> example{parsed(loaded, *a.text)};
  set_outputs(loaded, a.outputs ? std::vector{*a.outputs} : Names(), example);
  const char* const origin = a.outputs ? "of --outputs (teacher forcing)" : "decoded greedily";
  if (loaded.shape.output == OutputKind::generated) {
    fmt::print("outputs {}: {}\n\n", origin, target_text(example[0], loaded.shape));
  }
  const Batch batch = collate(example, loaded.shape);
  for (const AttentionMap& map : attention_maps(*loaded.model, loaded.parameters, batch)) {
    const auto [rows, columns] = map_names(map, example[0], loaded.shape);
    for (std::size_t head = 0; head < map.probabilities.shape()[1]; ++head) {
      const std::string text = heat_map(map.probabilities, 0, head, rows, columns);
      fmt::print("{}, head {}\n{}\n", map.path, head, text);
    }
  }
  return 0;
}

template <class T>
std::string file_of(const LoadedModel<T>& loaded, const Dataset& dataset,
                    const AttentionStudy& study, std::size_t count) {
  std::vector<Example> examples;
  Names inputs, outputs;
  for (std::size_t i = 0; i < std::min(count, study.examples); ++i) {
    const Example& one = examples.emplace_back(dataset.get(0, i));
    inputs.push_back(input_text(one, loaded.shape));
    if (study.forced) outputs.push_back(target_text(one, loaded.shape));
  }
  const Batch batch = collate(examples, loaded.shape);
  return to_hdf5(study, attention_maps(*loaded.model, loaded.parameters, batch), inputs, outputs);
}

int attention(const AttentionArguments& a) {
  if (!a.out.empty()) check_new(a.out);
  const FoundRun source = a.find();
  return load_model(source)->visit([&](const auto& loaded) {
    if (a.text) return show_line(loaded, a);
    const auto all = loaded.task->dataset(Split::test);
    const Subset test(*all, a.examples);
    const Objective objective = make_objective(source.config.train, loaded.shape);
    const Pass pass{test, loaded.shape, source.config.train.batch};
    if (a.silence) {
      fmt::print("{}", to_text(silence_heads(*loaded.model, loaded.parameters, pass, objective,
                                             parse_heads(*a.silence))));
      return 0;
    }
    const AttentionStudy study = study_attention(*loaded.model, loaded.parameters, pass, objective);
    xgrad::check<ConfigError>(!study.layers.empty(), source.file, ": the model has no attention");
    fmt::print("{}", to_text(study));
    if (!a.out.empty()) publish_file(a.out, file_of(loaded, test, study, a.maps));
    return 0;
  });
}

// The names of the positions; "3>5" where the tokens of the inputs differ.
Names position_names(const Example& from, const Example& to, const TaskShape& shape,
                     std::size_t positions) {
  auto names = token_names(from, shape, positions), others = token_names(to, shape, positions);
  for (std::size_t p = 0; p < positions; ++p) {
    if (p >= names.size()) names.push_back(std::to_string(p));
    if (p < others.size() && others[p] != names[p]) names[p] += ">" + others[p];
  }
  return names;
}

struct PatchArguments : RunArguments {
  std::string from, to, site = "*residual_*", out;
};

template <class T>
int patch(const PatchArguments& a, const LoadedModel<T>& loaded) {
  const Example from = parsed(loaded, a.from), to = parsed(loaded, a.to);
  const Patching patching =
      patch_activations(*loaded.model, loaded.parameters, loaded.shape, from, to, a.site);
  const auto names = position_names(from, to, loaded.shape, patching.restored.shape()[1]);
  fmt::print("{}", to_text(patching, names));
  if (!a.out.empty()) publish_file(a.out, html::patch_picture(patching, names));
  return 0;
}

}  // namespace

Command attention_command() {
  const auto a = std::make_shared<AttentionArguments>();
  return Command(
      "attention", "Show what each head attends to and how much it matters",
      {{"run", kRun, &a->run, kRequired},
       {"--examples", "maximum number of test examples", &a->examples, kPositive},
       {"--out", "new HDF5 file for attention maps and metrics", &a->out, kNewPath},
       {"--maps", "number of examples whose maps --out stores", &a->maps,
        Rules{.positive = true, .needs = {"--out"}}},
       {"--text", "draw the maps of this input instead", &a->text,
        Rules{.excludes = {"--examples", "--out"}}},
       {"--outputs",
        "with --text: the outputs that a decoder reads (teacher forcing); default: its own greedy "
        "outputs",
        &a->outputs, Rules{.needs = {"--text"}}},
       {"--silence",
        "evaluate the model with the outputs of all these heads set to 0; 0.1,1.3 is head 1 of "
        "layer 0 and head 3 of layer 1, counted from 0",
        &a->silence, Rules{.excludes = {"--out", "--maps", "--text"}, .value = "LAYER.HEAD,..."}},
       last_option(*a)},
      [a] { return attention(*a); });
}

Command patch_command() {
  const auto a = std::make_shared<PatchArguments>();
  return Command(
      "patch", "Show which activations cause the difference between the outputs for two inputs",
      {{"run", kRun, &a->run, kRequired},
       {"--from", "the input to run with replaced activations", &a->from, kRequired},
       {"--to", "the input that the replacements come from; must be as long as --from", &a->to,
        kRequired},
       {"--site",
        "names of the activations, as `xgrad summary` lists them; * matches any text, ? any one "
        "character",
        &a->site, Rules{.value = "PATTERN"}},
       {"--out", "new SVG file for a picture of the table", &a->out, kNewPath},
       last_option(*a)},
      [a] {
        if (!a->out.empty()) check_new(a->out);
        return load_model(a->find())->visit([&](const auto& x) { return patch(*a, x); });
      });
}

}  // namespace xgrad::commands
