// Rows with any number of labels, each an answer: yes or no.
#include <gtest/gtest.h>
#include <support/errors.hpp>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/example_text.hpp>
#include <xgrad/data/task.hpp>

#include <support/temporary_directory.hpp>

namespace xgrad {
namespace {

using Texts = std::vector<std::string>;
using Values = std::vector<float>;

std::unique_ptr<Task> task(const std::string& train, const std::string& test = "") {
  return find_task("files").make({{"train", train},
                                  {"validation", test.empty() ? train : test},
                                  {"test", test.empty() ? train : test},
                                  {"labels", "multi_label"}},
                                 1);
}

std::vector<Values> values(const Task& task, Split split) {
  const auto dataset = task.dataset(split);
  std::vector<Values> list;
  for (std::size_t i = 0; i < dataset->size(); ++i) {
    const Example example = dataset->get(0, i);
    EXPECT_NO_THROW(check_example(example, task.shape(), i));
    EXPECT_TRUE(example.targets.empty());
    list.push_back(example.values);
  }
  return list;
}

std::string error_of(const std::string& train, const std::string& test = "") {
  return test::message_of<Error>([&] { task(train, test)->dataset(Split::test); });
}

TEST(MultiLabel, NamesOfThoseThatHoldInEveryFormat) {
  const test::TemporaryDirectory folder;
  const std::string objects = R"({"text": "a", "label": ["news", "art"]})"
                              "\n"
                              R"({"text": "b", "label": []})"
                              "\n"
                              R"({"text": "c", "label": "art"})";
  for (const std::string& path : {folder.write("a.csv", "text,label\na,news art\nb,\nc, art \n"),
                                  folder.write("a.tsv", "label\ttext\nart news\ta\n\tb\nart\tc\n"),
                                  folder.write("a.jsonl", objects)}) {
    const auto of = task(path);
    const TaskShape shape = of->shape();
    EXPECT_EQ(shape.target, TargetKind::binary);
    EXPECT_EQ(shape.output, OutputKind::sequence);
    EXPECT_EQ(shape.class_names, (Texts{"art", "news"})) << path;
    EXPECT_EQ(shape.classes, 2);
    EXPECT_EQ(values(*of, Split::train), (std::vector<Values>{{1, 1}, {0, 0}, {1, 0}})) << path;
    EXPECT_EQ(target_text(of->dataset(Split::train)->get(0, 2), shape), "art -");
    EXPECT_TRUE(of->parse("a").values.empty());
  }
}

TEST(MultiLabel, NumbersSayYesOrNoToEach) {
  const test::TemporaryDirectory folder;
  std::string rows;
  for (int i = 0; i < 3; ++i) {
    rows += R"({"text": "a", "label": [)" + std::to_string(i % 2) + ",0,1,0,0,0,0,0,0,0,0]}\n";
  }
  const auto of = task(folder.write("a.jsonl", rows));
  EXPECT_EQ(of->shape().class_names,
            (Texts{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"}))
      << "in their order, also those that never hold";
  EXPECT_EQ(values(*of, Split::train)[1], (Values{1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0}));
}

std::string array(const std::string& shape, const std::string& values) {
  const std::string header = "{'descr': '|b1', 'fortran_order': False, 'shape': " + shape + ", }\n";
  return std::string("\x93NUMPY\x01\x00", 8) + char(header.size()) + '\0' + header + values;
}

TEST(MultiLabel, ArraysHaveAColumnForEach) {
  const test::TemporaryDirectory folder;
  folder.write("text.npy", array("(2, 1)", std::string("\0\1", 2)));
  folder.write("label.npy", array("(2, 3)", std::string("\0\1\1\1\0\1", 6)));
  EXPECT_EQ(values(*task(folder.path()), Split::train),
            (std::vector<Values>{{0, 1, 1}, {1, 0, 1}}));
  folder.write("label.npy", array("(2,)", std::string("\0\1", 2)));
  EXPECT_EQ(values(*task(folder.path()), Split::train), (std::vector<Values>{{0}, {1}}));
}

TEST(MultiLabel, OneAnswerIsEnough) {
  const test::TemporaryDirectory folder;
  const auto of = task(folder.write("a.csv", "text,label\na,spam\nb,\n"));
  EXPECT_EQ(of->shape().classes, 1);
  EXPECT_EQ(values(*of, Split::test), (std::vector<Values>{{1}, {0}}));
}

TEST(MultiLabel, TheAnswersGoWithTheModel) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.write("a.csv", "text,label\na,news art\nb,\n");
  const std::string learned = task(path)->vocabulary_and_scales();
  const auto other = task("/nowhere.csv", folder.write("b.csv", "text,label\nb,news\n"));
  other->adopt(learned);
  EXPECT_EQ(other->shape().class_names, (Texts{"art", "news"}));
  EXPECT_EQ(values(*other, Split::test), (std::vector<Values>{{0, 1}}));
  const auto one = find_task("files").make({{"train", "/nowhere.csv"}}, 1);
  const std::string single =
      task(folder.write("c.csv", "text,label\na,x\nb,\n"))->vocabulary_and_scales();
  EXPECT_THROW(one->adopt(single), CheckpointError);
}

TEST(MultiLabel, WrongAnswersAreErrors) {
  const test::TemporaryDirectory folder;
  const std::string good = R"({"text": "a", "label": [1, 0, 1]})"
                           "\n"
                           R"({"text": "b", "label": [0, 1, 1]})";
  const std::string train = folder.write("train.jsonl", good);
  const auto error_with = [&](const std::string& label) {
    const std::string path = folder.write("a.jsonl", R"({"text": "c", "label": )" + label + "}\n");
    const std::string place = path + ": row 1 (line 1), column \"label\": ";
    const std::string error = error_of(train, path);
    EXPECT_TRUE(error.starts_with(place)) << error;
    return error.substr(std::min(place.size(), error.size()));
  };
  const std::string binary = ", must be 0 or 1; write labels that are numbers as text";
  EXPECT_EQ(error_with("[1, 0]"), "has 2 answers, the training rows have 3");
  const std::string known = R"( does not occur in the training rows; these have "0", "1", "2")";
  EXPECT_EQ(error_with("[1, 0, 1, 0]"), "the label \"3\"" + known);
  EXPECT_EQ(error_with("[1, 2, 0]"), "answer 1 is 2" + binary);
  EXPECT_EQ(error_with("[1, 0.5, 0]"), "answer 1 is 0.5" + binary);
  EXPECT_EQ(error_with("[[1, 0, 1]]"), "holds lists of numbers, must be one list");
  EXPECT_EQ(error_with("[\"0\", \"0\"]"), "the label \"0\" appears twice");
  EXPECT_EQ(error_with("\"1 0 1\""), "the label \"1\" appears twice");
  EXPECT_EQ(error_with("[\"art\"]"), "the label \"art\"" + known);
  EXPECT_EQ(error_with("[\"two words\"]"),
            "label 1 is \"two words\", must be a word without white space");
  const std::string none = folder.write("none.csv", "text,label\na,\nb,\n");
  EXPECT_EQ(
      error_of(none),
      none + ": column \"label\" has no label in the training rows; there must be at least one");
}

}  // namespace
}  // namespace xgrad
