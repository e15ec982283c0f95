// RowCoder::learn(): collects statistics of the training rows, in one pass over all rows.
#include <algorithm>
#include <exception>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/excerpt.hpp>
#include <xgrad/data/tables/row_coder.hpp>
#include <xgrad/data/text/text.hpp>

namespace xgrad {

/// Statistics collected during the pass.
struct RowCoder::Learning {
  explicit Learning(bool by_place) : input(by_place) {}

  void count(std::string_view token) {
    const std::uint32_t number = tokens.add(token);
    if (number == token_counts.size()) token_counts.push_back(0);
    ++token_counts[number];
  }
  Counts counts_of_tokens() const {
    Counts counts;
    for (std::size_t i = 0; i < tokens.size(); ++i) counts.emplace(tokens.key(i), token_counts[i]);
    return counts;
  }

  VocabularyAndScales learned = {};
  std::string file = {};  // file of the rows
  std::size_t rows = 0, training_rows = 0;
  Index<std::string> tokens = {};
  std::vector<std::size_t> token_counts = {};  // by index in `tokens`
  Counts class_counts = {};                    // labels of training rows
  Scale input, target{true};
  Made made = {};  // reused for the tokens of each row to avoid allocation
};

void RowCoder::learn_row(const Table& block, std::size_t row, bool training,
                         Learning& learning) const {
  VocabularyAndScales& learned = learning.learned;
  std::size_t count = 0;
  if (vectors()) {
    const FieldNumbers values = numbers(block, row);
    count = values.tokens;
    check<DataError>(learning.rows == 0 || values.features == learned.features, block.place(row, 0),
                     ": its vectors have ", values.features, " numbers, those of row 1 have ",
                     learned.features);
    learned.features = values.features;
    if (training) learning.input.add(block.place(row, 0), values);
  } else {
    const auto texts = tokens(block.place(row, 0), block.rows[row][0], learning.made);
    count = texts.size();
    if (training)
      for (const std::string_view text : texts) learning.count(text);
  }
  learned.max_length = std::max(learned.max_length, count + next());  // kEnd comes before it
  if (least_classes() > 0) {
    for (const Answer& label : labels(block, row, count)) {
      if (training) learning.class_counts[label.name] += label.holds;
    }
  }
  if (options_.labels == Labels::numbers && training) {
    const std::string place = block.place(row, target_column());
    learning.target.add(place, field_numbers(place, block.rows[row][target_column()]));
  }
  ++learning.rows;
  learning.training_rows += training;
}

void RowCoder::learn(const Rows& rows,
                     const std::function<bool(const Table&, std::size_t)>& is_training) {
  Learning learning(options_.inputs.size() > 1);
  std::exception_ptr wrong;  // delayed: an error of the file itself, in any row, is reported first
  const std::uint64_t fingerprint = rows([&](const Table& block) {
    learning.file = block.file;
    try {
      for (std::size_t row = 0; !wrong && row < block.rows.size(); ++row) {
        learn_row(block, row, is_training(block, row), learning);
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
    learned.tokens =
        vocabulary(learning.counts_of_tokens(), options_.vocabulary, options_.min_count);
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

}  // namespace xgrad
