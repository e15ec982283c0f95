// Data sets that are wrong, each with the message that says where and how.
#include <gtest/gtest.h>

#include <data/tables/broken.hpp>

namespace xgrad {
namespace {

const std::string kGood = "text,label\na b,x\nc d,y\ne f,x\ng h,y\ni j,x\n";

/// Enough good rows for three splits, and one more line behind them, as row 61 in line 62.
std::string rows_and(const std::string& last) {
  std::string text = "text,label\n";
  for (int i = 0; i < 60; ++i) text += "w" + std::to_string(i) + (i % 2 ? " b,x\n" : " c,y\n");
  return text + last;
}

/// A header of so many columns, without its end.
std::string many_columns(int count) {
  std::string text = "text,label";
  for (int i = 2; i < count; ++i) text += ",c" + std::to_string(i);
  return text;
}

/// A header of so many columns with names of a MiB.
std::string long_columns(int count) {
  std::string text = "text";
  for (int i = 1; i < count; ++i) text += "," + std::string(1 << 20, char('a' + i));
  return text + ",z";
}

std::string objects_and(const std::string& last) {
  std::string text;
  for (int i = 0; i < 60; ++i) {
    text +=
        R"({"text": "w)" + std::to_string(i) + R"( b", "label": )" + std::to_string(i % 2) + "}\n";
  }
  return text + last;
}

/// Good graphs, and one more of two nodes with these edges, as row 61 in line 62.
std::string graph_with(const std::string& edges) {
  std::string text = "text,edges,label\n";
  for (int i = 0; i < 60; ++i) text += "w" + std::to_string(i) + (i % 2 ? " b,0-1,x\n" : ",,y\n");
  return text + "a b," + edges + ",x\n";
}

const Options kGraphs = {{"edges", "edges"}};
const std::string kLast = "FILE: row 61 (line 62), column \"edges\": ";
const std::string kNoPair = ", must be two nodes with \"-\" between them, as 0-1";
const Options kTokens = {{"labels", "tokens"}};
const Options kCharacters = {{"tokens", "characters"}};

const std::vector<Broken> kBrokenText = {
    {"empty file", "a.csv", "", {}, "FILE: is empty"},
    {"header only", "a.csv", "text,label\n", {}, "FILE: has no rows"},
    {"too few fields",
     "a.csv",
     rows_and("a b\n"),
     {},
     "FILE: row 61 (line 62): has 1 of the header's 2 fields"},
    {"too many fields",
     "a.csv",
     rows_and("a b,x,\n"),
     {},
     "FILE: row 61 (line 62): has more than the 2 fields of the header"},
    {"a line of separators",
     "a.csv",
     rows_and(std::string(1 << 20, ',') + "\n"),
     {},
     "FILE: row 61 (line 62): has more than the 2 fields of the header"},
    {"a header of separators",
     "a.tsv",
     std::string(1 << 20, '\t') + "\n",
     {},
     "FILE: header (line 1): has more than 65536 columns"},
    {"more columns than allowed",
     "a.csv",
     many_columns(65537) + "\n",
     {},
     "FILE: header (line 1): has more than 65536 columns"},
    {"as many columns as allowed",
     "a.csv",
     many_columns(65536) + "\na\n",
     {},
     "FILE: row 1 (line 2): has 1 of the header's 65536 fields"},
    {"header of too many bytes",
     "a.csv",
     long_columns(17) + "\n",
     {},
     "FILE: header (line 1): its names have more than 16777216 bytes"},
    {"control characters in names",
     "a.csv",
     "te\x1b[31mxt,\x7flabel\na,x\n",
     {},
     "FILE: has no column \"text\"; it has \"te [31mxt\", \" label\""},
    {"control characters in a cell",
     "a.csv",
     rows_and("a, \x1b[31mx\x7f\n"),
     {},
     "FILE: row 61 (line 62), column \"label\": the label is \"  [31mx \", must not begin or end "
     "with white space"},
    {"blank line",
     "a.csv",
     rows_and("\n"),
     {},
     "FILE: row 61 (line 62): has 1 of the header's 2 fields"},
    {"column twice",
     "a.csv",
     "text,label,text\na,x,b\n",
     {},
     "FILE: header, column 3: the name \"text\" appears twice"},
    {"column without a name",
     "a.csv",
     "text,,label\na,x,b\n",
     {},
     "FILE: header, column 2: has no name"},
    {"missing column",
     "a.csv",
     "txt,label\na,x\n",
     {},
     "FILE: has no column \"text\"; it has \"txt\", \"label\""},
    {"missing target",
     "a.csv",
     kGood,
     {{"target", "class"}},
     "FILE: has no column \"class\"; it has \"label\", \"text\""},
    {"stray quote",
     "a.csv",
     rows_and("a \"b\",x\n"),
     {},
     "FILE: row 61 (line 62), column \"text\": has a quote, but does not begin with one"},
    {"text behind a quote",
     "a.csv",
     rows_and("\"a\" b,x\n"),
     {},
     "FILE: row 61 (line 62), column \"text\": has text after the closing quote"},
    {"open quote",
     "a.csv",
     rows_and("a,\"x\n"),
     {},
     "FILE: row 61 (line 62), column \"label\": has no closing quote"},
    {"lone carriage return",
     "a.csv",
     rows_and("a b,x\rc d,y\n"),
     {},
     "FILE: row 61 (line 62), column \"label\": has a carriage return without a line feed"},
    {"bad UTF-8",
     "a.csv",
     rows_and("a \xC0\xAF,x\n"),
     {},
     "FILE: row 61 (line 62), column \"text\": byte 3 is not UTF-8"},
    {"surrogate",
     "a.csv",
     rows_and("\xED\xA0\x80,x\n"),
     {},
     "FILE: row 61 (line 62), column \"text\": byte 1 is not UTF-8"},
    {"UTF-16",
     "a.csv",
     std::string("\xFF\xFEt\0,\0", 6),
     {},
     "FILE: header, column 1: byte 4 is NUL"},
    {"NUL",
     "a.csv",
     rows_and(std::string("a\0b,x\n", 6)),
     {},
     "FILE: row 61 (line 62), column \"text\": byte 2 is NUL"},
    {"huge field",
     "a.csv",
     rows_and(std::string((1 << 20) + 1, 'a') + ",x\n"),
     {},
     "FILE: row 61 (line 62), column \"text\": has more than 1048576 bytes, the limit of a field"},
    {"empty label",
     "a.csv",
     rows_and("a b,\n"),
     {},
     "FILE: row 61 (line 62), column \"label\": the label is empty"},
    {"label with space",
     "a.csv",
     rows_and("a b, x\n"),
     {},
     "FILE: row 61 (line 62), column \"label\": the label is \" x\", must not begin or end with "
     "white space"},
    {"empty input",
     "a.csv",
     rows_and(" ,x\n"),
     {},
     "FILE: row 61 (line 62), column \"text\": has no words"},
    {"no characters", "a.csv", rows_and(",x\n"), kCharacters,
     "FILE: row 61 (line 62), column \"text\": has no characters"},
    {"labels for tokens", "a.csv", "text,label\na b c,x y\n", kTokens,
     "FILE: row 1 (line 2), column \"label\": has 2 labels for 3 tokens"},
    {"one class",
     "a.csv",
     "text,label\na,x\nb,x\nc,x\nd,x\n",
     {},
     "FILE: column \"label\" has only the label \"x\" in the training rows; there must be at least "
     "two"},
    {"too long",
     "a.csv",
     kGood,
     {{"max_length", 1}},
     "FILE: row 1 (line 2), column \"text\": has 2 tokens, must have at most 1; set "
     "task.max_length, or task.longer to \"cut\""},
    {"too few rows",
     "a.csv",
     kGood,
     {},
     "FILE: none of its 5 rows is in the test split; add rows, or set task.test"},
    {"tsv with commas", "a.tsv", kGood, {}, "FILE: has no column \"text\"; it has \"text,label\""},
    {"tsv, too many tabs",
     "a.tsv",
     "text\tlabel\na\tx\ty\n",
     {},
     "FILE: row 1 (line 2): has more than the 2 fields of the header"},
    {"three nodes in an edge", "a.csv", graph_with("1-0 0-1-2"), kGraphs,
     kLast + "edge 2 is \"0-1-2\"" + kNoPair},
    {"letters as nodes", "a.csv", graph_with("a-b"), kGraphs,
     kLast + "edge 1 is \"a-b\"" + kNoPair},
    {"half an edge", "a.csv", graph_with("0-"), kGraphs, kLast + "edge 1 is \"0-\"" + kNoPair},
    {"a node alone", "a.csv", graph_with("0"), kGraphs, kLast + "edge 1 is \"0\"" + kNoPair},
    {"other half of an edge", "a.csv", graph_with("-"), kGraphs,
     kLast + "edge 1 is \"-\"" + kNoPair},
    {"spaces in an edge", "a.csv", graph_with("0 - 1"), kGraphs,
     kLast + "edge 1 is \"0\"" + kNoPair},
    {"pairs of JSON", "a.csv", graph_with("\"[[0, 1]]\""), kGraphs,
     kLast + "edge 1 is \"[[0,\"" + kNoPair},
    {"node beyond any number", "a.csv", graph_with("0-99999999999"), kGraphs,
     kLast + "edge 1 is \"0-99999999999\"" + kNoPair},
    {"node that is not there", "a.csv", graph_with("0-1 1-2"), kGraphs,
     kLast + "edge 2 has node 2, must be from 0 to 1"},
    {"node below 0", "a.csv", graph_with("-1-0"), kGraphs,
     kLast + "edge 1 has node -1, must be from 0 to 1"},
    {"unknown ending",
     "a.dat",
     kGood,
     {},
     "FILE: cannot tell the format from the name; set task.format to csv, tsv, jsonl, lines, "
     "paragraphs, hdf5 or npy"},
};

const std::string kRow = "FILE: row 61 (line 61)";
const std::vector<Broken> kBrokenObjects = {
    {"no JSON",
     "a.jsonl",
     objects_and("{\"text\": }"),
     {},
     kRow + ": is not JSON: parse error at line 1, column 10: syntax error while parsing value - "
            "unexpected '}'; expected '[', '{', or a literal"},
    {"blank line", "a.jsonl", objects_and("\n"), {}, kRow + ": is blank"},
    {"no object",
     "a.jsonl",
     objects_and("[1]"),
     {},
     kRow + ": is not an object such as {\"text\": \"...\"}"},
    {"member twice",
     "a.jsonl",
     objects_and(R"({"text": "a", "label": 1, "text": "b"})"),
     {},
     kRow + ": the member \"text\" appears twice"},
    {"missing member",
     "a.jsonl",
     objects_and(R"({"text": "a"})"),
     {},
     kRow + ": has no member \"label\""},
    {"null",
     "a.jsonl",
     objects_and(R"({"text": null, "label": 1})"),
     {},
     kRow + ", column \"text\": is null, must be text, a number or a list of them"},
    {"object",
     "a.jsonl",
     objects_and(R"({"text": {}, "label": 1})"),
     {},
     kRow + ", column \"text\": is an object, must be text, a number or a list of them"},
    {"mixed list",
     "a.jsonl",
     objects_and(R"({"text": ["a", 1], "label": 1})"),
     {},
     kRow + ", column \"text\": is a list of texts, but holds number"},
    {"mixed numbers",
     "a.jsonl",
     objects_and(R"({"text": [1, "a"], "label": 1})"),
     {},
     kRow + ", column \"text\": is a list of mixed types"},
    {"ragged vectors",
     "a.jsonl",
     objects_and(R"({"text": [[1, 2], [3]], "label": 1})"),
     {},
     kRow + ", column \"text\": its lists have 2 and 1 numbers, must have equally many"},
    {"NaN",
     "a.jsonl",
     objects_and(R"({"text": [NaN], "label": 1})"),
     {},
     kRow + ": is not JSON: parse error at line 1, column 11: syntax error while parsing value - "
            "invalid literal; last read: '\"text\": [N'"},
    {"fraction as a class",
     "a.jsonl",
     objects_and(R"({"text": "a", "label": 1.5})"),
     {},
     kRow + ", column \"label\": is 1.5, must be a whole number or text to be a class"},
    {"huge whole number",
     "a.jsonl",
     objects_and(R"({"text": "a", "label": 9007199254740993})"),
     {},
     kRow + ", column \"label\": is 9007199254740993, a number too large"},
    {"list as a label",
     "a.jsonl",
     objects_and(R"({"text": "a", "label": ["x"]})"),
     {},
     kRow + ", column \"label\": is a list, must be one label"},
    {"space in a word",
     "a.jsonl",
     objects_and(R"({"text": ["a b", "c"], "label": 1})"),
     {},
     kRow + ", column \"text\": word 1 is \"a b\", must be a word without white space"},
    {"escaped NUL",
     "a.jsonl",
     objects_and(R"({"text": "a\u0000", "label": 1})"),
     {},
     kRow + ", column \"text\": byte 2 is NUL"},
    {"bad UTF-8",
     "a.jsonl",
     objects_and("{\"text\": \"\xFF\", \"label\": 1}"),
     {},
     kRow + ": byte 11 is not UTF-8"},
};

TEST(BrokenFiles, TextSaysWhereAndHow) {
  expect_messages(kBrokenText);
}

TEST(BrokenFiles, JsonLinesSayWhereAndHow) {
  expect_messages(kBrokenObjects);
}

/// Returns the error of reading a split's own file beside a good file of training rows.
std::string error_of_own(const std::string& train, const std::string& own, Split split,
                         Options options = {}) {
  options["train"] = train;
  options[to_string(split)] = own;
  return error_of(options, split);
}

// Whatever is wrong with a row is said of the files of the other splits as of the training file.
TEST(BrokenFiles, TheOtherSplitsSayWhereAndHow) {
  std::size_t tried = 0;
  for (const auto* table : {&kBrokenText, &kBrokenObjects}) {
    for (const Broken& row : *table) {
      if (!row.message.starts_with("FILE: row 61")) continue;
      const test::TemporaryDirectory folder;
      const std::string good = row.options.contains("edges") ? graph_with("0-1")
                               : table == &kBrokenText       ? rows_and("")
                                                             : objects_and("");
      const std::string train = folder.write("good-" + std::string(row.file), good);
      const std::string own = folder.write(row.file, row.bytes);
      for (const Split split : {Split::validation, Split::test}) {
        EXPECT_EQ(error_of_own(train, own, split, row.options), own + row.message.substr(4))
            << to_string(split) << ": " << row.what;
      }
      ++tried;
    }
  }
  EXPECT_GT(tried, 40);
}

TEST(BrokenFiles, AFileOfAnotherSplitThatDoesNotFitTheTrainingFile) {
  const test::TemporaryDirectory folder;
  const std::string train = folder.write("train.csv", rows_and(""));
  const auto error_with = [&](const std::string& bytes) {
    const std::string own = folder.write("own.csv", bytes);
    const std::string error = error_of_own(train, own, Split::validation);
    EXPECT_TRUE(error.starts_with(own)) << error;
    return error.substr(std::min(own.size(), error.size()));
  };
  EXPECT_EQ(error_with(""), ": is empty");
  EXPECT_EQ(error_with("text,label\n"), ": has no rows");
  EXPECT_EQ(error_with("text,liked\na,x\n"),
            ": has no column \"label\"; it has \"liked\", \"text\"");
  EXPECT_EQ(error_with("label,text\nx,a\nz,b\n"),
            ": row 2 (line 3), column \"label\": the label \"z\" does not occur in the training "
            "rows");
  EXPECT_EQ(error_with("text,label\n\"a\nb c\",x\n"),
            ": row 1 (line 2), column \"text\": has 3 tokens, must have at most 2; set "
            "task.max_length, or task.longer to \"cut\"");
  EXPECT_EQ(error_of_own(train, folder / "missing.csv", Split::test),
            folder / "missing.csv" + ": there is no such file");
}

TEST(BrokenFiles, AFileThatIsNone) {
  const test::TemporaryDirectory folder;
  EXPECT_EQ(error_of({}), "task.train: is empty, must name the file of the training rows");
  EXPECT_EQ(error_of({{"train", folder / "a.csv"}}), folder / "a.csv" + ": there is no such file");
  EXPECT_EQ(error_of({{"train", folder.path()}, {"format", "csv"}}),
            folder.path() + ": is a directory, not a file");
  EXPECT_EQ(error_of({{"train", folder.path()}}), folder / "text.npy" + ": there is no such file");
}

}  // namespace
}  // namespace xgrad
