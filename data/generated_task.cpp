#include <xgrad/data/task.hpp>

#include <algorithm>

#include <xgrad/data/batch.hpp>

namespace xgrad {

namespace {

// Converts the examples of a task to examples of the generated task.
struct Conversion {
  explicit Conversion(const TaskShape& shape)
      : converts(shape.output == OutputKind::tokens && shape.target == TargetKind::classes),
        end(std::int32_t(shape.classes)) {
    const auto& names = shape.token_names;
    const auto found = std::ranges::find(names, kSlot);
    if (converts && found != names.end()) slot = std::int32_t(found - names.begin());
  }

  TaskShape shape(TaskShape shape) const {
    if (!converts) return shape;
    if (shape.class_names.empty()) {
      for (std::int32_t c = 0; c < end; ++c) shape.class_names.push_back(std::to_string(c));
    }
    shape.class_names.push_back("end");
    shape.output = OutputKind::generated;
    shape.classes += 1;
    shape.max_outputs = shape.max_length + 1;
    return shape;
  }

  Example example(Example example) const {
    if (!converts) return example;
    std::erase(example.ids, slot);
    if (example.targets.empty()) return example;
    std::erase(example.targets, kIgnore);
    example.targets.push_back(end);
    return example;
  }

  bool converts;
  std::int32_t end, slot = -1;  // the end class, and the id of kSlot; -1: there is none
};

class GeneratedTask final : public Task {
 public:
  explicit GeneratedTask(std::unique_ptr<Task> task) : task_(std::move(task)) {}

  TaskShape shape() const override {
    const TaskShape shape = task_->shape();
    return Conversion(shape).shape(shape);
  }
  std::unique_ptr<Dataset> dataset(Split split) const override {
    const std::shared_ptr<const Dataset> data = task_->dataset(split);
    const Conversion conversion(task_->shape());
    const auto get = [=](std::uint64_t epoch, std::size_t index) {
      return conversion.example(data->get(epoch, index));
    };
    if (conversion.slot >= 0) return dataset_of(data->size(), get);
    return dataset_of(data->size(), get, [=](std::size_t index, const TaskShape& shape) {
      return data->length(index, shape);
    });
  }
  Example parse(const std::string& line) const override {
    return Conversion(task_->shape()).example(task_->parse(line));
  }
  std::string token_text(std::int32_t id) const override { return task_->token_text(id); }
  std::vector<Rule> rules() const override {
    std::vector<Rule> rules = task_->rules();
    if (rules.empty() || !Conversion(task_->shape()).converts) return rules;
    // The rules know where an output ends, so they get one more class right in each example.
    const auto test = dataset(Split::test);
    std::size_t classes = 0;
    for (std::size_t i = 0; i < test->size(); ++i) classes += test->get(0, i).targets.size();
    const double ends = double(test->size()) / double(classes);
    for (Rule& rule : rules) {
      rule.accuracy = ends + (1 - ends) * rule.accuracy;
      if (rule.loss) *rule.loss *= 1 - ends;
    }
    return rules;
  }
  std::string vocabulary_and_scales() const override { return task_->vocabulary_and_scales(); }
  void adopt(const std::string& text) override { task_->adopt(text); }
  bool read_once(const Readers& readers) override { return task_->read_once(readers); }

 private:
  std::unique_ptr<Task> task_;
};

}  // namespace

std::unique_ptr<Task> generated_task(std::unique_ptr<Task> task) {
  return std::make_unique<GeneratedTask>(std::move(task));
}

}  // namespace xgrad
