// RowCoder::learn(), which collects VocabularyAndScales in one pass over all rows, and their JSON.
#include <algorithm>
#include <cmath>
#include <exception>
#include <functional>
#include <nlohmann/json.hpp>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/tables/row_coder.hpp>
#include <xgrad/text/excerpt.hpp>
#include <xgrad/text/text.hpp>

namespace xgrad {

namespace {

using Json = nlohmann::json;
using Counts = std::map<std::string, std::size_t>;

// kUnknown, then the texts that occur at least `least` times, most frequent first; ties in byte
// order. At most `most` entries, including kUnknown; 0: no limit.
std::vector<std::string> vocabulary(const Counts& counts, std::size_t most, std::size_t least) {
  std::vector<std::pair<std::string, std::size_t>> kept(counts.begin(), counts.end());
  std::erase_if(kept, [&](const auto& e) { return e.second < least || e.first == kUnknown; });
  std::ranges::stable_sort(kept, std::greater(), [](const auto& e) { return e.second; });
  if (most > 0) kept.resize(std::min(kept.size(), most - 1));
  std::vector<std::string> tokens = {kUnknown};
  for (auto& entry : kept) tokens.push_back(std::move(entry.first));
  return tokens;
}

// Mean and standard deviation of each feature, over all tokens, or of each position in a row.
struct Scale {
  bool by_place;
  // Welford 1962; the square of any double fits into a long double.
  std::vector<long double> count = {}, mean = {}, squares = {};

  void add(const std::string& place, const FieldNumbers& numbers) {
    const std::size_t size = by_place ? numbers.values.size() : numbers.features;
    if (count.empty()) count = mean = squares = std::vector<long double>(size, 0);
    check<DataError>(size == count.size(), place, ": has ", size,
                     " numbers, the earlier rows have ", count.size());
    for (std::size_t i = 0; i < numbers.values.size(); ++i) {
      const std::size_t s = i % size;
      const long double x = numbers.values[i], step = x - mean[s];
      count[s] += 1;
      mean[s] += step / count[s];
      squares[s] += step * (x - mean[s]);
    }
  }

  // A deviation of 0 becomes 1, to be safe to divide by.
  void write(std::vector<double>& means, std::vector<double>& deviations) const {
    means.assign(mean.begin(), mean.end());
    for (std::size_t s = 0; s < count.size(); ++s) {
      const auto own = double(std::sqrt(squares[s] / count[s]));
      deviations.push_back(own > 0 ? own : 1);
    }
  }
};

}  // namespace

std::vector<std::string> class_order(const Counts& counts) {
  std::vector<std::string> names;
  for (const auto& [name, count] : counts) names.push_back(name);
  const auto whole = [](const std::string& name) { return to_number<std::int64_t>(name); };
  if (std::ranges::all_of(names, [&](const std::string& name) { return whole(name).has_value(); }))
    std::ranges::stable_sort(names, {}, whole);
  return names;
}

/// Statistics collected during the pass.
struct RowCoder::Learning {
  const RowCoder& coder;
  Scale input, target{true};
  VocabularyAndScales learned = {};
  std::string file = {};  // file of the rows
  std::size_t rows = 0, training_rows = 0;
  Index<std::string> tokens = {};
  std::vector<std::size_t> token_counts = {};  // by index in `tokens`
  Counts class_counts = {};                    // labels of training rows
  Made made = {};  // reused for the tokens of each row to avoid allocation

