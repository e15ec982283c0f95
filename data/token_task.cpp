#include <xgrad/data/token_task.hpp>

#include <memory>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/random.hpp>
#include <xgrad/data/numbers.hpp>

namespace xgrad {

namespace {

// With so many inputs, a split without any has probability 0.9^1000 = 1e-46.
constexpr std::uint64_t kFewestInputs = 1000;

struct Settings {
  std::string name;
  Oracle oracle;
  std::size_t min_length, max_length;
  std::uint32_t symbols;
  std::size_t sizes[3];  // of each split
};

const std::vector<OptionSpec>& option_table() {
  static const std::vector<OptionSpec> table = {
      {"length", 16, "Tokens of the longest sequence.", 1, 65536},
      {"min_length", 0, "Tokens of the shortest sequence; 0: all are of full length.", 0, 65536},
      {"symbols", 10, "Different tokens.", 1, 1 << 24},
      {"examples", 50000, "Training sequences.", 1, 1e9},
      {"validation", 1000, "Validation sequences.", 1, 1e9},
      {"test", 1000, "Test sequences.", 1, 1e9},
  };
  return table;
}

/// How many inputs there are, or `enough` if more.
std::uint64_t count_inputs(const Settings& s, std::uint64_t enough) {
  std::uint64_t sum = 0, power = 1;
  for (std::size_t length = 1; length <= s.max_length; ++length) {
    power = std::min(enough, power * s.symbols);
    if (length >= s.min_length) sum += power;
    if (sum >= enough) return enough;
  }
  return sum;
}

Settings read(const std::string& name, Oracle oracle, const Options& given) {
  const Options options = complete(option_table(), given);
  const auto size = [&](const char* key) { return std::size_t(get_int(options, key)); };
  Settings s{name,
             oracle,
             size("min_length"),
             size("length"),
             std::uint32_t(size("symbols")),
             {size("examples"), size("validation"), size("test")}};
  if (s.min_length == 0) s.min_length = s.max_length;
  check<ConfigError>(s.min_length <= s.max_length, name, ": min_length is ", s.min_length,
                     ", must be at most length, ", s.max_length);
  const std::uint64_t inputs = count_inputs(s, kFewestInputs);
  check<ConfigError>(inputs >= kFewestInputs, name, ": there are only ", inputs,
                     " different inputs; three disjoint splits need ", kFewestInputs,
                     ": raise length or symbols");
  return s;
}

class TokenDataset final : public Dataset {
 public:
  TokenDataset(const Settings& settings, std::uint64_t seed, Split split)
      : settings_(settings), split_(split), rng_(Rng(seed) / "tokens" / to_string(split)) {}

  std::size_t size() const override { return settings_.sizes[std::size_t(split_)]; }

  Example get(std::uint64_t, std::size_t index) const override {
    Example example;
    for (std::uint32_t attempt = 0;; ++attempt) {
      draw(index, attempt, example.ids);
      if (split_of(example.ids) == split_) break;
    }
    example.targets = settings_.oracle(example.ids);
    return example;
  }

 private:
  // Block 0 of a draw gives its length, block 1 + k its tokens 4k ... 4k + 3. word * n >> 32 is
  // uniform in [0, n) up to n / 2^32.
  void draw(std::size_t index, std::uint32_t attempt, std::vector<std::int32_t>& ids) const {
    const auto low = std::uint32_t(index), high = std::uint32_t(std::uint64_t(index) >> 32);
    const std::uint64_t lengths = settings_.max_length - settings_.min_length + 1;
    std::size_t length = settings_.min_length;
    if (lengths > 1) length += rng_.words(low, high, attempt, 0)[0] * lengths >> 32;
    ids.resize(length);
    for (std::size_t token = 0; token < length; token += 4) {
      const auto words = rng_.words(low, high, attempt, std::uint32_t(1 + token / 4));
      for (std::size_t i = 0; i < 4 && token + i < length; ++i) {
        ids[token + i] = std::int32_t(std::uint64_t(words[i]) * settings_.symbols >> 32);
      }
    }
  }

  Settings settings_;
  Split split_;
  Rng rng_;
};

class TokenTask final : public Task {
 public:
  TokenTask(Settings settings, std::uint64_t seed) : settings_(std::move(settings)), seed_(seed) {}

  TaskShape shape() const override {
    TaskShape shape;
    shape.vocabulary = shape.classes = settings_.symbols;
    shape.max_length = settings_.max_length;
    return shape;
  }

  std::unique_ptr<Dataset> dataset(Split split) const override {
    return std::make_unique<TokenDataset>(settings_, seed_, split);
  }

  Example parse(const std::string& line) const override;

 private:
  Settings settings_;
  std::uint64_t seed_;
};

Example TokenTask::parse(const std::string& line) const {
  const std::string& name = settings_.name;
  Example example;
  example.ids = parse_numbers(name + ": token", line, std::int32_t(settings_.symbols - 1));
  check<DataError>(!example.ids.empty(), name, ": the line has no tokens");
  check<DataError>(example.ids.size() <= settings_.max_length, name, ": the line has ",
                   example.ids.size(), " tokens, the longest sequence has ", settings_.max_length);
  example.targets = settings_.oracle(example.ids);
  return example;
}

}  // namespace

Split split_of(const std::vector<std::int32_t>& ids) {
  // Four tokens a round, each round keyed by the one before. The length starts the chain, so that a
  // sequence and the same with zeros behind differ.
  std::uint64_t key = 0x73706C6974730000u + ids.size();  // "splits"
  for (std::size_t i = 0; i < ids.size(); i += 4) {
    const auto token = [&](std::size_t k) { return k < ids.size() ? std::uint32_t(ids[k]) : 0; };
    const auto words = Rng(key).words(token(i), token(i + 1), token(i + 2), token(i + 3));
    key = (std::uint64_t(words[1]) << 32) | words[0];
  }
  const std::uint64_t bucket = key % 10;
  return bucket == 0 ? Split::test : bucket == 1 ? Split::validation : Split::train;
}

TaskEntry token_task(std::string name, std::string summary, Oracle oracle) {
  const auto make = [name, oracle](const Options& options, std::uint64_t seed) {
    return std::make_unique<TokenTask>(read(name, oracle, options), seed);
  };
  return {name, std::move(summary), option_table(), {}, make};
}

}  // namespace xgrad
