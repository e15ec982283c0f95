#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include <xgrad/autograd/check.hpp>
#include <xgrad/cli/command.hpp>
#include <xgrad/cli/inspect/token_names.hpp>
#include <xgrad/data/excerpt.hpp>
#include <xgrad/data/text/example_text.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/train/inspect/attention_study.hpp>
#include <xgrad/train/predict/loaded_model.hpp>
#include <xgrad/train/predict/outputs.hpp>

namespace xgrad::commands {

namespace {

struct Arguments {
  std::string run, out;
  std::size_t examples = 1000, maps = 16;
  std::optional<std::string> text, silence, outputs;
};

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
int show_line(const LoadedModel<T>& loaded, const Arguments& arguments) {
  std::vector<Example> example{loaded.task->parse(*arguments.text)};
  check_example(example[0], loaded.shape, 1);
  std::vector<std::string> given;
  if (arguments.outputs) given.push_back(*arguments.outputs);
  set_outputs(*loaded.model, loaded.shape, given, example);
  if (loaded.shape.output == OutputKind::generated) {
    fmt::print("outputs {}: {}\n\n",
               arguments.outputs ? "of --outputs (teacher forcing)" : "decoded greedily",
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

int attention(const Arguments& arguments) {
  if (!arguments.out.empty()) check_new(arguments.out);
  const FoundRun source = find_run(arguments.run);
  return load_model(source)->visit([&](const auto& loaded) {
    if (arguments.text) return show_line(loaded, arguments);
    const auto all = loaded.task->dataset(Split::test);
    const Subset test(*all, arguments.examples);
    const Objective objective = make_objective(source.config.train, loaded.shape);
    const Pass pass{test, loaded.shape, source.config.train.batch};
    if (arguments.silence) {
      fmt::print("{}", to_text(silence_heads(*loaded.model, loaded.parameters, pass, objective,
                                             parse_heads(*arguments.silence))));
      return 0;
    }
    const AttentionStudy study = study_attention(*loaded.model, loaded.parameters, pass, objective);
    xgrad::check<ConfigError>(!study.layers.empty(), source.file, ": the model has no attention");
    fmt::print("{}", to_text(study));
    if (!arguments.out.empty()) {
      publish_file(arguments.out, file_of(loaded, test, study, arguments.maps));
    }
    return 0;
  });
}

}  // namespace

Command attention_command() {
  const auto a = std::make_shared<Arguments>();
  return Command("attention", "Show what each head attends to and how much it matters",
                 {{"run", kRun, &a->run, kRequired},
                  {"--examples", "maximum number of test examples", &a->examples, kPositive},
                  {"--out", "new HDF5 file for attention maps and metrics", &a->out, kNewPath},
                  {"--maps",
                   "number of examples with maps in --out",
                   &a->maps,
                   {.positive = true, .needs = {"--out"}}},
                  {"--text",
                   "draw the maps of this input instead",
                   &a->text,
                   {.excludes = {"--examples", "--out"}}},
                  {"--outputs",
                   "with --text, the outputs that a decoder reads, for teacher forcing; default: "
                   "those that it decodes greedily",
                   &a->outputs,
                   {.needs = {"--text"}}},
                  {"--silence",
                   "measure the model without these heads together, as 0.1,1.3: head 1 of layer 0 "
                   "and head 3 of layer 1, both counted from 0",
                   &a->silence,
                   {.excludes = {"--out", "--maps", "--text"}, .value = "LAYER.HEAD,..."}}},
                 [a] { return attention(*a); });
}

}  // namespace xgrad::commands