  void add(const Table& block, std::size_t row, bool training);
  void count(std::string_view token) {
    const std::uint32_t number = tokens.add(token);
    if (number == token_counts.size()) token_counts.push_back(0);
    ++token_counts[number];
  }
};

void RowCoder::Learning::add(const Table& block, std::size_t row, bool training) {
  std::size_t length = 0;
  if (coder.vectors()) {
    const FieldNumbers values = coder.numbers(block, row);
    length = values.tokens;
    check<DataError>(rows == 0 || values.features == learned.features, block.place(row, 0),
                     ": its vectors have ", values.features, " numbers, those of row 1 have ",
                     learned.features);
    learned.features = values.features;
    if (training) input.add(block.place(row, 0), values);
  } else {
    const auto texts = coder.tokens(block.place(row, 0), block.rows[row][0], made);
    length = texts.size();
    if (training) std::ranges::for_each(texts, [&](std::string_view text) { count(text); });
  }
  learned.max_length = std::max(learned.max_length, length + coder.next());  // for kEnd
  if (coder.least_classes() > 0) {
    for (const Answer& label : coder.labels(block, row, length)) {
      if (training) class_counts[label.name] += label.holds;
    }
  }
  if (coder.options_.labels == Labels::numbers && training) {
    const std::string place = block.place(row, coder.target_column());
    target.add(place, field_numbers(place, block.rows[row][coder.target_column()]));
  }
  ++rows;
  training_rows += training;
}

void RowCoder::learn(const Rows& rows,
                     const std::function<bool(const Table&, std::size_t)>& is_training) {
  Learning learning{*this, {options_.inputs.size() > 1}};
  std::exception_ptr wrong;  // delayed: an error of the file itself, in any row, is reported first
  const std::uint64_t fingerprint = rows([&](const Table& block) {
    learning.file = block.file;
    try {
      for (std::size_t row = 0; !wrong && row < block.rows.size(); ++row) {
        learning.add(block, row, is_training(block, row));
      }
    } catch (const DataError&) {
      wrong = std::current_exception();
    }
  });
  if (wrong) std::rethrow_exception(wrong);
  check<DataError>(learning.training_rows > 0, learning.file, ": none of its ", learning.rows,
                   " rows is in the train split; add rows, or set task.validation and "
                   "task.test");
  VocabularyAndScales& learned = learning.learned;
  learned.fingerprint = fingerprint;
  if (options_.max_length > 0) learned.max_length = options_.max_length;
  if (!vectors()) {
    Counts counts;
    for (std::size_t i = 0; i < learning.tokens.size(); ++i) {
      counts.emplace(learning.tokens.key(i), learning.token_counts[i]);
    }
    learned.tokens = vocabulary(counts, options_.vocabulary, options_.min_count);
  }
  learning.input.write(learned.mean, learned.deviation);
  learning.target.write(learned.target_mean, learned.target_deviation);
  learned.classes = class_order(learning.class_counts);
  if (special() != nullptr) {
    std::erase(learned.tokens, special());
    learned.tokens.insert(learned.tokens.begin() + 1, special());
  } else if (least_classes() > 0) {
    const std::vector<std::string>& classes = learned.classes;
    check<DataError>(classes.size() >= least_classes(), learning.file, ": column \"",
                     options_.target, "\" has ", classes.empty() ? "no label" : "only the label ",
                     classes.empty() ? "" : excerpt(classes[0]),
                     " in the training rows; there must be at least ",
                     least_classes() == 1 ? "one" : "two");
    if (!options_.other.empty()) learned.classes.push_back(options_.other);
  }
  adopt(std::move(learned));
}

void recognise(std::map<std::string, std::uint64_t>& files, const std::string& path,
               std::uint64_t fingerprint) {
  const auto [known, is_new] = files.emplace(path, fingerprint);
  check<DataError>(is_new || known->second == fingerprint, path, kChanged);
}

// The members in a checkpoint.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(VocabularyAndScales, fingerprint, max_length, tokens, classes,
                                   features, mean, deviation, target_mean, target_deviation, files)

std::string to_json(const VocabularyAndScales& learned) {
  return Json(learned).dump();
}

VocabularyAndScales vocabulary_and_scales_from_json(const std::string& text) try {
  const Json json = Json::parse(text);
  const auto learned = json.get<VocabularyAndScales>();
  check<CheckpointError>(learned.mean.size() == learned.deviation.size() &&
                             learned.target_mean.size() == learned.target_deviation.size() &&
                             (learned.features == 0) == learned.mean.empty(),
                         "vocabularies and scales learned from files: the scales differ in length");
  check<CheckpointError>(json.size() == Json(learned).size(),
                         "vocabularies and scales learned from files: has ", json.size(),
                         " members");
  return learned;
} catch (const Json::exception& error) {
  detail::fail<CheckpointError>("vocabularies and scales learned from files: ", error.what());
}

}  // namespace xgrad
