#include <xgrad/data/tables/row_task.hpp>

#include <algorithm>
#include <array>
#include <exception>
#include <mutex>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/random.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/rules/ngram.hpp>
#include <xgrad/data/tables/packed_examples.hpp>
#include <xgrad/text/text.hpp>

namespace xgrad {

namespace {

// Length of the longest n-grams that naive Bayes counts.
constexpr std::size_t kMostCharacters = 4, kMostWords = 2;
// Length of the longest n-grams of a language model of characters, and of one of words.
constexpr std::size_t kMostContext = 7, kMostWordGram = 3;

using Examples = std::shared_ptr<PackedExamples>;

constexpr std::array kSplits = {Split::train, Split::validation, Split::test};

// Hides random tokens at a rate above 0, but at least one, so that every row has a target.
void hide(Example& example, double rate, const Rng& rng) {
  std::vector<std::int32_t>& ids = example.ids;
  example.targets.assign(ids.size(), kIgnore);
  const std::size_t one = rng.below(ids.size(), 0);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i != one && rng.uniform(i + 1) >= rate) continue;
    example.targets[i] = std::exchange(ids[i], kMaskId);
  }
}

class RowTask final : public Task {
 public:
  RowTask(RowSource source, RowOptions options, std::uint64_t seed)
      : source_(std::move(source)), coder_(source_.task, std::move(options)), seed_(seed) {}

  TaskShape shape() const override {
    const std::lock_guard lock(mutex_);
    return coder().shape();
  }

  std::unique_ptr<Dataset> dataset(Split split) const override {
    return data_of(split, split == Split::train);
  }
  std::unique_ptr<Dataset> whole_training_set() const override {
    return data_of(Split::train, /*with_unknown=*/false);
  }

  Example parse(const std::string& line) const override {
    const std::lock_guard lock(mutex_);
    return coder().parse(line);
  }

  std::string vocabulary_and_scales() const override {
    const std::lock_guard lock(mutex_);
    VocabularyAndScales all = coder().vocabulary_and_scales();
    all.files = files_;
    return to_json(all);
  }

  void adopt(const std::string& vocabulary_and_scales) override {
    const std::lock_guard lock(mutex_);
    VocabularyAndScales all = vocabulary_and_scales_from_json(vocabulary_and_scales);
    files_ = all.files;
    coder_.adopt(std::move(all));
  }

  bool read_once(const Readers& readers) override {
    const std::lock_guard lock(mutex_);
    return xgrad::read_once(
        readers, source_.files, [&] { return share(); },
        [&](const std::string& text) { use(text); });
  }

  std::string token_text(std::int32_t id) const override {
    const std::lock_guard lock(mutex_);
    const std::string& token = coder().vocabulary_and_scales().tokens.at(std::size_t(id));
    return coder_.options().tokens == TokenKind::characters ? token : " " + token;
  }

  std::vector<Rule> rules() const override {
    if (source_.rules) return source_.rules(*whole_training_set(), *dataset(Split::test));
    const TaskShape shape = this->shape();
    if (shape.next != NextToken::none) {
      return {ngram_rule(*this, shape.next == NextToken::character ? kMostContext : kMostWordGram)};
    }
    const bool of_text = shape.input == InputKind::tokens && shape.output == OutputKind::sequence &&
                         shape.target != TargetKind::numbers;
    if (!of_text) return {};
    if (coder_.options().tokens == TokenKind::word_pairs) {
      // Naive Bayes counts pairs itself, including pairs that are too rare to be tokens.
      RowOptions words = coder_.options();
      words.tokens = TokenKind::plain_words;
      return RowTask(source_, std::move(words), seed_).rules();
    }
    return {naive_bayes(
        *this, coder_.options().tokens == TokenKind::characters ? kMostCharacters : kMostWords)};
  }

 private:
  Split owner(const Table& table, std::size_t row) const {
    if (source_.has_own(Split::validation) && source_.has_own(Split::test)) return Split::train;
    const Split split =
        split_of_key(source_.key ? source_.key(table, row) : coder_.key(table, row));
    return source_.has_own(split) ? Split::train : split;
  }

  const Examples& examples_of(Split split) const {
    coder();
    Examples& examples = examples_[std::size_t(split)];
    if (examples) return examples;
    if (split == Split::train || !source_.has_own(split)) {
      encode_training_rows(source_.read(Split::train));
    } else {
      Encoded of = encode(source_.read(split), [&](const Table&, std::size_t) { return split; });
      recognise(files_, of.file, of.fingerprint);
      keep(split, of);
    }
    return examples;
  }

  // The rows of a split. If the task is to find hidden tokens, hides random ones: different ones in
  // each epoch for training rows, always the same for other rows. Then replaces some by kUnknown.
  std::unique_ptr<Dataset> data_of(Split split, bool with_unknown) const {
    const std::lock_guard lock(mutex_);
    const Examples examples = examples_of(split);
    const RowOptions& options = coder_.options();
    const double hidden = options.labels == Labels::masked ? options.masked : 0;
    const auto unknown = with_unknown ? unknown_rates(*examples) : std::vector<double>();
    const bool fresh = split == Split::train;
    const Rng masks = Rng(fresh ? seed_ : 0) / "masked" / to_string(split),
              replacements = Rng(seed_) / "unknown";
    return dataset_of(
        examples->size(),
        [=](std::uint64_t epoch, std::size_t index) {
          Example example = examples->get(index);
          if (hidden > 0) hide(example, hidden, masks / (fresh ? epoch : 0) / index);
          if (unknown.empty()) return example;
          const Rng own = replacements / epoch / index;
          for (std::size_t i = 0; i < example.ids.size(); ++i) {
            std::int32_t& id = example.ids[i];
            if (own.uniform(i) < unknown[std::size_t(id)]) id = kUnknownId;
          }
          return example;
        },
        [=](std::size_t index, const TaskShape& shape) { return examples->length(index, shape); });
  }

