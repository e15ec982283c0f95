// Tokens that the training rows do not have: how a model learns of them, and capital letters.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <locale.h>
#include <wctype.h>

#include <map>
#include <set>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/example_text.hpp>
#include <xgrad/data/rules/baseline.hpp>
#include <xgrad/data/tables/row_coder.hpp>
#include <xgrad/data/task.hpp>
#include <xgrad/text/text.hpp>

#include <support/temporary_directory.hpp>

namespace xgrad {
namespace {

class Rows : public test::TemporaryDirectory {
 public:
  /// Rows of "the", a word of 2 and a word of 4 rows, and a word of its own.
  Rows() {
    std::string text = "text\tlabel\n";
    for (int i = 0; i < 400; ++i) {
      text += "the two" + std::to_string(i / 2) + " four" + std::to_string(i / 4) + " one" +
              std::to_string(i) + (i % 2 ? "\tyes\n" : "\tno\n");
    }
    write("rows.tsv", text);
  }
  std::unique_ptr<Task> task(Options options = {}, std::uint64_t seed = 1) const {
    options.insert({"train", path() + "/rows.tsv"});
    return find_task("files").make(options, seed);
  }
};

// The shares of occurrences that become <unk>, by how often a token comes in the training rows.
std::map<std::size_t, double> shares(const Task& task, const Task& original, int epochs) {
  const auto data = task.dataset(Split::train), plain = original.dataset(Split::train);
  std::map<std::int32_t, std::size_t> counts;
  for (std::size_t i = 0; i < plain->size(); ++i) {
    for (const std::int32_t id : plain->get(0, i).ids) ++counts[id];
  }
  std::map<std::size_t, double> replaced, all;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (std::size_t i = 0; i < plain->size(); ++i) {
      const Example before = plain->get(0, i), after = data->get(std::uint64_t(epoch), i);
      EXPECT_EQ(before.targets, after.targets);
      for (std::size_t k = 0; k < before.ids.size(); ++k) {
        all[counts[before.ids[k]]] += 1;
        replaced[counts[before.ids[k]]] += after.ids[k] == kUnknownId;
        EXPECT_TRUE(after.ids[k] == before.ids[k] || after.ids[k] == kUnknownId);
      }
    }
  }
  for (auto& [n, count] : replaced) count /= all[n];
  return replaced;
}

// A token that comes n times: max(rate, 1 / (2n)). Four standard errors are below 0.02 and 0.001.
TEST(Unknown, RareTokensOfTrainingRowsBecomeUnknown) {
  const Rows rows;
  const auto plain = rows.task({{"unknown", 0.0}});
  EXPECT_EQ(plain->dataset(Split::train)->get(0, 0).ids,
            plain->dataset(Split::train)->get(9, 0).ids);
  std::map<std::size_t, double> found = shares(*rows.task(), *plain, 60);
  EXPECT_NEAR(found.at(1), 1.0 / 2, 0.02);
  EXPECT_NEAR(found.at(2), 1.0 / 4, 0.02);
  EXPECT_NEAR(found.at(4), 1.0 / 8, 0.02);
  EXPECT_NEAR(found.rbegin()->second, 0.01, 0.004) << "the";
  found = shares(*rows.task({{"unknown", 0.2}}), *plain, 60);
  EXPECT_NEAR(found.at(2), 1.0 / 4, 0.02);
  EXPECT_NEAR(found.at(4), 0.2, 0.02);
  EXPECT_NEAR(found.rbegin()->second, 0.2, 0.012);
}

TEST(Unknown, IsAFunctionOfSeedEpochAndIndex) {
  const Rows rows;
  const auto ids = [&](std::uint64_t seed, std::uint64_t epoch) {
    const auto data = rows.task({}, seed)->dataset(Split::train);
    std::vector<std::vector<std::int32_t>> all;
    for (std::size_t i = 0; i < data->size(); ++i) all.push_back(data->get(epoch, i).ids);
    return all;
  };
  EXPECT_EQ(ids(1, 3), ids(1, 3));
  EXPECT_NE(ids(1, 3), ids(1, 4));
  EXPECT_NE(ids(1, 3), ids(2, 3));
}

TEST(Unknown, OtherRowsKeepTheirTokens) {
  const Rows rows;
  const auto task = rows.task({{"unknown", 0.5}}), plain = rows.task({{"unknown", 0.0}});
  for (const Split split : {Split::validation, Split::test}) {
    const auto data = task->dataset(split), same = plain->dataset(split);
    for (std::size_t i = 0; i < data->size(); ++i)
      EXPECT_EQ(data->get(1, i).ids, same->get(1, i).ids);
  }
}

// The same tokens are hidden as without, and to be found; others may become unknown.
TEST(Unknown, HiddenTokensStayHiddenAndAskedFor) {
  const Rows rows;
  const auto task = rows.task({{"labels", "masked"}, {"unknown", 0.5}});
  const auto plain = rows.task({{"labels", "masked"}, {"unknown", 0.0}});
  const auto data = task->dataset(Split::train), same = plain->dataset(Split::train);
  std::size_t unknown = 0;
  for (std::size_t i = 0; i < data->size(); ++i) {
    const Example after = data->get(2, i), before = same->get(2, i);
    EXPECT_EQ(after.targets, before.targets);
    unknown += unknown_tokens(after, task->shape());
    for (std::size_t k = 0; k < after.ids.size(); ++k) {
      EXPECT_EQ(after.ids[k] == kMaskId, before.ids[k] == kMaskId);
    }
  }
  EXPECT_GT(unknown, 100);
}

// Naive Bayes of classes, and n-grams of a language model.
TEST(Unknown, RulesCountTheTokensThatTrainingReplaces) {
  const Rows rows;
  for (const std::string labels : {"sequence", "next"}) {
    const auto rule = [&](double unknown) {
      return rows.task({{"labels", labels}, {"unknown", unknown}})->rules().at(0);
    };
    EXPECT_EQ(rule(0.5).name, rule(0).name);
    EXPECT_EQ(rule(0.5).accuracy, rule(0).accuracy) << labels;
    EXPECT_EQ(rule(0.5).exact, rule(0).exact) << labels;
    EXPECT_EQ(rule(0.5).loss, rule(0).loss) << labels;
  }
}

// The label of a word follows from the word before it.
TEST(Unknown, BaselinesCountTheTokensThatTrainingReplaces) {
  const test::TemporaryDirectory folder;
  std::string text = "text\tlabel\n";
  for (int i = 0; i < 400; ++i) {
    const int a = i % 7, b = i / 7 % 7, c = i / 49;
    text += fmt::format("w{} w{} w{}\tl{} l{} l{}\n", a, b, c, a, a, b);
  }
  const auto baseline = [&](double unknown) {
    return measure_baseline(*find_task("files").make(
        {{"train", folder.write("rows.tsv", text)}, {"labels", "tokens"}, {"unknown", unknown}},
        1));
  };
  EXPECT_EQ(baseline(0.5).own_token.value(), baseline(0).own_token.value());
  EXPECT_EQ(baseline(0.5).window.value(), baseline(0).window.value());
}

TEST(Unknown, TokensAreCounted) {
  const Rows rows;
  const auto task = rows.task();
  EXPECT_EQ(unknown_tokens(task->parse("the the"), task->shape()), 0);
  EXPECT_EQ(unknown_tokens(task->parse("the The nobody"), task->shape()), 2);
  const auto reverse = find_task("reverse").make({}, 1);
  EXPECT_EQ(unknown_tokens({.ids = {0, 0}}, reverse->shape()), 0) << "0 is a token like others";
}

std::string encoded(wint_t c) {
  const auto tail = [c](int shift) { return char(0x80 | (c >> shift & 63)); };
  if (c < 0x80) return {char(c)};
  if (c < 0x800) return {char(0xC0 | c >> 6), tail(0)};
  if (c < 0x10000) return {char(0xE0 | c >> 12), tail(6), tail(0)};
  return {char(0xF0 | c >> 18), tail(12), tail(6), tail(0)};
}

// glibc's table is the judge of every code point. It may be of a later Unicode, whose 16 adds these
// capital letters.
TEST(Lowercase, IsThatOfUnicode) {
  const locale_t utf8 = newlocale(LC_ALL_MASK, "C.UTF-8", nullptr);
  ASSERT_NE(utf8, nullptr);
  const auto added = [](wint_t c) {
    return c == 0x1C89 || (c >= 0xA7CB && c <= 0xA7CC) || (c >= 0xA7DA && c <= 0xA7DC) ||
           (c >= 0x10D50 && c <= 0x10D65);
  };
  for (wint_t c = 1; c < 0x110000; ++c) {
    if (added(c) || (c >= 0xD800 && c < 0xE000)) continue;
    EXPECT_EQ(lowercase(encoded(c)), encoded(towlower_l(c, utf8))) << std::hex << c;
  }
  EXPECT_EQ(lowercase("GRÜẞE, Ελλάδα und Москва: Ça va? Łódź 😀 ԲԱՐԵՎ"),
            "grüße, ελλάδα und москва: ça va? łódź 😀 բարեվ");
  freelocale(utf8);
}

TEST(Lowercase, MakesInputsOfFilesSmall) {
  const test::TemporaryDirectory folder;
  std::string text = "text\tlabel\n";
  for (int i = 0; i < 60; ++i) {
    const std::string number = std::to_string(i);
    text += "Ärger" + number + "\tYes\n" + "ärger" + number + "\tYes\n" + "NO" + number + "\tNo\n";
  }
  folder.write("rows.tsv", text);
  const auto task = [&](Options options) {
    options.insert({"train", folder / "rows.tsv"});
    return find_task("files").make(options, 1);
  };
  for (const char* tokens : {"characters", "words", "plain_words"}) {
    const auto small = task({{"tokens", tokens}, {"lowercase", true}});
    for (const std::string& name : small->shape().token_names) {
      EXPECT_EQ(name, lowercase(name)) << tokens;
    }
    EXPECT_EQ(small->shape().class_names, (std::vector<std::string>{"No", "Yes"}));
    EXPECT_EQ(small->parse("ÄRGER1").ids, small->parse("ärger1").ids);
    // Inputs that became the same are in one split.
    std::set<std::vector<std::int32_t>> before;
    for (const Split split : {Split::test, Split::validation, Split::train}) {
      const auto data =
          task({{"tokens", tokens}, {"lowercase", true}, {"unknown", 0.0}})->dataset(split);
      std::set<std::vector<std::int32_t>> own;
      for (std::size_t i = 0; i < data->size(); ++i) own.insert(data->get(0, i).ids);
      if (std::string(tokens) == "characters") {
        for (const auto& ids : own) EXPECT_FALSE(before.contains(ids));
      }
      before.insert(own.begin(), own.end());
    }
  }
  const auto large = task({{"tokens", "characters"}});
  EXPECT_NE(large->parse("NO1").ids, large->parse("no1").ids);
  const auto masked = task({{"tokens", "characters"}, {"labels", "masked"}, {"lowercase", true}});
  EXPECT_EQ(masked->parse("Ä<mask>GER").ids, masked->parse("ä<mask>ger").ids);
  EXPECT_THROW(task({{"tokens", "numbers"}, {"lowercase", true}}), ConfigError);
}

}  // namespace
}  // namespace xgrad
