#include <xgrad/train/model/mixed_precision.hpp>

#include <type_traits>
#include <utility>

#include <xgrad/autograd/bf16_products.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

class MixedPrecision final : public SequenceModel<float> {
 public:
  explicit MixedPrecision(std::unique_ptr<SequenceModel<float>> model) : model_(std::move(model)) {}

  Variable<float> operator()(const ModelInput<float>& input,
                             const Context& context) const override {
    const Bf16Products products;
    return (*model_)(input, context);
  }

 private:
  std::unique_ptr<SequenceModel<float>> model_;
};

}  // namespace

template <class T>
std::unique_ptr<SequenceModel<T>> in_precision(const std::string& precision,
                                               std::unique_ptr<SequenceModel<T>> model) {
  if constexpr (std::is_same_v<T, float>) {
    if (precision == "bf16") return std::make_unique<MixedPrecision>(std::move(model));
  }
  return model;
}

#define XGRAD_INSTANTIATE(T)                                                  \
  template std::unique_ptr<SequenceModel<T>> in_precision(const std::string&, \
                                                          std::unique_ptr<SequenceModel<T>>);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
