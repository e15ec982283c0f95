#include <xgrad/train/predict/outputs.hpp>

#include <xgrad/autograd/scalar.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/text/example_text.hpp>
#include <xgrad/train/model/build.hpp>

namespace xgrad {

namespace {

// The classes of a line, and the end class.
std::vector<std::int32_t> parse_output(const std::string& line, const TaskShape& shape) {
  TaskShape tokens;
  tokens.vocabulary = shape.classes - 1;
  tokens.max_length = shape.max_outputs - 1;
  tokens.token_names = shape.class_names;
  if (!tokens.token_names.empty()) tokens.token_names.pop_back();
  const bool none = line.find_first_not_of(" \t") == line.npos;
  auto classes = none ? std::vector<std::int32_t>() : parse_tokens("outputs", line, tokens);
  classes.push_back(std::int32_t(shape.classes) - 1);
  return classes;
}

}  // namespace

template <class T>
std::vector<Generated<T>> decode(const SequenceModel<T>& model,
                                 const std::vector<Example>& examples, const TaskShape& shape) {
  const Batch batch = collate(examples, shape);
  const BatchInput<T> input(batch);
  const auto decoding = model.decode(input.input());
  return generate(*decoding, std::int32_t(shape.classes) - 1, shape.max_outputs);
}

template <class T>
void set_outputs(const SequenceModel<T>& model, const TaskShape& shape,
                 const std::vector<std::string>& outputs, std::vector<Example>& examples) {
  const bool generates = shape.output == OutputKind::generated;
  check<ConfigError>(generates || outputs.empty(),
                     "outputs: need a model that reads its outputs, with model.kind = "
                     "\"encoder_decoder\"");
  if (!generates) return;
  check<DataError>(outputs.empty() || outputs.size() == examples.size(),
                   "outputs: expected one line for each of the ", examples.size(), " inputs, got ",
                   outputs.size());
  for (std::size_t i = 0; i < examples.size(); ++i) {
    // One by one, since padding would change the order of additions.
    examples[i].targets = outputs.empty() ? decode(model, {examples[i]}, shape)[0].classes
                                          : parse_output(outputs[i], shape);
  }
}

#define XGRAD_INSTANTIATE(T)                                                                      \
  template std::vector<Generated<T>> decode(const SequenceModel<T>&, const std::vector<Example>&, \
                                            const TaskShape&);                                    \
  template void set_outputs(const SequenceModel<T>&, const TaskShape&,                            \
                            const std::vector<std::string>&, std::vector<Example>&);
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
