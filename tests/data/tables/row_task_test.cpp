// The user's own files, in every format.
#include <gtest/gtest.h>
#include <support/errors.hpp>

#include <set>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/tables/row_coder.hpp>
#include <xgrad/data/tables/table.hpp>
#include <xgrad/data/task.hpp>

#include <data/tables/whole_table.hpp>
#include <support/temporary_directory.hpp>

namespace xgrad {
namespace {

using Texts = std::vector<std::string>;
using Tokens = std::vector<std::int32_t>;

/// Training rows as they stand in the file; what becomes unknown is in unknown_test.cpp.
std::unique_ptr<Task> task(Options options) {
  options.insert({"unknown", 0.0});
  return find_task("files").make(options, 1);
}

std::vector<Example> examples(const Task& task, Split split) {
  const auto dataset = task.dataset(split);
  std::vector<Example> list;
  for (std::size_t i = 0; i < dataset->size(); ++i) {
    list.push_back(dataset->get(0, i));
    EXPECT_NO_THROW(check_example(list.back(), task.shape(), i));
  }
  return list;
}

/// Three files whose rows are few enough to follow by hand.
struct Small : test::TemporaryDirectory {
  Small() {
    write("train.csv", "id,text,label\n1,b a,yes\n2,a c a,no\n3,a b,yes\n");
    write("validation.csv", "label,text\nno,c z\n");
    write("test.csv", "label,text\nyes,a\nno,a b\n");
  }
  Options options(Options more = {}) const {
    more.insert({{"train", *this / "train.csv"},
                 {"validation", *this / "validation.csv"},
                 {"test", *this / "test.csv"}});
    return more;
  }
};

TEST(Files, WordsAndClassesComeFromTheTrainingRows) {
  const Small folder;
  const auto of = task(folder.options());
  const TaskShape shape = of->shape();
  EXPECT_EQ(shape.output, OutputKind::sequence);
  EXPECT_EQ(shape.token_names, (Texts{"<unk>", "a", "b", "c"})) << "by frequency, then by name";
  EXPECT_EQ(shape.vocabulary, 4);
  EXPECT_EQ(shape.max_length, 3);
  EXPECT_EQ(shape.class_names, (Texts{"no", "yes"}));
  const auto train = examples(*of, Split::train);
  ASSERT_EQ(train.size(), 3);
  EXPECT_EQ(train[1].ids, (Tokens{1, 3, 1}));
  EXPECT_EQ(train[1].targets, (Tokens{0}));
  EXPECT_EQ(examples(*of, Split::validation)[0].ids, (Tokens{3, 0})) << "z is not known";
  EXPECT_EQ(examples(*of, Split::test)[0].ids, (Tokens{1}));
  EXPECT_EQ(of->parse("c  q\ta").ids, (Tokens{3, 0, 1}));
}

TEST(Files, PlainWordsHaveNoCapitalsAndNoPunctuation) {
  const Small folder;
  folder.write("train.csv", "text,label\n\"A, b!\",yes\n\"(a) B\",no\n");
  const auto of = task(folder.options({{"tokens", "plain_words"}}));
  EXPECT_EQ(of->shape().token_names, (Texts{"<unk>", "a", "b"}));
  EXPECT_EQ(of->parse("B. A?").ids, (Tokens{2, 1}));
}

TEST(Files, PairsFollowTheWordThatTheyBeginWith) {
  const Small folder;
  folder.write("train.csv", "text,label\n\"A  b_b. (a)\",yes\nb,no\nb b,no\n");
  const Options pairs = folder.options({{"tokens", "word_pairs"}});
  const auto of = task(pairs);
  EXPECT_EQ(of->shape().token_names, (Texts{"<unk>", "b", "a", "b_b", "a_b", "b_a"}));
  EXPECT_EQ(examples(*of, Split::train)[0].ids, (Tokens{2, 4, 1, 3, 1, 5, 2}));
  EXPECT_EQ(examples(*of, Split::train)[1].ids, (Tokens{1}));
  EXPECT_EQ(of->shape().max_length, 7);
  EXPECT_EQ(of->parse("c A b!").ids, (Tokens{0, 0, 2, 4, 1}));
  // Naive Bayes counts the pairs of words itself.
  const auto expected = task(folder.options({{"tokens", "plain_words"}}))->rules();
  const auto rules = of->rules();
  ASSERT_EQ(rules.size(), 1);
  EXPECT_EQ(rules[0].name, expected[0].name);
  EXPECT_EQ(rules[0].accuracy, expected[0].accuracy);
  Options labelled = pairs;
  labelled.insert({"labels", "tokens"});
  EXPECT_EQ(
      test::message_of<ConfigError>([&] { task(labelled); }),
      "task.labels: \"tokens\" needs a label for each token, which pairs of words do not have");
}

TEST(Files, AVocabularyHasALimitAndALeastCount) {
  const Small folder;
  EXPECT_EQ(task(folder.options({{"vocabulary", 3}}))->shape().token_names,
            (Texts{"<unk>", "a", "b"}));
  EXPECT_EQ(task(folder.options({{"min_count", 3}}))->shape().token_names, (Texts{"<unk>", "a"}));
}

TEST(Files, WholeNumbersAsClassesAreInTheirOrder) {
  EXPECT_EQ(class_order({{"10", 1}, {"9", 1}, {"-1", 1}}), (Texts{"-1", "9", "10"}));
  EXPECT_EQ(class_order({{"10", 1}, {"9", 1}, {"x", 1}}), (Texts{"10", "9", "x"}));
}

TEST(Files, CharactersAreCodePoints) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.write("a.csv", "text,label\nä b,x\nbä,y\n");
  const auto of =
      task({{"train", path}, {"validation", path}, {"test", path}, {"tokens", "characters"}});
  EXPECT_EQ(of->shape().token_names, (Texts{"<unk>", "b", "ä", "␣"}));
  EXPECT_EQ(examples(*of, Split::train)[0].ids, (Tokens{2, 3, 1}));
}

TEST(Files, ALabelForEachToken) {
  const test::TemporaryDirectory folder;
  const std::string path =
      folder.write("a.jsonl", R"({"words": ["the", "dog"], "tags": ["D", "N"]})"
                              "\r\n"
                              R"({"words": "dogs bark loud", "tags": "N V A"})");
  const auto of = task({{"train", path},
                        {"validation", path},
                        {"test", path},
                        {"input", "words"},
                        {"target", "tags"},
                        {"labels", "tokens"}});
  EXPECT_EQ(of->shape().output, OutputKind::tokens);
  EXPECT_EQ(of->shape().class_names, (Texts{"A", "D", "N", "V"}));
  EXPECT_EQ(examples(*of, Split::train)[1].targets, (Tokens{2, 3, 0}));
}

TEST(Files, HiddenTokensAreToldFromThoseAroundThem) {
  const test::TemporaryDirectory folder;
  std::string text = "text\n";
  for (int i = 0; i < 200; ++i)
    text += "abcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabc" + std::to_string(i) + "\n";
  const auto of = task({{"train", folder.write("a.csv", text)},
                        {"tokens", "characters"},
                        {"labels", "masked"},
                        {"masked", 0.25}});
  const TaskShape shape = of->shape();
  ASSERT_EQ(shape.token_names[1], "<mask>");
  EXPECT_EQ(shape.class_names, shape.token_names);
  double hidden = 0, all = 0;
  std::size_t changed = 0;
  const auto train = of->dataset(Split::train), test = of->dataset(Split::test);
  for (std::size_t i = 0; i < train->size(); ++i) {
    const Example example = train->get(0, i);
    std::size_t own = 0;
    for (std::size_t t = 0; t < example.ids.size(); ++t) {
      ASSERT_EQ(example.ids[t] == 1, example.targets[t] != kIgnore);
      own += example.ids[t] == 1;
    }
    EXPECT_GE(own, 1);
    hidden += double(own), all += double(example.ids.size());
    changed += train->get(1, i).ids != example.ids;
  }
  EXPECT_NEAR(hidden / all, 0.25, 0.04);
  EXPECT_GT(changed, train->size() / 2) << "others in each epoch";
  EXPECT_EQ(test->get(0, 0).ids, test->get(7, 0).ids) << "the same in each";
  const Example line = of->parse("ab<mask>a");
  EXPECT_EQ(line.ids[2], 1);
  EXPECT_EQ(line.targets, (Tokens{kIgnore, kIgnore, 0, kIgnore}));
}

TEST(Files, LongerRowsAreCutWhenAskedTo) {
  const Small folder;
  const auto of = task(folder.options({{"max_length", 2}, {"longer", "cut"}}));
  EXPECT_EQ(examples(*of, Split::train)[1].ids, (Tokens{1, 3}));
  EXPECT_EQ(of->parse("a a a a").ids, (Tokens{1, 1}));
  EXPECT_THROW(task(folder.options())->parse("a a a a"), DataError);
}

std::string many(int count) {
  std::string text = "text,label\n";
  for (int i = 0; i < count; ++i) {
    text += "w" + std::to_string(i % 700) + (i % 2 ? ",x\n" : ",y\n");
  }
  return text;
}

TEST(Files, OneFileIsSplitByItsInputs) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.write("a.csv", many(1400));  // each input twice
  const auto of = task({{"train", path}, {"tokens", "characters"}});
  std::map<Tokens, std::set<Split>> owners;
  std::map<Split, std::size_t> sizes;
  for (Split split : {Split::train, Split::validation, Split::test}) {
    for (const Example& example : examples(*of, split)) {
      owners[example.ids].insert(split);
      ++sizes[split];
    }
  }
  EXPECT_EQ(owners.size(), 700);
  for (const auto& [ids, splits] : owners) EXPECT_EQ(splits.size(), 1);
  EXPECT_NEAR(double(sizes[Split::validation]), 140, 2 * 3 * 11.2);  // three deviations, each twice
  EXPECT_NEAR(double(sizes[Split::test]), 140, 2 * 3 * 11.2);
  const auto again = task({{"train", path}, {"tokens", "characters"}, {"test", path}});
  EXPECT_EQ(again->dataset(Split::test)->size(), 1400);
  EXPECT_EQ(again->dataset(Split::validation)->size(), sizes[Split::validation]);
}

