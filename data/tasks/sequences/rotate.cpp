#include <xgrad/data/synthetic/uniform_tokens.hpp>
#include <xgrad/data/tasks/entries.hpp>

namespace xgrad {

// Output i is input (i + shift) mod N, where N is the length of the sequence.
TaskEntry rotate_task() {
  const auto describe = [](const Options& options) {
    Synthetic task = uniform_tokens(options);
    task.solve = [shift = std::size_t(get_int(options, "shift"))](const Tokens& ids) {
      Tokens turned;
      for (std::size_t i = 0; i < ids.size(); ++i) turned.push_back(ids[(i + shift) % ids.size()]);
      return turned;
    };
    return task;
  };
  auto options = uniform_options();
  options.push_back({"shift", 1, "Places by which each token moves towards the front.", 0, 65536});
  return synthetic_task("rotate",
                        "Move the tokens towards the front; the first ones wrap around to the end.",
                        "Positions and one layer with one head.", options, describe);
}

}  // namespace xgrad
