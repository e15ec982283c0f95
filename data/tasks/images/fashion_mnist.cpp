// Fashion-MNIST (Xiao, Rasul and Vollgraf 2017): 70,000 grey images of clothes, 28 x 28 pixels, in
// ten classes.
#include <xgrad/data/tasks/images/fashion_mnist.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <mutex>
#include <numeric>
#include <sstream>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/random.hpp>
#include <xgrad/data/example_text.hpp>
#include <xgrad/data/tables/byte_stream.hpp>
#include <xgrad/data/tables/row_coder.hpp>
#include <xgrad/data/task.hpp>
#include <xgrad/storage/disk/temporary.hpp>
#include <xgrad/text/text.hpp>

namespace xgrad {

namespace {

constexpr std::size_t kSide = 28, kPixels = kSide * kSide, kClasses = 10;
// Mean and deviation of the 60,000 training images, with pixels in [0, 1].
constexpr double kMean = 0.286040596988796, kDeviation = 0.353024244514923;

using Fingerprints = std::map<std::string, std::uint64_t>;  // fingerprint of each file, by path

struct Images {
  Scratch pixels = {};  // (count, 28, 28)
  Scratch labels = {};  // (count)
};

const std::uint8_t* bytes_of(const Scratch& scratch) {
  return reinterpret_cast<const std::uint8_t*>(scratch.data());
}

/// Reads the images and labels of `part`, "train" or "t10k".
std::shared_ptr<Images> read_images(const std::string& folder, const std::string& part,
                                    Fingerprints& known) {
  const std::string image_file = part + "-images-idx3-ubyte.gz";
  const std::string label_file = part + "-labels-idx1-ubyte.gz";
  const auto read = [&](const std::string& file, std::size_t rank) {
    const std::string path = (std::filesystem::path(folder) / file).string();
    check_exists(path, "dataset-fashion-mnist");
    IdxArray array = read_idx(path, rank);
    const char* bytes = reinterpret_cast<const char*>(array.values.data());
    recognise(known, path, stable_hash({bytes, array.values.size()}));
    return array;
  };
  const IdxArray pixels = read(image_file, 3), labels = read(label_file, 1);
  const auto& extents = pixels.extents;
  check<DataError>(extents[1] == kSide && extents[2] == kSide, folder, "/", image_file,
                   ": images are ", extents[1], " x ", extents[2], ", expected 28 x 28");
  check<DataError>(extents[0] > 0, folder, "/", image_file, ": has no images");
  check<DataError>(labels.extents[0] == extents[0], folder, "/", label_file, ": has ",
                   labels.extents[0], " labels for ", extents[0], " images");
  const auto wrong = std::find_if(labels.values.begin(), labels.values.end(),
                                  [](std::uint8_t label) { return label >= kClasses; });
  if (wrong != labels.values.end()) {
    detail::fail<DataError>(folder, "/", label_file, ": label ", wrong - labels.values.begin(),
                            " is ", int(*wrong), ", must be below ", kClasses);
  }
  const auto images = std::make_shared<Images>();
  images->pixels.append(pixels.values.data(), pixels.values.size());
  images->labels.append(labels.values.data(), labels.values.size());
  images->pixels.finish();
  images->labels.finish();
  return images;
}

/// (x / 255 - mean) / deviation for each byte x.
constexpr std::array<float, 256> kNormalised = [] {
  std::array<float, 256> values{};
  for (int x = 0; x < 256; ++x) values[std::size_t(x)] = float((x / 255.0 - kMean) / kDeviation);
  return values;
}();

class FashionMnist final : public Task {
 public:
  FashionMnist(Options options, std::uint64_t seed) : options_(std::move(options)), seed_(seed) {}

  TaskShape shape() const override {
    return {.input = InputKind::image,
            .output = OutputKind::sequence,
            .height = kSide,
            .width = kSide,
            .channels = 1,
            .classes = kClasses,
            .class_names = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal",
                            "Shirt", "Sneaker", "Bag", "Ankle boot"}};
  }

  // Only fingerprints need storing: the shape is fixed.
  std::string vocabulary_and_scales() const override {
    const std::lock_guard lock(mutex_);
    return files_.empty() ? "" : to_json({.files = files_});
  }

  void adopt(const std::string& fingerprints) override {
    const std::lock_guard lock(mutex_);
    files_ = vocabulary_and_scales_from_json(fingerprints).files;
  }

  std::unique_ptr<Dataset> dataset(Split split) const override {
    const auto images = load(split == Split::test);
    std::vector<std::size_t> chosen(images->labels.size());
    std::iota(chosen.begin(), chosen.end(), 0);
    if (split != Split::test) chosen = choose(split, chosen.size());
    const bool augment = split == Split::train && get_bool(options_, "augment");
    const auto get = [=, shift = int(get_int(options_, "shift")), seed = seed_](std::uint64_t epoch,
                                                                                std::size_t index) {
      const std::size_t at = chosen[index];
      const Move move = augment ? random_move(seed, epoch, index, shift) : Move{};
      Example example{.targets = {bytes_of(images->labels)[at]}};
      example.features.resize(kPixels);
      move_image(bytes_of(images->pixels) + at * kPixels, kSide, kSide, move, kNormalised.data(),
                 example.features.data());
      return example;
    };
    return dataset_of(chosen.size(), get,
                      [](std::size_t, const TaskShape&) { return std::size_t(0); });
  }

