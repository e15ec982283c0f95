#include <xgrad/layers/models/generate.hpp>

#include <algorithm>

#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

template <class T>
std::vector<std::vector<std::int32_t>> generate(const SequenceModel<T>& model, ModelInput<T> input,
                                                std::size_t batch, std::int32_t end,
                                                std::size_t longest) {
  const NoGrad no_grad;
  std::vector<std::vector<std::int32_t>> outputs(batch);
  const auto ended = [end](const auto& output) { return !output.empty() && output.back() == end; };
  for (std::size_t length = 1; length <= longest; ++length) {
    // The model predicts the last class from those before it and does not read its value.
    Ids known = zeros<std::int32_t>({batch, length});
    for (std::size_t b = 0; b < batch; ++b) {
      std::copy(outputs[b].begin(), outputs[b].end(), known.data() + b * length);
    }
    input.outputs = &known;
    const Tensor<T> logits = model(input, Context{}).value();
    const std::size_t classes = logits.shape().back();
    for (std::size_t b = 0; b < batch; ++b) {
      if (ended(outputs[b])) continue;
      const T* row = logits.data() + (b * length + length - 1) * classes;
      outputs[b].push_back(std::int32_t(std::max_element(row, row + classes) - row));
    }
    if (std::all_of(outputs.begin(), outputs.end(), ended)) break;
  }
  return outputs;
}

#define XGRAD_INSTANTIATE(T)                                \
  template std::vector<std::vector<std::int32_t>> generate( \
      const SequenceModel<T>&, ModelInput<T>, std::size_t, std::int32_t, std::size_t);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
