#include <xgrad/autograd/check.hpp>
#include <xgrad/data/synthetic/uniform_tokens.hpp>
#include <xgrad/data/tasks/entries.hpp>

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
  const Lengths lengths(options, 2);
  Synthetic task;
  task.shape.token_names = {"0", "1", "pop", "push0", "push1"};
  task.shape.vocabulary = task.shape.token_names.size();
  task.shape.class_names = {"0", "1", "end"};
  task.shape.classes = task.shape.class_names.size();
  task.shape.max_length = lengths.longest;
  task.draw = [lengths](const Rng& rng) { return draw(rng, lengths.draw(rng)); };
  task.solve = solve;
  return task;
}

}  // namespace

// With one output for each token instead of one more than tokens: the stack never outgrows them.
TaskEntry stack_manipulation_task() {
  return synthetic_task("stack_manipulation",
                        "Push to and pop from a stack; output it from the top to the bottom.",
                        "Positions and several layers, which find the size of the stack after each "
                        "action, and what is pushed there last.",
                        length_options(), describe);
}

}  // namespace xgrad