  bool read_once(const Readers& readers) override {
    const std::string folder = get_string(options_, "path");
    return xgrad::read_once(
        readers, {folder}, [&] { return share(); }, [&](const std::string& text) { use(text); });
  }

  Example parse(const std::string& line) const override {
    const auto numbers = parse_numbers("fashion_mnist: pixel", line, 255);
    check<DataError>(numbers.size() == kPixels, "fashion_mnist: the line has ", numbers.size(),
                     " numbers, expected the ", kPixels, " pixels of an image, row by row");
    Example example;
    for (std::int32_t x : numbers) example.features.push_back(kNormalised[std::size_t(x)]);
    return example;
  }

 private:
  // Describes the images to other processes, so that they can use them: four lines, then the
  // fingerprints.
  std::string share() const {
    std::string text;
    for (const bool test : {false, true}) {
      const std::shared_ptr<Images> images = load(test);
      text += images->pixels.share() + '\n' + images->labels.share() + '\n';
    }
    return text + vocabulary_and_scales();
  }

  void use(const std::string& text) {
    std::istringstream lines(text);
    std::array<std::string, 5> line;
    for (std::string& each : line) std::getline(lines, each);
    std::array<std::shared_ptr<Images>, 2> images;
    for (std::size_t i : {0u, 1u}) {
      images[i].reset(new Images{Scratch(line[2 * i]), Scratch(line[2 * i + 1])});
    }
    adopt(line[4]);
    images_ = images;
  }

  // Reads images only when needed, since parsing needs no files. All data sets share them.
  std::shared_ptr<Images> load(bool test) const {
    const std::lock_guard lock(mutex_);
    auto& images = images_[test];
    if (!images) {
      images = read_images(get_string(options_, "path"), test ? "t10k" : "train", files_);
    }
    return images;
  }

  /// Chooses images by a fixed permutation of the training file; the last ones are for validation.
  std::vector<std::size_t> choose(Split split, std::size_t count) const {
    const std::size_t validation = get_size(options_, "validation");
    check<ConfigError>(validation < count, "validation: is ", validation, ", must be below ", count,
                       ", the number of training images");
    auto order = (Rng(0) / "fashion_mnist").permutation(count);
    if (split == Split::validation) {
      order.erase(order.begin(), order.end() - std::ptrdiff_t(validation));
      return order;
    }
    const std::size_t wanted = get_size(options_, "examples"), left = count - validation;
    check<ConfigError>(wanted <= left, "examples: is ", wanted, ", must be at most ", left,
                       ", the training images that are not for validation");
    order.resize(wanted == 0 ? left : wanted);
    return order;
  }

  Options options_;
  std::uint64_t seed_;
  mutable std::mutex mutex_;
  mutable std::array<std::shared_ptr<Images>, 2> images_;  // for training, for the test
  mutable Fingerprints files_;
};

}  // namespace

Move random_move(std::uint64_t seed, std::uint64_t epoch, std::uint64_t index, int shift) {
  const auto words =
      (Rng(seed) / "augment" / epoch).words(std::uint32_t(index), std::uint32_t(index >> 32));
  const auto offset = [&](std::uint32_t word) {  // uniform in [-shift, shift]
    return int(word * std::uint64_t(2 * shift + 1) >> 32) - shift;
  };
  return {offset(words[0]), offset(words[1]), bool(words[2] & 1)};
}

void move_image(const std::uint8_t* image, int height, int width, const Move& move,
                const float* table, float* result) {
  for (int y = 0; y < height; ++y) {
    const int row = y - move.down;
    for (int x = 0; x < width; ++x) {
      const int column = x - move.right, at = move.mirrored ? width - 1 - column : column;
      const bool inside = row >= 0 && row < height && column >= 0 && column < width;
      *result++ = table[inside ? image[row * width + at] : 0];
    }
  }
}

TaskEntry fashion_mnist_task() {
  return {.name = "fashion_mnist",
          .summary = "Name the piece of clothing in an image of 28 x 28 pixels.",
          .options = {file_option("path", "Folder of the four IDX files.",
                                  "/usr/share/datasets/fashion-mnist"),
                      {"examples", 0,
                       "Number of training images; 0: all that are not for validation.", 0, 1e9},
                      {"validation", 5000,
                       "Training images held out for validation, the same for every seed.", 1, 1e9},
                      {"augment", true, "Mirrors and shifts training images at random."},
                      {"shift", 1,
                       "Maximum shift of an augmented image in each direction, in pixels.", 0, 27}},
          .debian_packages = {"dataset-fashion-mnist"},
          .make = [](const Options& options,
                     std::uint64_t seed) { return std::make_unique<FashionMnist>(options, seed); },
          .needs = "Patches with positions, and about four layers.",
          .theory = "open: no theorem is known",
          .source = "Xiao, Rasul and Vollgraf 2017, arXiv:1708.07747",
          .best = "unknown, because nobody knows the distribution of the images"};
}

}  // namespace xgrad
