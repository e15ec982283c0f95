// The user's own numbers and graphs.
#include <gtest/gtest.h>
#include <support/errors.hpp>

#include <cmath>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/task.hpp>

#include <support/temporary_directory.hpp>

namespace xgrad {
namespace {

using Edges = std::vector<std::pair<std::int32_t, std::int32_t>>;

std::unique_ptr<Task> task(Options options) {
  for (const char* split : {"validation", "test"}) options.insert({split, options.at("train")});
  return find_task("files").make(options, 1);
}

std::vector<Example> examples(const Task& task) {
  const auto dataset = task.dataset(Split::train);
  std::vector<Example> list;
  for (std::size_t i = 0; i < dataset->size(); ++i) {
    list.push_back(dataset->get(0, i));
    EXPECT_NO_THROW(check_example(list.back(), task.shape(), i));
  }
  return list;
}

std::string error_of(const Options& options) {
  return test::message_of<Error>([&] { task(options)->dataset(Split::train); });
}

// Mean 2 and deviation 1 of a; mean 10 of b, which never changes; mean 30 and deviation 10 of y.
const std::string kColumns = "a,b,y\n1,10,20\n3,10,40\n1,10,40\n3,10,20\n";

TEST(FilesOfNumbers, ColumnsAreTokensEachInItsOwnScale) {
  const test::TemporaryDirectory folder;
  const auto of = task({{"train", folder.write("a.csv", kColumns)},
                        {"input", "a, b"},
                        {"target", "y"},
                        {"tokens", "numbers"},
                        {"labels", "numbers"}});
  const TaskShape shape = of->shape();
  EXPECT_EQ(shape.input, InputKind::vectors);
  EXPECT_EQ(shape.target, TargetKind::numbers);
  EXPECT_EQ(shape.features, 1);
  EXPECT_EQ(shape.max_length, 2);
  EXPECT_EQ(shape.classes, 1);
  EXPECT_EQ(shape.value_mean, (std::vector<double>{30}));
  EXPECT_EQ(shape.value_deviation, (std::vector<double>{10}));
  const auto rows = examples(*of);
  EXPECT_EQ(rows[0].features, (std::vector<float>{-1, 0}));
  EXPECT_EQ(rows[0].values, (std::vector<float>{-1}));
  EXPECT_EQ(rows[1].values, (std::vector<float>{1}));
  EXPECT_EQ(of->parse("5 11").features, (std::vector<float>{3, 1}))
      << "a deviation of 0 counts as 1";
}

TEST(FilesOfNumbers, NamesOfColumnsHaveNoSpacesAroundThem) {
  const test::TemporaryDirectory folder;
  const std::string path = folder.write("a.csv", "body height,width,y\n1,10,20\n3,10,40\n1,9,4\n");
  for (const char* input : {"body height,width", "body height ,width", " body height  ,  width "}) {
    const auto of = task({{"train", path},
                          {"input", input},
                          {"target", "y"},
                          {"tokens", "numbers"},
                          {"labels", "numbers"}});
    EXPECT_EQ(of->shape().max_length, 2) << input;
  }
}

TEST(FilesOfNumbers, VectorsHaveAScaleForEachFeature) {
  const test::TemporaryDirectory folder;
  const auto of = task({{"train", folder.write("a.jsonl", R"({"x": [[1, 0], [3, 5]], "y": "p"})"
                                                          "\n"
                                                          R"({"x": [[1, 10]], "y": "q"})"
                                                          "\n"
                                                          R"({"x": [[3, 5]], "y": "q"})")},
                        {"input", "x"},
                        {"target", "y"},
                        {"tokens", "numbers"}});
  const TaskShape shape = of->shape();
  EXPECT_EQ(shape.features, 2);
  EXPECT_EQ(shape.max_length, 2);
  EXPECT_EQ(shape.classes, 2);
  const auto rows = examples(*of);  // means 2 and 5, deviations 1 and sqrt(50 / 4)
  const float low = float(-5 / std::sqrt(12.5));
  EXPECT_EQ(rows[0].features, (std::vector<float>{-1, low, 1, 0}));
  EXPECT_EQ(of->parse("1 0, 3 5").features, rows[0].features);
  EXPECT_THROW(of->parse("1 0 3"), DataError);
}

// 1.7e9 is a time in seconds, of which float keeps every 128th; 1e100 is beyond float.
TEST(FilesOfNumbers, LinesAreReadAsExactlyAsRows) {
  const test::TemporaryDirectory folder;
  const auto of = task({{"train", folder.write("a.csv",
                                               "a,b,y\n"
                                               "1700000001,1e100,1\n"
                                               "1700000003,3e100,2\n")},
                        {"input", "a, b"},
                        {"target", "y"},
                        {"tokens", "numbers"},
                        {"labels", "numbers"}});
  EXPECT_EQ(of->parse("1700000001 1e100").features, (std::vector<float>{-1, -1}));
  EXPECT_EQ(of->parse("1700000003 3e100").features, examples(*of)[1].features);
}

TEST(FilesOfNumbers, LinesAreCutAsRowsAre) {
  const test::TemporaryDirectory folder;
  Options options = {{"train", folder.write("a.csv", "x,y\n1 3 1,0\n3 1 3,1\n")},
                     {"input", "x"},
                     {"target", "y"},
                     {"tokens", "numbers"},
                     {"max_length", std::int64_t(2)},
                     {"longer", "cut"}};
  EXPECT_EQ(task(options)->parse("1 3 1").features, (std::vector<float>{-1, 1}));
  const std::string learned = task(options)->vocabulary_and_scales();
  options["longer"] = "error";
  const auto strict = task(options);
  strict->adopt(learned);
  try {
    strict->parse("1 3 1");
    FAIL();
  } catch (const DataError& error) {
    EXPECT_EQ(std::string(error.what()),
              "files: has 3 tokens, must have at most 2; set task.max_length, or "
              "task.longer to \"cut\"");
  }
}

TEST(FilesOfNumbers, VocabularyAndScalesGoWithTheModel) {
  const test::TemporaryDirectory folder;
  const Options options = {{"train", folder.write("a.csv", kColumns)},
                           {"input", "a, b"},
                           {"target", "y"},
                           {"tokens", "numbers"},
                           {"labels", "numbers"}};
  const std::string learned = task(options)->vocabulary_and_scales();
  Options moved = options;
  moved["train"] = "/nowhere.csv";
  const auto other = task(moved);
  other->adopt(learned);
  EXPECT_EQ(other->parse("5 11").features, (std::vector<float>{3, 1}));
  EXPECT_EQ(other->vocabulary_and_scales(), learned);
  moved["tokens"] = "words", moved["input"] = "a";
  EXPECT_THROW(task(moved)->adopt(learned), CheckpointError);
}

TEST(FilesOfGraphs, NodesAndEdges) {
  const test::TemporaryDirectory folder;
  const auto of = task(
      {{"train", folder.write("a.jsonl",
                              R"({"nodes": ["C", "O", "C"], "edges": [[0, 1], [2, 1]], "label": 1})"
                              "\n"
                              R"({"nodes": ["C"], "edges": [], "label": 0})")},
       {"input", "nodes"},
       {"edges", "edges"}});
  EXPECT_TRUE(of->shape().graph);
  const auto rows = examples(*of);
  EXPECT_EQ(rows[0].ids, (std::vector<std::int32_t>{1, 2, 1}));
  EXPECT_EQ(rows[0].edges, (Edges{{0, 1}, {2, 1}}));
  EXPECT_TRUE(rows[1].edges.empty());
  EXPECT_EQ(rows[0].targets, (std::vector<std::int32_t>{1}));
  EXPECT_EQ(of->parse(R"({"edges": [[1, 0]], "nodes": ["O", "N"]})").edges, (Edges{{1, 0}}));
  EXPECT_EQ(of->parse(R"({"edges": [[1, 0]], "nodes": ["O", "N"]})").ids[1], 0);
  EXPECT_THROW(of->parse("C O"), DataError);
}

// The same graphs as text, in tables and in lines.
TEST(FilesOfGraphs, EdgesAsText) {
  const test::TemporaryDirectory folder;
  const Options options = {{"input", "nodes"}, {"edges", "edges"}};
  const auto of_file = [&](const std::string& path) {
    Options own = options;
    own["train"] = path;
    return task(own);
  };
  const std::string objects = R"({"nodes": "C O C", "edges": "0-1  2-1", "label": 1})"
                              "\n"
                              R"({"nodes": "C", "edges": "", "label": 0})";
  for (const std::string& path :
       {folder.write("a.csv", "label,nodes,edges\n1,C O C,0-1 2-1\n0,C,\n"),
        folder.write("b.csv", "nodes,edges,label\nC O C,\"0-1\n2-1 \",1\nC,\"\",0\n"),
        folder.write("a.tsv", "nodes\tedges\tlabel\nC O C\t 0-1 2-1\t1\nC\t\t0\n"),
        folder.write("a.jsonl", objects)}) {
    const auto of = of_file(path);
    const auto rows = examples(*of);
    ASSERT_EQ(rows.size(), 2) << path;
    EXPECT_EQ(rows[0].ids, (std::vector<std::int32_t>{1, 2, 1}));
    EXPECT_EQ(rows[0].edges, (Edges{{0, 1}, {2, 1}}));
    EXPECT_TRUE(rows[1].edges.empty());
    const Example line = of->parse("C O C\t0-1 2-1");
    EXPECT_EQ(line.ids, rows[0].ids);
    EXPECT_EQ(line.edges, rows[0].edges);
    EXPECT_EQ(of->parse("O N\t1-0\r").edges, (Edges{{1, 0}}));
    EXPECT_TRUE(of->parse("C O\t").edges.empty());
  }
}

TEST(FilesOfGraphs, VectorsAndCharactersHaveEdgesToo) {
  const test::TemporaryDirectory folder;
  const std::string numbers = folder.write("n.csv", "x,e,label\n1 3,0-1,1\n3 1,,0\n");
  const auto of = task({{"train", numbers}, {"input", "x"}, {"edges", "e"}, {"tokens", "numbers"}});
  EXPECT_EQ(of->parse("1 3\t1-0").features, (std::vector<float>{-1, 1}));
  EXPECT_EQ(of->parse("1 3\t1-0").edges, (Edges{{1, 0}}));
  const std::string text = folder.write("t.csv", "x,e,label\nCO,0-1,1\nO C,1-2,0\n");
  const auto letters =
      task({{"train", text}, {"input", "x"}, {"edges", "e"}, {"tokens", "characters"}});
  EXPECT_EQ(letters->parse("C O\t2-1").ids.size(), 3);
  EXPECT_EQ(letters->parse("C O\t2-1").edges, (Edges{{2, 1}}));
}

TEST(FilesOfGraphs, WrongLinesAreErrors) {
  const test::TemporaryDirectory folder;
  const auto of =
      task({{"train", folder.write("a.csv", "text,e,label\nC O,0-1,1\nC,,0\n")}, {"edges", "e"}});
  const auto error_with = [&](const std::string& line) -> std::string {
    return test::message_of<DataError>([&] { of->parse(line); });
  };
  EXPECT_EQ(error_with("C O 0-1"),
            "files: the line has no tab, which must separate nodes and edges");
  EXPECT_EQ(error_with("C O\t0-2"), "files: column \"e\": edge 1 has node 2, must be from 0 to 1");
  EXPECT_EQ(
      error_with("C\tO\t0-1"),
      "files: column \"e\": edge 1 is \"O\", must be two nodes with \"-\" between them, as 0-1");
  EXPECT_EQ(error_with("\t0-1"), "files: has no words");
}

TEST(FilesOfGraphs, WrongEdgesAreErrors) {
  const test::TemporaryDirectory folder;
  const auto error_with = [&](const std::string& edges) {
    const std::string path = folder.write("a.jsonl", R"({"nodes": ["C"], "edges": [], "label": 0})"
                                                     "\n"
                                                     R"({"nodes": ["C", "O"], "edges": )" +
                                                         edges + R"(, "label": 1})");
    const std::string error = error_of({{"train", path}, {"input", "nodes"}, {"edges", "edges"}});
    const std::string place = path + ": row 2 (line 2), column \"edges\": ";
    EXPECT_TRUE(error.starts_with(place)) << error;
    return error.substr(std::min(place.size(), error.size()));
  };
  const std::string pairs = "must be a list of pairs of nodes, as [[0, 1], [1, 2]]";
  EXPECT_EQ(error_with("[[0, 2]]"), "edge 1 has node 2, must be from 0 to 1");
  EXPECT_EQ(error_with("[[0, 1], [-1, 0]]"), "edge 2 has node -1, must be from 0 to 1");
  EXPECT_EQ(error_with("[[0, 1, 1]]"), pairs);
  EXPECT_EQ(error_with("[0, 1]"), pairs);
  EXPECT_EQ(error_with("[[0, 0.5]]"), pairs);
  EXPECT_EQ(error_with("[\"0-1\"]"), "is a list of texts, must be a list of pairs or text");
}

TEST(FilesOfNumbers, WrongNumbersAreErrors) {
  const test::TemporaryDirectory folder;
  const auto error_with = [&](const std::string& row) {
    const std::string path = folder.write("a.csv", kColumns + row);
    const std::string error = error_of({{"train", path},
                                        {"input", "a,b"},
                                        {"target", "y"},
                                        {"tokens", "numbers"},
                                        {"labels", "numbers"}});
    const std::string place = path + ": row 5 (line 6), column ";
    EXPECT_TRUE(error.starts_with(place)) << error;
    return error.substr(std::min(place.size(), error.size()));
  };
  EXPECT_EQ(error_with("x,1,1\n"), "\"a\": \"x\" is not a finite number");
  EXPECT_EQ(error_with("1,nan,1\n"), "\"b\": \"nan\" is not a finite number");
  EXPECT_EQ(error_with("1,1,inf\n"), "\"y\": \"inf\" is not a finite number");
  EXPECT_EQ(error_with("1,1,1e999\n"), "\"y\": \"1e999\" is not a finite number");
  EXPECT_EQ(error_with("1,,1\n"), "\"b\": has no numbers");
  EXPECT_EQ(error_with("1 2,1,1\n"),
            "\"a\": has 2 numbers, must have one, since there are several columns");
  EXPECT_EQ(error_with("1,1,1 2\n"), "\"y\": has 2 numbers, the earlier rows have 1");
}

// Numbers whose squares no double holds.
TEST(FilesOfNumbers, LargeAndSmallColumnsHaveTheirScales) {
  const test::TemporaryDirectory folder;
  const Options options = {{"train", folder.write("a.csv",
                                                  "a,b,c,y\n1e200,1e-200,-1.7e308,2e160\n"
                                                  "3e200,3e-200,1.7e308,4e160\n")},
                           {"input", "a, b, c"},
                           {"target", "y"},
                           {"tokens", "numbers"},
                           {"labels", "numbers"}};
  const auto of = task(options);
  const auto rows = examples(*of);
  EXPECT_EQ(rows[0].features, (std::vector<float>{-1, -1, -1}));
  EXPECT_EQ(rows[1].features, (std::vector<float>{1, 1, 1}));
  EXPECT_EQ(rows[1].values, (std::vector<float>{1}));
  EXPECT_EQ(of->shape().value_deviation, (std::vector<double>{1e160}));
  const auto other = task(options);
  other->adopt(of->vocabulary_and_scales());
  EXPECT_EQ(other->shape().value_mean, of->shape().value_mean);
  EXPECT_EQ(other->parse("3e200 1e-200 0").features, (std::vector<float>{1, -1, 0}));
}

TEST(FilesOfNumbers, LinesAreReadAsPreciselyAsFiles) {
  const test::TemporaryDirectory folder;
  const auto of = task({{"train", folder.write("a.csv", "a,y\n1700000001,p\n1700000003,q\n")},
                        {"input", "a"},
                        {"target", "y"},
                        {"tokens", "numbers"}});
  EXPECT_EQ(of->parse("1700000003").features, (std::vector<float>{1}));
}

TEST(FilesOfNumbers, NumbersTooLargeForFloatAreErrors) {
  const test::TemporaryDirectory folder;
  Options options = {{"train", folder.write("a.csv", kColumns)},
                     {"input", "a, b"},
                     {"target", "y"},
                     {"tokens", "numbers"},
                     {"labels", "numbers"}};
  const auto error_with = [&](const std::string& row) {
    options["test"] = folder.write("test.csv", "b,y,a\n10,20,1\n" + row);
    return test::message_of<DataError>([&] { task(options)->dataset(Split::test); });
  };
  const std::string place = folder / "test.csv" + ": row 2 (line 3), column ";
  EXPECT_EQ(error_with("10,20,1e60\n"),
            place +
                "\"a\": 1e+60 is too large for float after it is standardised by the training "
                "rows' mean, 2, and deviation, 1");
  EXPECT_TRUE(
      error_with("-1e60,20,1\n").starts_with(place + "\"b\": -1e+60 is too large for float "));
  EXPECT_TRUE(
      error_with("10,1e60,1\n").starts_with(place + "\"y\": 1e+60 is too large for float "));
  EXPECT_EQ(error_with("10,20,1e20\n"), "none");
  EXPECT_THROW(task(options)->parse("1 1e60"), DataError);
}

TEST(FilesOfNumbers, OptionsThatDoNotFitAreErrors) {
  EXPECT_EQ(error_of({{"train", "a.csv"}, {"input", "a,b"}}),
            "task.input: several columns need task.tokens = \"numbers\"");
  EXPECT_EQ(error_of({{"train", "a.csv"}, {"input", "a,,b"}, {"tokens", "numbers"}}),
            "task.input: a column has no name");
  EXPECT_EQ(error_of({{"train", "a.csv"}, {"tokens", "numbers"}, {"labels", "masked"}}),
            "task.labels: \"masked\" needs task.tokens = \"words\" or \"characters\"");
  EXPECT_EQ(error_of({{"train", "a.csv"}, {"edges", "e"}, {"longer", "cut"}}),
            "task.longer: graphs cannot be cut, because their edges may join the tokens cut off");
}

}  // namespace
}  // namespace xgrad
