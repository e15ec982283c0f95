// Plain text as rows, and texts as examples of next tokens.
#include <xgrad/data/tables/table.hpp>

#include <gtest/gtest.h>
#include <support/errors.hpp>
#include <support/temporary_directory.hpp>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/task.hpp>

namespace xgrad {
namespace {

using Texts = std::vector<std::string>;
using Tokens = std::vector<std::int32_t>;

Texts texts_of(const std::string& text, bool paragraphs,
               std::vector<std::size_t>* lines = nullptr) {
  ByteStream bytes("text.txt", text);
  Texts rows;
  read_plain_text(bytes, {"text"}, paragraphs, [&](const Table& block) {
    for (const auto& row : block.rows) rows.push_back(std::get<std::string>(row.at(0)));
    if (lines) lines->insert(lines->end(), block.lines.begin(), block.lines.end());
  });
  return rows;
}

TEST(PlainText, LinesAndParagraphs) {
  const std::string text = "one\ntwo \r\n\n \t\n  three\n\nfour\nfive";
  std::vector<std::size_t> lines;
  EXPECT_EQ(texts_of(text, false, &lines), (Texts{"one", "two ", "  three", "four", "five"}));
  EXPECT_EQ(lines, (std::vector<std::size_t>{1, 2, 5, 7, 8}));
  lines.clear();
  EXPECT_EQ(texts_of(text, true, &lines), (Texts{"one\ntwo ", "  three", "four\nfive"}));
  EXPECT_EQ(lines, (std::vector<std::size_t>{1, 5, 7}));
}

TEST(PlainText, SaysWhatIsWrong) {
  const auto error = [](const std::string& text, bool paragraphs = false) {
    return test::message_of<DataError>([&] { texts_of(text, paragraphs); });
  };
  EXPECT_EQ(error("a\n\xff\n"), "text.txt: line 2: byte 1 is not UTF-8");
  EXPECT_EQ(error("a\nb\n" + std::string(kMostText + 1, 'c')),
            "text.txt: line 3: has more than 1048576 bytes");
  EXPECT_EQ(error(std::string(kMostText, 'c') + "\nd", true),
            "text.txt: line 2: the paragraph has more than 1048576 bytes");
}

TEST(PlainText, ItsRowsAreNotGuessed) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.write("a.txt", "one\ntwo\n");
  EXPECT_EQ(test::message_of<DataError>([&] { open_table(path, "auto", {"text"}); }),
            path + ": is plain text; set task.format to lines or paragraphs: each is then a row");
}

TEST(NextTokens, EachTokenIsTheTargetOfThoseBeforeIt) {
  const test::TemporaryDirectory folder;
  folder.write("a.txt", "abba\nab\nabbabba\n");
  const auto make = [&](const Options& more) {
    Options options = {{"format", "lines"},
                       {"tokens", "characters"},
                       {"labels", "next"},
                       {"train", folder / "a.txt"},
                       {"unknown", 0.0}};
    for (const char* split : {"validation", "test"}) options[split] = folder / "a.txt";
    for (const auto& [name, value] : more) options[name] = value;
    return find_task("files").make(options, 1);
  };
  const auto task = make({});
  const TaskShape shape = task->shape();
  EXPECT_EQ(shape.token_names, (Texts{"<unk>", "<end>", "b", "a"}));
  EXPECT_EQ(shape.class_names, shape.token_names);
  EXPECT_EQ(shape.max_length, 8u);
  EXPECT_EQ(shape.next, NextToken::character);
  const auto train = task->dataset(Split::train);
  ASSERT_EQ(train->size(), 3u);
  EXPECT_EQ(train->get(0, 0).ids, (Tokens{1, 3, 2, 2, 3}));
  EXPECT_EQ(train->get(0, 0).targets, (Tokens{3, 2, 2, 3, 1}));
  EXPECT_EQ(task->parse("ab").ids, (Tokens{1, 3, 2}));
  EXPECT_EQ(task->parse("").ids, (Tokens{1}));
  EXPECT_EQ(task->token_text(3), "a");

  // Longer rows become pieces, in which every token of the row is a target once.
  EXPECT_TRUE(test::message_of<DataError>([&] {
                make({{"max_length", 5}})->dataset(Split::train);
              }).find("has 8 tokens, must have at most 5") != std::string::npos);
  const auto pieces = make({{"max_length", 5}, {"longer", "cut"}})->dataset(Split::train);
  ASSERT_EQ(pieces->size(), 4u);
  EXPECT_EQ(pieces->get(0, 2).ids, (Tokens{1, 3, 2, 2, 3}));
  EXPECT_EQ(pieces->get(0, 2).targets, (Tokens{3, 2, 2, 3, 2}));
  EXPECT_EQ(pieces->get(0, 3).ids, (Tokens{2, 2, 3}));
  EXPECT_EQ(pieces->get(0, 3).targets, (Tokens{2, 3, 1}));
}

}  // namespace
}  // namespace xgrad
