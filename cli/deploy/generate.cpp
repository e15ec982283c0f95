#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include <xgrad/autograd/check.hpp>
#include <xgrad/cli/command.hpp>
#include <xgrad/train/predict/predictor.hpp>

namespace xgrad::commands {

namespace {

struct Arguments {
  std::string run, text;
  double temperature = 1;
  std::size_t seed = 1, length = 1000;
};

// Prints each token as soon as it is chosen.
int generate(const Arguments& arguments) {
  xgrad::check<ConfigError>(std::isfinite(arguments.temperature) && arguments.temperature >= 0,
                            "--temperature: is ", arguments.temperature,
                            ", must be finite and at least 0");
  const TextGenerator generator(arguments.run);
  const auto say = [](const std::string& text) {
    fmt::print("{}", text);
    if (std::fflush(stdout) != 0) throw IoError("cannot write to standard output");
  };
  bool begun = false;
  generator.generate(arguments.text, arguments.length, {arguments.temperature, arguments.seed},
                     [&](const std::string& text) {
                       if (!begun) say(arguments.text);
                       begun = true;
                       say(text);
                     });
  say(begun ? "\n" : arguments.text + "\n");
  return 0;
}

}  // namespace

Command generate_command() {
  const auto a = std::make_shared<Arguments>();
  return Command(
      "generate", "Continue a text with a trained language model",
      {{"run", kRun, &a->run, kRequired},
       {"--text",
        "the beginning of the text, of which the model reads the last task.max_length tokens; "
        "default: the model begins it",
        &a->text},
       {"--temperature", "divides the logits; 0: always the likeliest token", &a->temperature},
       {"--seed", "seed of the random choices", &a->seed},
       {"--length",
        "most tokens to add; a text may end before",
        &a->length,
        {.range = {{1, 1000000000}}}}},
      [a] { return generate(*a); });
}

}  // namespace xgrad::commands
