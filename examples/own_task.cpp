// Your own task, which every command can use:
//
//     own_task train own_task.toml
//     echo "1 0 1 1" | own_task predict runs/own_task
#include <algorithm>

#include <xgrad/cli/command_line.hpp>
#include <xgrad/data/synthetic/synthetic.hpp>

using namespace xgrad;

namespace {

// Whether a sequence of bits has more ones than zeros. The key `bias` sets the probability of a 1.
TaskEntry more_ones() {
  const OptionSpec bias{"bias", 0.5, "Probability that a bit is 1.", 0, 1};
  const auto describe = [](const Options& options, Synthetic& task) {
    const double p = get_double(options, "bias");
    task.shape = {.output = OutputKind::sequence,
                  .vocabulary = 2,
                  .max_length = 15,
                  .classes = 2,
                  .class_names = {"no", "yes"}};
    task.draw = [p](const Rng& rng) {
      Example example;
      for (std::uint32_t i = 0; i < 15; ++i) example.ids.push_back(rng.uniform(i) < p ? 1 : 0);
      return example;
    };
    task.solve = [](const Tokens& ids) {
      const auto ones = std::count(ids.begin(), ids.end(), 1);
      return Tokens{2 * ones > std::ptrdiff_t(ids.size()) ? 1 : 0};
    };
  };
  return synthetic_task({.name = "more_ones",
                         .summary = "Are there more ones than zeros?",
                         .options = {bias},
                         .needs = "A mean over all tokens."},
                        describe);
}

}  // namespace

int main(int argc, char** argv) {
  add_task(more_ones());
  return command_line(argc, argv);
}
