#include <algorithm>
#include <numeric>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/synthetic/synthetic.hpp>

namespace xgrad {

namespace {

// Ids after the ten digits.
enum Token : std::int32_t { minimum = 10, maximum, median, sum_modulo, end };

std::int32_t apply(std::int32_t operation, Tokens values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  switch (operation) {
    case minimum:
      return values.front();
    case maximum:
      return values.back();
    case median:
      return (values[(n - 1) / 2] + values[n / 2]) / 2;  // rounded down
    default:
      return std::accumulate(values.begin(), values.end(), 0) % 10;
  }
}

Tokens solve(const Tokens& ids) {
  struct Open {
    std::int32_t operation;
    Tokens values;
  };
  std::vector<Open> waiting = {{end, {}}};  // the whole line
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < minimum) {
      waiting.back().values.push_back(ids[i]);
    } else if (ids[i] != end) {
      waiting.push_back({ids[i], {}});
    } else {
      check<DataError>(waiting.size() > 1, "token ", i + 1, " is a ] without an open list");
      check<DataError>(!waiting.back().values.empty(), "token ", i + 1,
                       " is a ] that closes an empty list");
      const std::int32_t value = apply(waiting.back().operation, std::move(waiting.back().values));
      waiting.pop_back();
      waiting.back().values.push_back(value);
    }
  }
  check<DataError>(waiting.size() == 1, "a ] is missing");
  check<DataError>(waiting[0].values.size() == 1, "expected one value, got ",
                   waiting[0].values.size());
  return {waiting[0].values[0]};
}

// Draws a list of up to `most` members, with at most `depth` levels of lists.
void draw(const Rng& rng, std::size_t depth, std::size_t most, Tokens& ids) {
  ids.push_back(std::int32_t(minimum + rng.below(4, 0)));
  const std::size_t count = 2 + rng.below(most - 1, 1);
  for (std::size_t i = 0; i < count; ++i) {
    if (depth > 1 && rng.below(2, 2 + 2 * i) == 1) {
      draw(rng / i, depth - 1, most, ids);
    } else {
      ids.push_back(std::int32_t(rng.below(10, 3 + 2 * i)));
    }
  }
  ids.push_back(end);
}

}  // namespace

// ListOps (Nangia and Bowman 2018), with much shorter lists than in the Long Range Arena.
TaskEntry listops_task() {
  const auto describe = [](const Options& options) {
    const std::size_t depth = get_size(options, "depth"), most = get_size(options, "arguments");
    Synthetic task;
    task.shape.output = OutputKind::sequence;
    task.shape.classes = 10;
    task.shape.max_length = 1;
    for (std::size_t level = 0; level < depth; ++level) {
      task.shape.max_length = 2 + most * task.shape.max_length;
    }
    task.shape.token_names = {"0", "1", "2",    "3",    "4",    "5",   "6", "7",
                              "8", "9", "[MIN", "[MAX", "[MED", "[SM", "]"};
    task.draw = [=](const Rng& rng) {
      Example example;
      draw(rng, depth, most, example.ids);
      return example;
    };
    task.solve = solve;
    return task;
  };
  return synthetic_task(
      {.name = "listops",
       .summary = "Evaluate nested lists of digits: MIN, MAX, MED(ian), SM (sum mod 10).",
       .options = {{"depth", 2, "Maximum levels of nested lists.", 1, 4},
                   {"arguments", 4, "Maximum number of members of a list.", 2, 6}},
       .needs = "Positions and about one layer for each level; sums modulo 10 are hard.",
       .theory =
           "needs positions and depth: about one layer for each level; nesting without a bound is "
           "beyond a fixed depth unless TC0 = NC1 (Merrill and Sabharwal 2023, arXiv:2207.00729)",
       .source = "Nangia and Bowman 2018, arXiv:1804.06028; the Long Range Arena of Tay et al. "
                 "2021, arXiv:2011.04006, reports 0.3637 at lengths from 500 to 2000"},
      describe);
}

}  // namespace xgrad
