#include <xgrad/data/drawn_vectors.hpp>

#include <memory>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/example_text.hpp>

namespace xgrad {

namespace {

struct Description {
  std::string name;
  DrawnVectors task;
  std::uint64_t seed;
  std::size_t sizes[3];  // of each split
};

using Shared = std::shared_ptr<const Description>;

class VectorsDataset final : public Dataset {
 public:
  VectorsDataset(Shared of, Split split)
      : of_(std::move(of)), split_(split), rng_(Rng(of_->seed) / "vectors" / to_string(split)) {}

  std::size_t size() const override { return of_->sizes[std::size_t(split_)]; }
  Example get(std::uint64_t, std::size_t index) const override {
    return of_->task.draw(rng_ / index);
  }

 private:
  Shared of_;
  Split split_;
  Rng rng_;
};

class VectorsTask final : public Task {
 public:
  explicit VectorsTask(Description description)
      : of_(std::make_shared<Description>(std::move(description))) {}

  TaskShape shape() const override { return of_->task.shape; }

  std::unique_ptr<Dataset> dataset(Split split) const override {
    return std::make_unique<VectorsDataset>(of_, split);
  }

  Example parse(const std::string& line) const override {
    return {.features = parse_vectors(of_->name, line, of_->task.shape)};
  }

  std::optional<Ceiling> ceiling(Split split) const override {
    const VectorsDataset data(of_, split);
    Synthetic::Best sum;
    for (std::size_t i = 0; i < data.size(); ++i) {
      const Synthetic::Best one = of_->task.best(data.get(0, i).features);
      sum.right += one.right;
      sum.loss += one.loss;
      sum.targets += one.targets;
    }
    return Ceiling{sum.right / sum.targets, sum.loss / sum.targets};
  }

 private:
  Shared of_;
};

}  // namespace

TaskEntry drawn_vectors_task(std::string name, std::string summary, std::string needs,
                             std::vector<OptionSpec> options,
                             std::function<DrawnVectors(const Options& options)> describe) {
  options.push_back({"examples", 50000, "Training examples.", 1, 1e9});
  options.push_back({"validation", 1000, "Validation examples.", 1, 1e9});
  options.push_back({"test", 1000, "Test examples.", 1, 1e9});
  const auto make = [name, table = options, describe](const Options& given, std::uint64_t seed) {
    const Options all = complete(table, given);
    const auto size = [&](const char* key) { return std::size_t(get_int(all, key)); };
    try {
      return std::make_unique<VectorsTask>(Description{
          name, describe(all), seed, {size("examples"), size("validation"), size("test")}});
    } catch (const ConfigError& error) {
      throw ConfigError(name + ": " + error.what());
    }
  };
  return {std::move(name), std::move(summary), std::move(options), {}, make, std::move(needs)};
}

}  // namespace xgrad
