#include <xgrad/autograd/check.hpp>
#include <xgrad/data/synthetic/uniform_tokens.hpp>
#include <xgrad/data/tasks/entries.hpp>

namespace xgrad {

TaskEntry kth_element_task() {
  const auto describe = [](const Options& options) {
    Synthetic task = uniform_tokens(options);
    const auto k = std::size_t(get_int(options, "k"));
    const Lengths lengths(options);
    check<ConfigError>(k <= lengths.shortest, "k is ", k, ", must be at most ", lengths.shortest,
                       ", the shortest length");
    task.shape.output = OutputKind::sequence;
    task.solve = [k](const Tokens& ids) {
      check<DataError>(k <= ids.size(), "expected at least ", k, " tokens");
      return Tokens{ids[k - 1]};
    };
    return task;
  };
  auto options = uniform_options();
  options.push_back({"k", 5, "The place to read, counted from 1.", 1, 65536});
  return synthetic_task("kth_element", "Output the k-th token of the sequence.",
                        "Positions and one layer with one head.", options, describe);
}

}  // namespace xgrad
