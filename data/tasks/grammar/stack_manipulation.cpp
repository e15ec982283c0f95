#include <xgrad/autograd/check.hpp>
#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

namespace {

// Ids 0 and 1 are the stack, from the bottom to the top. The others act on it; pop does nothing on
// an empty stack.
constexpr std::int32_t kPop = 2, kPush0 = 3, kEnd = 2;

Tokens solve(const Tokens& ids) {
  Tokens stack;
  bool acts = false;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    check<DataError>(!acts || ids[i] >= kPop, "token ", i + 1,
                     " is part of the stack, which must come before all actions");
    acts = ids[i] >= kPop;
    if (ids[i] < kPop) {
      stack.push_back(ids[i]);
    } else if (ids[i] >= kPush0) {
      stack.push_back(ids[i] - kPush0);
    } else if (!stack.empty()) {
      stack.pop_back();
    }
  }
  Tokens result(stack.rbegin(), stack.rend());
  result.resize(ids.size(), kEnd);
  return result;
}

// Any number of tokens from 1 to length - 1 is the stack.
Example draw(const Rng& rng, std::size_t length) {
  const std::size_t size = 1 + (rng / "size").below(length - 1, 0);
  Example example;
  example.ids = random_tokens(rng / "stack", size, 2);
  for (const std::int32_t action : random_tokens(rng / "actions", length - size, 3)) {
    example.ids.push_back(kPop + action);
  }
  return example;
}

Synthetic describe(const Options& options) {
  Synthetic task;
  task.shape.token_names = {"0", "1", "pop", "push0", "push1"};
  task.shape.class_names = {"0", "1", "end"};
  draw_lengths(task, Lengths(options, 2), draw);
  task.solve = solve;
  return task;
}

}  // namespace

// With one output for each token instead of one more than tokens: the stack never outgrows them.
TaskEntry stack_manipulation_task() {
  return synthetic_task(
      {.name = "stack_manipulation",
       .summary = "Push to and pop from a stack; output it from the top to the bottom.",
       .options = length_options(),
       .needs = "Positions and several layers, which find the size of the stack after each action, "
                "and what is pushed there last.",
       .theory = "needs positions and depth: it takes the size of the stack at each push; encoders "
                 "fail beyond the lengths seen in training (Deletang et al. 2023)",
       .source = "Deletang et al. 2023, arXiv:2207.02098"},
      describe);
}

}  // namespace xgrad
