// The commands attention and patch, which show what happens inside a model.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include <xgrad/autograd/check.hpp>
#include <xgrad/cli/command.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/excerpt.hpp>
#include <xgrad/data/text/example_text.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/train/inspect/activations.hpp>
#include <xgrad/train/inspect/attention_study.hpp>
#include <xgrad/train/predict/loaded_model.hpp>
#include <xgrad/train/predict/predictor.hpp>
#include <xgrad/train/report/html.hpp>

namespace xgrad::commands {

namespace {

struct AttentionArguments {
  std::string run, out;
  std::size_t examples = 1000, maps = 16;
  std::optional<std::string> text, silence, outputs;
};

struct PatchArguments {
  std::string run, from, to, site = "*residual_*", out;
};

// The names of `rows` positions: the example's tokens, after [class] if there is one row more;
// empty if the example has no tokens.
std::vector<std::string> token_names(const Example& example, const TaskShape& shape,
                                     std::size_t rows) {
  Example tokens;  // without edges, which have no rows
  tokens.ids = example.ids;
  std::vector<std::string> names;
  std::istringstream words(shape.input == InputKind::tokens ? input_text(tokens, shape) : "");
  for (std::string word; words >> word;) names.push_back(word);
  if (names.size() + 1 == rows) names.insert(names.begin(), "[class]");
  return names;
}

// The names of the queries and the keys of an attention map; empty if they are unknown.
struct MapNames {
  std::vector<std::string> rows, columns;
};

// Names the rows and columns of a map of an example. In a decoder, a row is the output that the
// model predicts there. In its self-attention, a column is the output that it reads there, after
// "[begin]".
MapNames map_names(const AttentionMap& map, const Example& example, const TaskShape& shape) {
  const auto inputs = token_names(example, shape, map.probabilities.shape()[3]);
  if (shape.output != OutputKind::generated || !map.path.starts_with("decoder.")) {
    return {inputs, inputs};
  }
  MapNames names{{}, inputs};
  for (const std::int32_t c : example.targets) names.rows.push_back(class_text(c, shape));
  if (map.path.ends_with("self_attn")) {
    names.columns = names.rows;
    names.columns.insert(names.columns.begin(), "[begin]");
    names.columns.pop_back();
  }
  return names;
}

// Parses "0.1,1.3": pairs of LAYER.HEAD.
std::vector<Head> parse_heads(const std::string& text) {
  std::vector<Head> heads;
  std::istringstream pairs(text);
  for (std::string pair; std::getline(pairs, pair, ',');) {
    Head head;
    std::istringstream words(pair);
    char dot = 0;
    const bool good = pair.find_first_not_of("0123456789.") == pair.npos &&
                      words >> head.layer >> dot >> head.head && dot == '.' && words.eof();
    xgrad::check<ConfigError>(good, "--silence: expected LAYER.HEAD such as 0.1, got ",
                              excerpt(pair));
    heads.push_back(head);
  }
  xgrad::check<ConfigError>(!heads.empty(), "--silence: expected LAYER.HEAD such as 0.1");
  return heads;
}

template <class T>
int show_line(const LoadedModel<T>& loaded, const AttentionArguments& a) {
  std::vector<Example> example{loaded.task->parse(*a.text)};
  check_example(example[0], loaded.shape, 1);
  std::vector<std::string> given;
  if (a.outputs) given.push_back(*a.outputs);
  set_outputs(loaded, given, example);
  if (loaded.shape.output == OutputKind::generated) {
    fmt::print("outputs {}: {}\n\n",
               a.outputs ? "of --outputs (teacher forcing)" : "decoded greedily",
               target_text(example[0], loaded.shape));
  }
  const Batch batch = collate(example, loaded.shape);
  for (const AttentionMap& map : attention_maps(*loaded.model, loaded.parameters, batch)) {
    const MapNames names = map_names(map, example[0], loaded.shape);
    for (std::size_t head = 0; head < map.probabilities.shape()[1]; ++head) {
      fmt::print("{}, head {}\n{}\n", map.path, head,
                 heat_map(map.probabilities, 0, head, names.rows, names.columns));
    }
  }
  return 0;
}

template <class T>
std::string file_of(const LoadedModel<T>& loaded, const Dataset& dataset,
                    const AttentionStudy& study, std::size_t count) {
  std::vector<Example> examples;
  std::vector<std::string> inputs, outputs;
  for (std::size_t i = 0; i < std::min(count, study.examples); ++i) {
    examples.push_back(dataset.get(0, i));
    inputs.push_back(input_text(examples.back(), loaded.shape));
    if (study.forced) outputs.push_back(target_text(examples.back(), loaded.shape));
  }
  const Batch batch = collate(examples, loaded.shape);
  return to_hdf5(study, attention_maps(*loaded.model, loaded.parameters, batch), inputs, outputs);
}

int attention(const AttentionArguments& a) {
  if (!a.out.empty()) check_new(a.out);
  const FoundRun source = find_run(a.run);
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
    if (!a.out.empty()) {
      publish_file(a.out, file_of(loaded, test, study, a.maps));
    }
    return 0;
  });
}

// The names of the positions; "3>5" where the tokens of the inputs differ.
std::vector<std::string> position_names(const Example& from, const Example& to,
                                        const TaskShape& shape, std::size_t positions) {
  std::vector<std::string> names = token_names(from, shape, positions);
  const std::vector<std::string> others = token_names(to, shape, positions);
  for (std::size_t p = 0; p < names.size() && p < others.size(); ++p) {
    if (others[p] != names[p]) names[p] += ">" + others[p];
  }
  for (std::size_t p = names.size(); p < positions; ++p) names.push_back(std::to_string(p));
  return names;
}

template <class T>
int patch(const PatchArguments& a, const LoadedModel<T>& loaded) {
  const auto parsed = [&](const std::string& text) {
    Example example = loaded.task->parse(text);
    check_example(example, loaded.shape, 1);
    return example;
  };
  const Example from = parsed(a.from), to = parsed(a.to);
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
       {"--maps", "number of examples with maps in --out", &a->maps,
        Rules{.positive = true, .needs = {"--out"}}},
       {"--text", "draw the maps of this input instead", &a->text,
        Rules{.excludes = {"--examples", "--out"}}},
       {"--outputs",
        "with --text, the outputs that a decoder reads, for teacher forcing; default: "
        "those that it decodes greedily",
        &a->outputs, Rules{.needs = {"--text"}}},
       {"--silence",
        "measure the model without these heads together, as 0.1,1.3: head 1 of layer 0 "
        "and head 3 of layer 1, both counted from 0",
        &a->silence, Rules{.excludes = {"--out", "--maps", "--text"}, .value = "LAYER.HEAD,..."}}},
      [a] { return attention(*a); });
}

Command patch_command() {
  const auto a = std::make_shared<PatchArguments>();
  return Command(
      "patch", "Show which activations make the difference between two inputs",
      {{"run", kRun, &a->run, kRequired},
       {"--from", "the input to run with replaced activations", &a->from, kRequired},
       {"--to", "the input whose activations are put in; as long as --from", &a->to, kRequired},
       {"--site",
        "names of the activations, as `xgrad summary` lists them; * and ? match any characters",
        &a->site, Rules{.value = "PATTERN"}},
       {"--out", "new SVG file for a picture of the table", &a->out, kNewPath}},
      [a] {
        if (!a->out.empty()) check_new(a->out);
        return load_model(find_run(a->run))->visit([&](const auto& loaded) {
          return patch(*a, loaded);
        });
      });
}

}  // namespace xgrad::commands