TEST(Files, VocabularyAndScalesGoWithTheModel) {
  const Small folder;
  const auto of = task(folder.options());
  const std::string learned = of->vocabulary_and_scales();
  const auto other = task({{"train", "/nowhere.csv"}});
  other->adopt(learned);
  EXPECT_EQ(other->shape().token_names, of->shape().token_names);
  EXPECT_EQ(other->shape().class_names, of->shape().class_names);
  EXPECT_EQ(other->parse("b a").ids, (Tokens{2, 1}));
  EXPECT_EQ(other->vocabulary_and_scales(), learned);
  EXPECT_THROW(other->dataset(Split::train), DataError);
  EXPECT_EQ(to_json(vocabulary_and_scales_from_json(learned)), learned);
  for (const char* bad : {"", "{}", "[1]", R"({"tokens": 1})"}) {
    EXPECT_THROW(other->adopt(bad), CheckpointError) << bad;
  }
  EXPECT_THROW(find_task("copy").make({}, 1)->adopt(learned), CheckpointError);
}

TEST(Files, ATrainingFileThatChangedIsNotTrainedOn) {
  const Small folder;
  const std::string learned = task(folder.options())->vocabulary_and_scales();
  folder.write("train.csv", "text,label\na b,yes\nb a,no\n");
  const auto of = task(folder.options());
  of->adopt(learned);
  EXPECT_EQ(of->dataset(Split::test)->size(), 2) << "needs only its own file";
  try {
    of->dataset(Split::train);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_EQ(std::string(error.what()),
              folder / "train.csv" + ": has changed since this run began");
  }
}

