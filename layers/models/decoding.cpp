#include <xgrad/layers/models/decoding.hpp>

#include <algorithm>

#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

// The rows of a tensor along its first axis.
template <class Array>
Array rows_of(const Array& x, const std::vector<std::size_t>& rows) {
  return xt::view(x, xt::keep(std::vector<std::ptrdiff_t>(rows.begin(), rows.end())));
}

// Runs the model on the input and all classes so far, for each class.
template <class T>
class WithoutCache final : public Decoding<T> {
 public:
  WithoutCache(const SequenceModel<T>& model, const ModelInput<T>& input)
      : model_(model),
        has_ids_(input.ids != nullptr),
        mask_(input.mask),
        adjacency_(input.adjacency) {
    if (has_ids_) ids_ = *input.ids;
    if (!has_ids_) features_ = *input.features;
    outputs_.resize(has_ids_ ? ids_.shape()[0] : features_.shape()[0]);
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
  bool has_ids_;
  Ids ids_;
  Tensor<T> features_;
  SharedMask mask_, adjacency_;
  std::vector<std::vector<std::int32_t>> outputs_;
};

}  // namespace

template <class T>
void Decoding<T>::set_last(const Tensor<T>& logits) {
  logits_ = xt::view(logits, xt::all(), logits.shape()[1] - 1);
}

template <class T>
void Decoding<T>::select_logits(const std::vector<std::size_t>& rows) {
  logits_ = rows_of(logits_, rows);
}

template <class T>
std::unique_ptr<Decoding<T>> without_cache(const SequenceModel<T>& model,
                                           const ModelInput<T>& input) {
  return std::make_unique<WithoutCache<T>>(model, input);
}

template <class T>
std::unique_ptr<Decoding<T>> SequenceModel<T>::decode(const ModelInput<T>& input) const {
  return without_cache(*this, input);
}

Ids row_ids(const std::vector<std::size_t>& rows) {
  Ids ids = empty<std::int32_t>({rows.size()});
  std::transform(rows.begin(), rows.end(), ids.data(),
                 [](std::size_t row) { return std::int32_t(row); });
  return ids;
}

SharedMask selected(const SharedMask& mask, const std::vector<std::size_t>& rows) {
  return mask ? std::make_shared<const Mask>(rows_of(*mask, rows)) : nullptr;
}

#define XGRAD_INSTANTIATE(T)                                                   \
  template class Decoding<T>;                                                  \
  template std::unique_ptr<Decoding<T>> without_cache(const SequenceModel<T>&, \
                                                      const ModelInput<T>&);   \
  template std::unique_ptr<Decoding<T>> SequenceModel<T>::decode(const ModelInput<T>&) const;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
