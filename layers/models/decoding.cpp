#include <xgrad/layers/models/decoding.hpp>

#include <algorithm>

#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

// The rows of a tensor along its first axis.
template <class Array>
Array rows_of(const Array& x, const std::vector<std::size_t>& rows) {
  Shape shape(x.shape().begin(), x.shape().end());
  const std::size_t size = x.size() / shape[0];
  shape[0] = rows.size();
  Array result = empty<typename Array::value_type>(shape);
  for (std::size_t b = 0; b < rows.size(); ++b) {
    std::copy_n(x.data() + rows[b] * size, size, result.data() + b * size);
  }
  return result;
}

// Runs the model on the input and all classes so far, for each class.
template <class T>
class WithoutCache final : public Decoding<T> {
 public:
  WithoutCache(const SequenceModel<T>& model, const ModelInput<T>& input, std::size_t rows)
      : model_(model), mask_(input.mask), adjacency_(input.adjacency), outputs_(rows) {
    if (input.ids != nullptr) ids_ = *input.ids;
    if (input.features != nullptr) features_ = *input.features;
    has_ids_ = input.ids != nullptr;
    run();
  }

  void append(const std::vector<std::int32_t>& classes) override {
    for (std::size_t b = 0; b < outputs_.size(); ++b) outputs_[b].push_back(classes[b]);
    run();
  }

  void select(const std::vector<std::size_t>& rows) override {
    if (has_ids_) {
      ids_ = rows_of(ids_, rows);
    } else {
      features_ = rows_of(features_, rows);
    }
    mask_ = selected(mask_, rows);
    adjacency_ = selected(adjacency_, rows);
    std::vector<std::vector<std::int32_t>> kept;
    for (const std::size_t row : rows) kept.push_back(outputs_[row]);
    outputs_ = std::move(kept);
    this->select_logits(rows);
  }

 private:
  void run() {
    const NoGrad no_grad;
    // The model predicts the last class from those before it and does not read its value.
    const std::size_t length = outputs_[0].size() + 1;
    Ids known = zeros<std::int32_t>({outputs_.size(), length});
    for (std::size_t b = 0; b < outputs_.size(); ++b) {
      std::copy(outputs_[b].begin(), outputs_[b].end(), known.data() + b * length);
    }
    ModelInput<T> input;
    input.ids = has_ids_ ? &ids_ : nullptr;
    input.features = has_ids_ ? nullptr : &features_;
    input.mask = mask_;
    input.adjacency = adjacency_;
    input.outputs = &known;
    this->set_last(model_(input, Context{}).value());
  }

  const SequenceModel<T>& model_;
  bool has_ids_ = false;
  Ids ids_;
  Tensor<T> features_;
  std::shared_ptr<const Mask> mask_, adjacency_;
  std::vector<std::vector<std::int32_t>> outputs_;
};

}  // namespace

template <class T>
void Decoding<T>::set_last(const Tensor<T>& logits) {
  const Shape& shape = logits.shape();
  logits_ = empty<T>({shape[0], shape[2]});
  for (std::size_t b = 0; b < shape[0]; ++b) {
    std::copy_n(logits.data() + ((b + 1) * shape[1] - 1) * shape[2], shape[2],
                logits_.data() + b * shape[2]);
  }
}

template <class T>
void Decoding<T>::select_logits(const std::vector<std::size_t>& rows) {
  logits_ = rows_of(logits_, rows);
}

template <class T>
std::unique_ptr<Decoding<T>> without_cache(const SequenceModel<T>& model,
                                           const ModelInput<T>& input, std::size_t rows) {
  return std::make_unique<WithoutCache<T>>(model, input, rows);
}

template <class T>
std::unique_ptr<Decoding<T>> start_outputs(const SequenceModel<T>& model,
                                           const ModelInput<T>& input, std::size_t rows) {
  if (const auto* own = dynamic_cast<const Autoregressive<T>*>(&model)) return own->decode(input);
  return without_cache(model, input, rows);
}

Ids row_ids(const std::vector<std::size_t>& rows) {
  Ids ids = empty<std::int32_t>({rows.size()});
  std::transform(rows.begin(), rows.end(), ids.data(),
                 [](std::size_t row) { return std::int32_t(row); });
  return ids;
}

std::shared_ptr<const Mask> selected(const std::shared_ptr<const Mask>& mask,
                                     const std::vector<std::size_t>& rows) {
  return mask ? std::make_shared<const Mask>(rows_of(*mask, rows)) : nullptr;
}

#define XGRAD_INSTANTIATE(T)                                                              \
  template class Decoding<T>;                                                             \
  template std::unique_ptr<Decoding<T>> without_cache(const SequenceModel<T>&,            \
                                                      const ModelInput<T>&, std::size_t); \
  template std::unique_ptr<Decoding<T>> start_outputs(const SequenceModel<T>&,            \
                                                      const ModelInput<T>&, std::size_t);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
