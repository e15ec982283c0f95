#include <fmt/format.h>

#include <cmath>
#include <iostream>
#include <limits>

#include <xgrad/data/example_text.hpp>
#include <xgrad/layers/generate.hpp>
#include <xgrad/train/commands.hpp>
#include <xgrad/train/commands/model.hpp>
#include <xgrad/train/metrics.hpp>

namespace xgrad::commands {

namespace {

bool ends(std::int32_t id, const TaskShape& shape) {
  return std::size_t(id) + 1 == shape.classes;
}

// One line for one input: its classes, numbers or yes (1) and no (0), without those of positions
// that the task asks nothing of; or its outputs with as many digits as give a number back exactly.
template <class T>
std::string answer(const Tensor<T>& logits, const Example& example, const TaskShape& shape,
                   bool raw) {
  std::string text;
  const auto add = [&text](const std::string& word) { text += (text.empty() ? "" : " ") + word; };
  if (raw) {
    constexpr int digits = std::numeric_limits<T>::max_digits10;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      add(fmt::format("{:.{}g}", logits.data()[i], digits));
    }
  } else if (shape.target != TargetKind::classes) {
    for (std::size_t i = 0; i < logits.size(); ++i) {
      if (i < example.values.size() && std::isnan(example.values[i])) continue;
      double x = double(logits.data()[i]);
      if (!shape.value_mean.empty()) {
        x = x * shape.value_deviation[i % shape.classes] + shape.value_mean[i % shape.classes];
      }
      add(shape.target == TargetKind::numbers ? fmt::format("{:.6g}", x) : x > 0 ? "1" : "0");
    }
  } else {
    const Ids classes = argmax(logits);
    for (std::size_t i = 0; i < classes.size(); ++i) {
      if (i < example.targets.size() && example.targets[i] == kIgnore) continue;
      if (shape.output == OutputKind::generated && ends(classes.data()[i], shape)) break;
      add(class_text(classes.data()[i], shape));
    }
  }
  return text;
}

// The logits of one input; of outputs to generate, those after which each class was chosen.
template <class T>
Variable<T> outputs(const SequenceModel<T>& model, Example example, const TaskShape& shape) {
  Batch batch = collate({example}, shape);
  if (shape.output == OutputKind::generated) {
    example.targets = generate(model, BatchInput<T>(batch).input(), 1,
                               std::int32_t(shape.classes) - 1, shape.max_outputs)[0];
    batch = collate({example}, shape);
  }
  return model(BatchInput<T>(batch).input(), Context{});
}

}  // namespace

int predict(const PredictArguments& arguments) {
  const RunSource source = find_run(arguments.run);
  return with_precision(source.config, [&]<class T>() {
    const LoadedModel<T> loaded(source);
    const NoGrad no_grad;
    std::size_t number = 0;
    for (std::string line; std::getline(std::cin, line);) {
      ++number;
      try {
        const Example example = loaded.task->parse(line);
        check_example(example, loaded.shape, number);
        const Variable<T> logits = outputs(*loaded.model, example, loaded.shape);
        fmt::print("{}\n", answer(logits.value(), example, loaded.shape, arguments.logits));
      } catch (const Error& error) {
        throw DataError("standard input, line " + std::to_string(number) + ": " + error.what());
      }
    }
    return 0;
  });
}

}  // namespace xgrad::commands
