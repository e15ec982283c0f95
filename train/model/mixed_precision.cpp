#include <xgrad/train/model/mixed_precision.hpp>

#include <type_traits>
#include <utility>

#include <xgrad/autograd/autocast.hpp>
#include <xgrad/autograd/scalar.hpp>
#include <xgrad/layers/models/decoding.hpp>

namespace xgrad {

namespace {

class MixedDecoding final : public Decoding<float> {
 public:
  explicit MixedDecoding(std::unique_ptr<Decoding<float>> decoding)
      : decoding_(std::move(decoding)) {
    take_logits();
  }
  void append(const std::vector<std::int32_t>& classes) override {
    const Autocast products;
    decoding_->append(classes);
    take_logits();
  }
  void select(const std::vector<std::size_t>& rows) override {
    decoding_->select(rows);
    select_logits(rows);
  }

 private:
  void take_logits() {
    const Tensor<float>& from = decoding_->logits();
    Tensor<float> logits = empty<float>({from.shape()[0], 1, from.shape()[1]});
    std::copy_n(from.data(), from.size(), logits.data());
    set_last(logits);
  }

  std::unique_ptr<Decoding<float>> decoding_;
};

class MixedPrecision final : public SequenceModel<float> {
 public:
  explicit MixedPrecision(std::unique_ptr<SequenceModel<float>> model) : model_(std::move(model)) {}

  Variable<float> operator()(const ModelInput<float>& input,
                             const Context& context) const override {
    const Autocast products;
    return (*model_)(input, context);
  }

  std::unique_ptr<Decoding<float>> decode(const ModelInput<float>& input) const override {
    const Autocast products;
    return std::make_unique<MixedDecoding>(model_->decode(input));
  }

 private:
  std::unique_ptr<SequenceModel<float>> model_;
};

}  // namespace

template <class T>
std::unique_ptr<SequenceModel<T>> in_precision(const std::string& precision,
                                               std::unique_ptr<SequenceModel<T>> model) {
  if constexpr (std::is_same_v<T, float>) {
    if (precision != "bf16") return model;
    return std::make_unique<MixedPrecision>(std::move(model));
  }
  return model;
}

std::string arithmetic_of(const Checkpoint& checkpoint) {
  const auto found = checkpoint.state.find("arithmetic");
  const auto* name =
      found == checkpoint.state.end() ? nullptr : std::get_if<std::string>(&found->second);
  return name == nullptr ? "" : *name;
}

#define XGRAD_INSTANTIATE(T)                                                  \
  template std::unique_ptr<SequenceModel<T>> in_precision(const std::string&, \
                                                          std::unique_ptr<SequenceModel<T>>);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