std::string error_of(const Task& task, Split split) {
  return test::message_of<DataError>([&] { task.dataset(split); });
}

TEST(Files, FilesOfTheOtherSplitsThatChangedAreNotScored) {
  const Small folder;
  const auto first = task(folder.options());
  const std::string before = first->vocabulary_and_scales();
  for (Split split : {Split::validation, Split::test}) first->dataset(split);
  const std::string learned = first->vocabulary_and_scales();
  const auto later = [&](const std::string& adopted, const Options& more = {}) {
    auto of = task(folder.options(more));
    of->adopt(adopted);
    return of;
  };
  EXPECT_EQ(error_of(*later(learned), Split::validation), "none");
  for (Split split : {Split::validation, Split::test}) {
    const std::string name = to_string(split);
    folder.write(name + ".csv", "label,text\nno,b\nno,a b\n");
    EXPECT_EQ(error_of(*later(learned), split),
              folder / name + ".csv: has changed since this run began");
    const std::string other = folder.write("other.csv", "label,text\nno,b\n");
    EXPECT_EQ(error_of(*later(learned, {{name, other}}), split), "none")
        << "a file of another name is meant to be another";
    EXPECT_EQ(error_of(*later(before), split), "none") << "a run that has read neither knows none";
  }
  EXPECT_EQ(later(learned)->vocabulary_and_scales(), learned);
  EXPECT_THROW(later(before.substr(0, before.size() - 1) + R"(,"files":[1]})"), CheckpointError);
}

TEST(Files, ALabelOfAnotherSplitMustBeKnown) {
  const Small folder;
  folder.write("test.csv", "text,label\na,yes\nb,maybe\n");
  try {
    task(folder.options())->dataset(Split::test);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_EQ(std::string(error.what()),
              folder / "test.csv" +
                  ": row 2 (line 3), column \"label\": the label \"maybe\" does not "
                  "occur in the training rows; these have \"no\", \"yes\"");
  }
}

}  // namespace
}  // namespace xgrad