  // The probability that a token becomes kUnknown, by its id. For a token that occurs n times it is
  // max(task.unknown, 1 / (2n)), because unknown tokens resemble rare ones.
  std::vector<double> unknown_rates(const PackedExamples& examples) const {
    const RowOptions& options = coder_.options();
    if (options.unknown == 0 || coder_.vectors()) return {};
    std::vector<double> rates(coder_.vocabulary_and_scales().tokens.size());  // counts at first
    for (std::size_t i = 0; i < examples.size(); ++i) {
      for (const std::int32_t id : examples.get(i).ids) ++rates[std::size_t(id)];
    }
    for (double& rate : rates) rate = std::max(options.unknown, 0.5 / std::max(rate, 1.0));
    if (options.labels == Labels::masked || options.labels == Labels::next) rates[1] = 0;
    return rates;
  }

  // Describes the examples to other processes, so that they can use them: a line for each split,
  // and vocabulary and scales.
  std::string share() const {
    std::string text;
    for (const Split split : kSplits) text += examples_of(split)->share() + '\n';
    return text + vocabulary_and_scales();
  }

  void use(const std::string& text) {
    std::array<Examples, 3> examples;
    std::size_t begin = 0;
    for (Examples& own : examples) {
      const std::size_t end = text.find('\n', begin);
      own = std::make_shared<PackedExamples>(text.substr(begin, end - begin));
      begin = end + 1;
    }
    adopt(text.substr(begin));
    examples_ = std::move(examples);
  }

  // Reads rows only when needed, because predicting from a checkpoint needs none. Reads them twice,
  // so that neither texts nor tokens stay in memory until the vocabulary is known.
  const RowCoder& coder() const {
    if (coder_.ready()) return coder_;
    const Rows rows = source_.read(Split::train);
    coder_.learn(rows, [&](const Table& block, std::size_t row) {
      return owner(block, row) == Split::train;
    });
    encode_training_rows(rows);
    return coder_;
  }

  void encode_training_rows(const Rows& rows) const {
    Encoded of =
        encode(rows, [&](const Table& block, std::size_t row) { return owner(block, row); });
    check<DataError>(of.fingerprint == coder_.vocabulary_and_scales().fingerprint, of.file,
                     kChanged);
    for (const Split split : kSplits) {
      if (split != Split::train && source_.has_own(split)) continue;
      check<DataError>(of.splits[std::size_t(split)].rows > 0, of.file, ": none of its ", of.rows,
                       " rows is in the ", to_string(split), " split; add rows, or set task.",
                       to_string(split));
      keep(split, of);
    }
  }

  /// The rows of a pass, as examples of each split.
  struct Encoded {
    struct Part {
      Examples examples = std::make_shared<PackedExamples>();
      std::size_t rows = 0;
      std::exception_ptr wrong = {};  // error of the first row that cannot be encoded
    };
    std::string file = {};
    std::uint64_t fingerprint = 0;
    std::size_t rows = 0;
    std::array<Part, 3> splits = {};
  };

  /// Adds each row to the examples of its split. Delays errors of rows: the file itself may be
  /// damaged or the wrong one, which should be reported first.
  template <class SplitOf>
  Encoded encode(const Rows& rows, const SplitOf& split_of) const {
    Encoded of;
    of.fingerprint = rows([&](const Table& block) {
      of.file = block.file;
      of.rows += block.rows.size();
      for (std::size_t row = 0; row < block.rows.size(); ++row) {
        Encoded::Part& own = of.splits[std::size_t(split_of(block, row))];
        ++own.rows;
        if (own.wrong) continue;
        try {
          for (const Example& example : coder_.encode(block, row)) own.examples->add(example);
        } catch (const DataError&) {
          own.wrong = std::current_exception();
        }
      }
    });
    return of;
  }

  void keep(Split split, const Encoded& of) const {
    const Encoded::Part& own = of.splits[std::size_t(split)];
    if (own.wrong) std::rethrow_exception(own.wrong);
    own.examples->finish();
    examples_[std::size_t(split)] = own.examples;
  }

  RowSource source_;
  mutable RowCoder coder_;
  std::uint64_t seed_;
  mutable std::recursive_mutex mutex_;
  mutable std::array<Examples, 3> examples_;
  // Fingerprints of the files of splits with rows of their own.
  mutable std::map<std::string, std::uint64_t> files_;
};

}  // namespace

Split split_of_key(const std::string& key) {
  const std::uint64_t bucket = stable_hash(key) % 10;
  return bucket == 0 ? Split::test : bucket == 1 ? Split::validation : Split::train;
}

OptionSpec unknown_option() {
  return {.name = "unknown",
          .fallback = 0.01,
          .help =
              "Minimum probability of replacing a training token by <unk>, so that <unk> is "
              "trained. A token that occurs n times has probability 1/(2n) if that is higher. 0: "
              "no token is replaced.",
          .min = 0,
          .max = 0.5};
}

std::unique_ptr<Task> row_task(RowSource source, RowOptions options, std::uint64_t seed) {
  return std::make_unique<RowTask>(std::move(source), std::move(options), seed);
}

}  // namespace xgrad
