#include <fmt/format.h>

#include <xgrad/cli/command.hpp>
#include <xgrad/cli/inspect/token_names.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/train/inspect/activations.hpp>
#include <xgrad/train/predict/loaded_model.hpp>
#include <xgrad/train/report/html.hpp>

namespace xgrad::commands {

namespace {

struct Arguments {
  std::string run, from, to, site = "*residual_*", out;
};

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
int patch(const Arguments& arguments, const LoadedModel<T>& loaded) {
  const auto parsed = [&](const std::string& text) {
    Example example = loaded.task->parse(text);
    check_example(example, loaded.shape, 1);
    return example;
  };
  const Example from = parsed(arguments.from), to = parsed(arguments.to);
  const Patching patching =
      patch_activations(*loaded.model, loaded.parameters, loaded.shape, from, to, arguments.site);
  const auto names = position_names(from, to, loaded.shape, patching.restored.shape()[1]);
  fmt::print("{}", to_text(patching, names));
  if (!arguments.out.empty()) publish_file(arguments.out, html::patch_picture(patching, names));
  return 0;
}

}  // namespace

Command patch_command() {
  const auto a = std::make_shared<Arguments>();
  return Command(
      "patch", "Show which activations make the difference between two inputs",
      {{"run", kRun, &a->run, kRequired},
       {"--from", "the input whose run is changed", &a->from, kRequired},
       {"--to", "the input whose activations are put in; as long as --from", &a->to, kRequired},
       {"--site",
        "names of the activations, as `xgrad summary` lists them; * and ? match any characters",
        &a->site,
        {.value = "PATTERN"}},
       {"--out", "new SVG file for a picture of the table", &a->out, kNewPath}},
      [a] {
        if (!a->out.empty()) check_new(a->out);
        return load_model(find_run(a->run))->visit([&](const auto& loaded) {
          return patch(*a, loaded);
        });
      });
}

}  // namespace xgrad::commands
