#include <xgrad/data/files/row_task.hpp>

#include <array>
#include <mutex>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/random.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/files/fields.hpp>
#include <xgrad/data/files/text.hpp>
#include <xgrad/data/files/unknown.hpp>
#include <xgrad/data/rules.hpp>

namespace xgrad {

namespace {

// Tokens of the longest n-grams that naive Bayes counts.
constexpr std::size_t kMostCharacters = 4, kMostWords = 2;

using Examples = std::shared_ptr<const std::vector<Example>>;

class RowDataset final : public Dataset {
 public:
  explicit RowDataset(Examples examples) : examples_(std::move(examples)) {}
  std::size_t size() const override { return examples_->size(); }
  Example get(std::uint64_t, std::size_t index) const override { return (*examples_)[index]; }
  std::size_t length(std::size_t index, const TaskShape& shape) const override {
    return length_of((*examples_)[index], shape);
  }

 private:
  Examples examples_;
};

/// Hides tokens: of training rows others in each epoch, of other rows always the same.
class MaskedDataset final : public Dataset {
 public:
  MaskedDataset(Examples examples, Split split, double rate, std::uint64_t seed)
      : examples_(std::move(examples)),
        fresh_(split == Split::train),
        rate_(rate),
        rng_(Rng(fresh_ ? seed : 0) / "masked" / to_string(split)) {}

  std::size_t size() const override { return examples_->size(); }

  Example get(std::uint64_t epoch, std::size_t index) const override {
    Example example = (*examples_)[index];
    const Rng own = rng_ / (fresh_ ? epoch : 0) / index;
    example.targets.assign(example.ids.size(), kIgnore);
    const std::size_t one = own.below(example.ids.size(), 0);  // so that no row is without any
    for (std::size_t i = 0; i < example.ids.size(); ++i) {
      if (i != one && own.uniform(i + 1) >= rate_) continue;
      example.targets[i] = example.ids[i];
      example.ids[i] = kMaskId;
    }
    return example;
  }

  std::size_t length(std::size_t index, const TaskShape& shape) const override {
    return length_of((*examples_)[index], shape);
  }

 private:
  Examples examples_;
  bool fresh_;
  double rate_;
  Rng rng_;
};

class RowTask final : public Task {
 public:
  RowTask(RowSource source, RowOptions options, std::uint64_t seed)
      : source_(std::move(source)), coder_(source_.task, std::move(options)), seed_(seed) {}

  TaskShape shape() const override {
    const std::lock_guard lock(mutex_);
    learn();
    return coder_.shape();
  }

  std::unique_ptr<Dataset> dataset(Split split) const override {
    const std::lock_guard lock(mutex_);
    learn();
    Examples& examples = examples_[std::size_t(split)];
    if (!examples && source_.has_own(split) && split != Split::train) {
      const Table table = source_.read(split);
      recognise(files_, table.file, table.fingerprint);
      std::vector<std::size_t> rows(table.rows.size());
      for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = i;
      examples = encode(table, rows);
    }
    if (!examples) encode_training_rows(source_.read(Split::train));
    const RowOptions& options = coder_.options();
    std::unique_ptr<Dataset> data = std::make_unique<RowDataset>(examples);
    if (options.labels == Labels::masked) {
      data = std::make_unique<MaskedDataset>(examples, split, options.masked, seed_);
    }
    if (split != Split::train || options.unknown == 0 || coder_.vectors()) return data;
    return unknown_dataset(std::move(data), count_tokens(*examples), options.unknown, seed_,
                           options.labels == Labels::masked);
  }

  Example parse(const std::string& line) const override {
    const std::lock_guard lock(mutex_);
    learn();
    return coder_.parse(line);
  }

  std::string learned() const override {
    const std::lock_guard lock(mutex_);
    learn();
    Learned all = coder_.learned();
    all.files = files_;
    return to_json(all);
  }

  void adopt(const std::string& learned) override {
    const std::lock_guard lock(mutex_);
    Learned all = learned_from_json(learned);
    files_ = all.files;
    coder_.adopt(std::move(all));
  }

  std::vector<Rule> rules() const override {
    if (source_.rules) return source_.rules(*dataset(Split::train), *dataset(Split::test));
    const TaskShape shape = this->shape();
    const bool of_text = shape.input == InputKind::tokens && shape.output == OutputKind::sequence &&
                         shape.target != TargetKind::numbers;
    if (!of_text) return {};
    return {naive_bayes(
        *this, coder_.options().tokens == TokenKind::characters ? kMostCharacters : kMostWords)};
  }

 private:
  Split owner(const Table& table, std::size_t row) const {
    const Split split =
        split_of_key(source_.key ? source_.key(table, row) : coder_.key(table, row));
    return source_.has_own(split) ? Split::train : split;
  }

  // Rows are read when first needed: a program that goes on from a checkpoint to predict needs
  // none.
  void learn() const {
    if (coder_.ready()) return;
    const Table table = source_.read(Split::train);
    coder_.learn(table, [&](std::size_t row) { return owner(table, row) == Split::train; });
    encode_training_rows(table);
  }

  // How often each token comes, by id.
  std::vector<std::size_t> count_tokens(const std::vector<Example>& examples) const {
    std::vector<std::size_t> counts(coder_.learned().tokens.size());
    for (const Example& example : examples) {
      for (const std::int32_t id : example.ids) ++counts[std::size_t(id)];
    }
    return counts;
  }

  void encode_training_rows(const Table& table) const {
    check<DataError>(table.fingerprint == coder_.learned().fingerprint, table.file, kChanged);
    std::array<std::vector<std::size_t>, 3> rows;
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      rows[std::size_t(owner(table, row))].push_back(row);
    }
    for (const Split split : {Split::train, Split::validation, Split::test}) {
      if (split != Split::train && source_.has_own(split)) continue;
      check<DataError>(!rows[std::size_t(split)].empty(), table.file, ": of its ",
                       table.rows.size(), " rows none fell to the ", to_string(split),
                       " split; give more rows, or a file as task.", to_string(split));
      examples_[std::size_t(split)] = encode(table, rows[std::size_t(split)]);
    }
  }

  Examples encode(const Table& table, const std::vector<std::size_t>& rows) const {
    auto examples = std::make_shared<std::vector<Example>>();
    for (const std::size_t row : rows) examples->push_back(coder_.encode(table, row));
    return examples;
  }

  RowSource source_;
  mutable RowCoder coder_;
  std::uint64_t seed_;
  mutable std::mutex mutex_;
  mutable std::array<Examples, 3> examples_;
  mutable std::map<std::string, std::uint64_t> files_;  // those of splits with their own
};

}  // namespace

Split split_of_key(const std::string& key) {
  const std::uint64_t bucket = stable_hash(key) % 10;
  return bucket == 0 ? Split::test : bucket == 1 ? Split::validation : Split::train;
}

std::unique_ptr<Task> row_task(RowSource source, RowOptions options, std::uint64_t seed) {
  return std::make_unique<RowTask>(std::move(source), std::move(options), seed);
}

}  // namespace xgrad
