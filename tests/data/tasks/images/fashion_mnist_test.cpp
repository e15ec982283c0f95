// Fashion-MNIST, on small files made here, and on the real ones where Debian's package is
// installed.
#include <gtest/gtest.h>
#include <support/errors.hpp>

#include <array>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/data/loader.hpp>
#include <xgrad/data/tasks/images/fashion_mnist.hpp>

#include <data/tasks/images/idx_files.hpp>
#include <support/readers.hpp>
#include <support/temporary_directory.hpp>

namespace xgrad {
namespace {

constexpr std::size_t kPixels = 784;

/// Image i, of class i mod 10: byte i in each of its pixels but the first of row 3, which is 255.
std::string images(std::size_t count) {
  std::string pixels;
  for (std::size_t i = 0; i < count; ++i) {
    pixels += std::string(kPixels, char(i));
    pixels[pixels.size() - kPixels + 3 * 28] = char(255);
  }
  return idx_bytes({std::uint32_t(count), 28, 28}, pixels);
}

std::string labels(std::size_t count) {
  std::string values;
  for (std::size_t i = 0; i < count; ++i) values += char(i % 10);
  return idx_bytes({std::uint32_t(count)}, values);
}

/// A folder with 60 training and 20 test images.
struct Folder : test::TemporaryDirectory {
  Folder() {
    write("train-images-idx3-ubyte.gz", gzip(images(60)));
    write("train-labels-idx1-ubyte.gz", gzip(labels(60)));
    write("t10k-images-idx3-ubyte.gz", gzip(images(20)));
    write("t10k-labels-idx1-ubyte.gz", gzip(labels(20)));
  }
  std::unique_ptr<Task> task(Options options = {}, std::uint64_t seed = 1) const {
    options.insert({{"path", path()}, {"validation", 15}});
    return find_task("fashion_mnist").make(options, seed);
  }
  std::string error(Split split = Split::train, const Options& options = {}) const {
    try {
      task(options)->dataset(split);
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  }
};

float normalised(int x) {
  return float((x / 255.0 - 0.286040596988796) / 0.353024244514923);
}

/// The number of the image that an example shows, from the byte in its last pixel.
int number_of(const Example& example) {
  return int(std::lround((example.features.back() * 0.353024244514923 + 0.286040596988796) * 255));
}

std::multiset<int> numbers(const Dataset& dataset) {
  std::multiset<int> result;
  for (std::size_t i = 0; i < dataset.size(); ++i) result.insert(number_of(dataset.get(0, i)));
  return result;
}

TEST(FashionMnist, GivesNormalisedPixelsAndLabels) {
  const Folder folder;
  const auto task = folder.task();
  const auto test = task->dataset(Split::test);
  ASSERT_EQ(test->size(), 20);
  for (std::size_t i = 0; i < 20; ++i) {
    const Example example = test->get(0, i);
    ASSERT_EQ(example.features.size(), kPixels);
    for (std::size_t p = 0; p < kPixels; ++p) {
      ASSERT_EQ(example.features[p], normalised(p == 3 * 28 ? 255 : int(i))) << i << " " << p;
    }
    EXPECT_EQ(example.targets, (std::vector<std::int32_t>{std::int32_t(i % 10)}));
    EXPECT_NO_THROW(check_example(example, task->shape(), i));
  }
}

TEST(FashionMnist, TrainAndValidationShareTheTrainingFile) {
  const Folder folder;
  const auto task = folder.task({{"augment", false}});
  const auto train = numbers(*task->dataset(Split::train));
  const auto validation = numbers(*task->dataset(Split::validation));
  EXPECT_EQ(train.size(), 45);
  EXPECT_EQ(validation.size(), 15);
  std::multiset<int> both = train;
  both.insert(validation.begin(), validation.end());
  std::multiset<int> all;
  for (int i = 0; i < 60; ++i) all.insert(i);
  EXPECT_EQ(both, all) << "each image once, in one of the two";
  EXPECT_EQ(numbers(*folder.task({}, 2)->dataset(Split::validation)), validation)
      << "the same for any seed";
  EXPECT_EQ(folder.task({{"examples", 7}})->dataset(Split::train)->size(), 7);
}

TEST(FashionMnist, OnlyTrainingImagesAreAugmented) {
  const Folder folder;
  for (const bool augment : {false, true}) {
    const auto task = folder.task({{"augment", augment}, {"shift", 2}});
    for (Split split : {Split::train, Split::validation, Split::test}) {
      const auto dataset = task->dataset(split);
      std::size_t changed = 0;
      for (std::size_t i = 0; i < dataset->size(); ++i) {
        const Example first = dataset->get(0, i), second = dataset->get(1, i);
        EXPECT_EQ(first.targets, second.targets);
        changed += first.features != second.features;
      }
      if (augment && split == Split::train) {
        EXPECT_GT(changed, 35);  // a move is the same in both with probability 1/50
      } else {
        EXPECT_EQ(changed, 0) << to_string(split);
      }
    }
  }
}

TEST(FashionMnist, AugmentationIsAFunctionOfSeedEpochAndIndex) {
  const Folder folder;
  const auto task = folder.task(), again = folder.task(), other = folder.task({}, 2);
  const auto train = task->dataset(Split::train), same = again->dataset(Split::train);
  std::size_t changed = 0;
  for (std::size_t i = train->size(); i-- > 0;) {
    EXPECT_EQ(train->get(3, i).features, same->get(3, i).features);
    changed += train->get(3, i).features != other->dataset(Split::train)->get(3, i).features;
  }
  EXPECT_GT(changed, 30);
}

TEST(FashionMnist, AnAugmentedImageKeepsItsMark) {
  const Folder folder;
  const auto train = folder.task({{"shift", 1}})->dataset(Split::train);
  std::set<std::pair<std::size_t, std::size_t>> places;
  for (std::size_t epoch = 0; epoch < 10; ++epoch) {
    for (std::size_t i = 0; i < train->size(); ++i) {
      const Example example = train->get(epoch, i);
      const auto mark =
          std::find(example.features.begin(), example.features.end(), normalised(255));
      if (mark == example.features.end()) continue;  // shifted out at the edge
      const auto at = std::size_t(mark - example.features.begin());
      places.insert({at / 28, at % 28});
    }
  }
  const std::set<std::pair<std::size_t, std::size_t>> expected = {
      {2, 0},  {2, 1},  {3, 0},  {3, 1},  {4, 0},  {4, 1},
      {2, 26}, {2, 27}, {3, 26}, {3, 27}, {4, 26}, {4, 27}};
  EXPECT_EQ(places, expected);
}

TEST(FashionMnist, MissingFilesSayWhatToInstall) {
  const Folder folder;
  const std::string advice =
      ": there is no such file; install it with: apt-get install dataset-fashion-mnist";
  for (const char* file : {"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"}) {
    const Folder incomplete;
    std::filesystem::remove((incomplete / file));
    EXPECT_EQ(incomplete.error(), (incomplete / file) + advice);
    EXPECT_EQ(incomplete.error(Split::test), "none") << "needs other files";
  }
}

TEST(FashionMnist, FilesThatDoNotFitAreErrors) {
  const auto error_with = [](const std::string& file, const std::string& bytes) {
    const Folder folder;
    folder.write(file, bytes);
    const std::string error = folder.error();
    EXPECT_EQ(error.find((folder / file)), 0) << error;
    return error.substr(std::min(error.size(), (folder / file).size()));
  };
  const std::string pixel_file = "train-images-idx3-ubyte.gz";
  const std::string label_file = "train-labels-idx1-ubyte.gz";
  EXPECT_EQ(error_with(label_file, gzip(labels(59))), ": has 59 labels for 60 images");
  EXPECT_EQ(error_with(pixel_file, gzip(idx_bytes({1, 28, 27}, std::string(28 * 27, 'x')))),
            ": images are 28 x 27, expected 28 x 28");
  EXPECT_EQ(error_with(pixel_file, gzip(idx_bytes({0, 28, 28}, ""))), ": has no images");
  EXPECT_EQ(error_with(pixel_file, gzip(images(60)).substr(0, 200)), ": the file is cut off");
  std::string bad = labels(60);
  bad.back() = 10;
  EXPECT_EQ(error_with(label_file, gzip(bad)), ": label 59 is 10, must be below 10");
}

TEST(FashionMnist, FilesThatChangedAreErrors) {
  const Folder folder;
  const auto first = folder.task();
  EXPECT_EQ(first->vocabulary_and_scales(), "") << "nothing was read";
  for (Split split : {Split::train, Split::test}) first->dataset(split);
  const std::string learned = first->vocabulary_and_scales();
  const auto error_of = [&](Split split) -> std::string {
    const auto later = folder.task();
    later->adopt(learned);
    try {
      later->dataset(split);
    } catch (const DataError& error) {
      return error.what();
    }
    EXPECT_EQ(later->vocabulary_and_scales(), learned);
    return "none";
  };
  for (Split split : {Split::train, Split::validation, Split::test}) {
    EXPECT_EQ(error_of(split), "none");
  }
  std::string values = labels(20);
  values.back() = 0;
  folder.write("t10k-labels-idx1-ubyte.gz", gzip(values));
  folder.write("train-images-idx3-ubyte.gz",
               gzip(idx_bytes({60, 28, 28}, std::string(60 * kPixels, 'x'))));
  const std::string changed = ": has changed since this run began";
  EXPECT_EQ(error_of(Split::test), folder / "t10k-labels-idx1-ubyte.gz" + changed);
  EXPECT_EQ(error_of(Split::validation), folder / "train-images-idx3-ubyte.gz" + changed);
  EXPECT_THROW(folder.task()->adopt("{}"), CheckpointError);
}

TEST(FashionMnist, OptionsThatCannotBeAreErrors) {
  const Folder folder;
  EXPECT_EQ(folder.error(Split::train, {{"validation", 60}}),
            "validation: is 60, must be below 60, the number of training images");
  EXPECT_EQ(folder.error(Split::train, {{"examples", 46}}),
            "examples: is 46, must be at most 45, the training images that are not for validation");
  EXPECT_EQ(folder.error(Split::train, {{"shift", -1}}), "shift: is -1, must be from 0 to 27");
}

TEST(FashionMnist, ParsesALineWithoutAnyFile) {
  const auto task = find_task("fashion_mnist").make({{"path", "/nowhere"}}, 1);
  std::string line;
  for (std::size_t p = 0; p < kPixels; ++p) line += std::to_string(p % 256) + " ";
  const Example example = task->parse(line);
  ASSERT_NO_THROW(check_example(example, task->shape(), 0));
  for (std::size_t p = 0; p < kPixels; ++p) {
    EXPECT_EQ(example.features[p], normalised(int(p % 256)));
  }
  const auto error_of = [&](const std::string& bad) {
    return test::message_of<DataError>([&] { task->parse(bad); });
  };
  EXPECT_EQ(error_of("0 256"),
            "fashion_mnist: pixel 2 is \"256\", must be a whole number from 0 to 255");
  EXPECT_EQ(
      error_of("1 2 3"),
      "fashion_mnist: the line has 3 numbers, expected the 784 pixels of an image, row by row");
}

class RealFashionMnist : public testing::Test {
 protected:
  const std::string folder_ = "/usr/share/datasets/fashion-mnist";
};

TEST_F(RealFashionMnist, TheConstantsAreThoseOfTheTrainingImages) {
  const IdxArray pixels = read_idx(folder_ + "/train-images-idx3-ubyte.gz", 3);
  EXPECT_EQ(pixels.extents, (std::vector<std::size_t>{60000, 28, 28}));
  double sum = 0, squares = 0;  // exact: integers below 2^53
  for (std::uint8_t x : pixels.values) sum += x, squares += double(x) * x;
  const double count = double(pixels.values.size());
  const double mean = sum / count;
  EXPECT_NEAR(mean, 72.94, 0.005);
  EXPECT_NEAR(mean / 255, 0.286040596988796, 1e-14);
  EXPECT_NEAR(std::sqrt(squares / count - mean * mean) / 255, 0.353024244514923, 1e-14);
}

TEST_F(RealFashionMnist, HasItsSizesAndClasses) {
  const auto task = find_task("fashion_mnist").make({}, 1);
  std::map<Split, std::array<int, 10>> counts;
  for (Split split : {Split::train, Split::validation, Split::test}) {
    const auto dataset = task->dataset(split);
    for (std::size_t i = 0; i < dataset->size(); ++i) {
      ++counts[split].at(std::size_t(dataset->get(0, i).targets.at(0)));
    }
  }
  const auto sum = [&](Split split) {
    return std::accumulate(counts[split].begin(), counts[split].end(), 0);
  };
  EXPECT_EQ(sum(Split::train), 55000);
  EXPECT_EQ(sum(Split::validation), 5000);
  for (std::size_t c = 0; c < 10; ++c) {
    EXPECT_EQ(counts[Split::train][c] + counts[Split::validation][c], 6000) << "class " << c;
    EXPECT_EQ(counts[Split::test][c], 1000) << "class " << c;
    EXPECT_NEAR(counts[Split::validation][c], 500, 110) << "class " << c;
  }
}

TEST_F(RealFashionMnist, BatchesDoNotDependOnTheNumberOfThreads) {
  const auto task = find_task("fashion_mnist").make({}, 1);
  const auto train = task->dataset(Split::train);
  const int before = threads();
  std::vector<Batch> batches;
  for (int count : {1, 3}) {
    set_threads(count);
    batches.push_back(
        Loader(*train, task->shape(), {.batch = 200, .seed = 4, .shuffle = true}).next());
  }
  set_threads(before);
  EXPECT_EQ(batches[0].features, batches[1].features);
  EXPECT_EQ(batches[0].targets, batches[1].targets);
}

TEST(FashionMnist, IsReadOnceByThoseThatUseItTogether) {
  const Folder folder;
  const auto alone = folder.task({{"augment", false}});
  for (const Split split : {Split::train, Split::test}) alone->dataset(split);
  test::on_readers(3, [&](const Readers& readers) {
    const auto task = folder.task({{"augment", false}});
    EXPECT_EQ(task->read_once(readers), readers.self > 0);
    readers.tell("");
    if (readers.self == 0) std::filesystem::remove(folder / "train-images-idx3-ubyte.gz");
    readers.tell("");
    EXPECT_EQ(task->vocabulary_and_scales(), alone->vocabulary_and_scales());
    for (const Split split : {Split::train, Split::validation, Split::test}) {
      const auto expected = alone->dataset(split), found = task->dataset(split);
      ASSERT_EQ(found->size(), expected->size());
      for (std::size_t i = 0; i < found->size(); ++i) {
        EXPECT_EQ(found->get(0, i).features, expected->get(0, i).features);
        EXPECT_EQ(found->get(0, i).targets, expected->get(0, i).targets);
      }
    }
  });
}

}  // namespace
}  // namespace xgrad
