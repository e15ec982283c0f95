#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

TaskEntry copy_task() {
  const auto describe = [](const Options& options) {
    return uniform_tokens(options, [](const Tokens& ids) { return ids; });
  };
  return synthetic_task({.name = "copy",
                         .summary = "Output each token unchanged.",
                         .options = uniform_options(),
                         .needs = "Neither positions nor layers: the residual path is enough.",
                         .theory = "solvable: the residual path carries each token to its output",
                         .source = "Rush 2018, The Annotated Transformer"},
                        describe);
}

}  // namespace xgrad
