#include <algorithm>
#include <map>

#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

using Counts = std::map<std::int32_t, std::int32_t>;

static Counts count_each(const Tokens& values) {
  Counts counts;
  for (const std::int32_t value : values) ++counts[value];
  return counts;
}

// Class c means the count c + 1, because each token occurs at least once.
TaskEntry histogram_task() {
  const auto describe = [](const Options& options) {
    Synthetic task = uniform_tokens(options, [](Tokens ids) {
      const Counts counts = count_each(ids);
      for (std::int32_t& id : ids) id = counts.at(id) - 1;
      return ids;
    });
    task.shape.class_names = numbered(task.shape.max_length, "", 1);
    return task;
  };
  return synthetic_task(
      {.name = "histogram",
       .summary = "For each token, say how often it occurs in the sequence.",
       .options = uniform_options(),
       .needs = "No positions, one layer, and a width of at least the number of symbols.",
       .theory = "solvable: one layer suffices if the width is at least the number of symbols "
                 "(Yehudai et al. 2024, arXiv:2407.15160)",
       .source = "Weiss, Goldberg and Yahav 2021, arXiv:2106.06981; Behrens, Biggio and Zdeborova "
                 "2024, arXiv:2407.11542"},
      describe);
}

// Class c means the number c + 1, because each symbol occurs as often as itself.
TaskEntry double_histogram_task() {
  const auto describe = [](const Options& options) {
    Synthetic task = uniform_tokens(options, [](Tokens ids) {
      const Counts counts = count_each(ids);
      Counts symbols;  // how many symbols occur so often
      for (const auto& [id, count] : counts) ++symbols[count];
      for (std::int32_t& id : ids) id = symbols.at(counts.at(id)) - 1;
      return ids;
    });
    const std::size_t most = std::min(task.shape.vocabulary, task.shape.max_length);
    task.shape.class_names = numbered(most, "", 1);
    return task;
  };
  return synthetic_task(
      {.name = "double_histogram",
       .summary = "For each token, count the symbols that occur as often as it does.",
       .options = uniform_options(),
       .needs = "No positions and two layers: the first counts tokens, the second counts counts.",
       .theory =
           "needs depth: a count of counts needs the counts of another layer (Weiss et al. 2021)",
       .source = "Weiss, Goldberg and Yahav 2021, Thinking Like Transformers, arXiv:2106.06981"},
      describe);
}

TaskEntry most_frequent_task() {
  const auto describe = [](const Options& options) {
    return one_target(uniform_tokens(options, [](const Tokens& ids) {
      const Counts counts = count_each(ids);
      // The first of several maxima.
      return Tokens{std::ranges::max_element(counts, {}, &Counts::value_type::second)->first};
    }));
  };
  return synthetic_task(
      {.name = "most_frequent",
       .summary = "Find the most frequent token; of several, the smallest.",
       .options = uniform_options(),
       .needs = "No positions and two layers, the second to compare counts; close counts are hard.",
       .theory = "needs depth: one layer counts, the next compares counts (Weiss et al. 2021)",
       .source =
           "after the sorting by frequency of Weiss, Goldberg and Yahav 2021, arXiv:2106.06981"},
      describe);
}

}  // namespace xgrad
