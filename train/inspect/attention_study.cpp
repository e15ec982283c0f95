#include <xgrad/train/inspect/attention_study.hpp>

#include <algorithm>
#include <functional>

#include <xgrad/autograd/scalar.hpp>
#include <xgrad/layers/module.hpp>
#include <xgrad/train/inspect/module_paths.hpp>
#include <xgrad/train/inspect/subset.hpp>
#include <xgrad/train/metrics/evaluate.hpp>
#include <xgrad/train/model/build.hpp>

namespace xgrad {

namespace {

// Calls a function with the maps of each attention.
template <class T>
class MapReader final : public ActivationTaker<T> {
 public:
  using Read = std::function<void(const ActivationPlace&, Tensor<double> maps)>;
  explicit MapReader(Read read) : read_(std::move(read)) {}
  bool wants(std::string_view name) const override { return name == "weights"; }
  Variable<T> take(const ActivationPlace& place, const Variable<T>& x) override {
    read_(place, cast<double>(x.value()));
    return x;
  }

 private:
  Read read_;
};

// A head by the id of its module, of `heads`.
struct SilentHead {
  std::uint64_t module;
  std::size_t head, heads;
};

// Sets the outputs of heads to 0.
template <class T>
class Silencer final : public ActivationTaker<T> {
 public:
  explicit Silencer(std::vector<SilentHead> silent) : silent_(std::move(silent)) {}
  bool wants(std::string_view name) const override { return name == "head_outputs"; }
  Variable<T> take(const ActivationPlace& place, const Variable<T>& x) override {
    Tensor<T> factors = ones<T>({x.shape().back()});
    for (const auto& [module, head, heads] : silent_) {
      const std::size_t width = factors.size() / heads;
      if (module == place.module) std::fill_n(factors.data() + head * width, width, T(0));
    }
    return mul(x, Variable<T>(std::move(factors)));
  }

 private:
  std::vector<SilentHead> silent_;
};

Context looking(ActivationObserver& observer) {
  Context context;
  context.activations = &observer;
  return context;
}

}  // namespace

template <class T>
std::vector<AttentionMap> attention_maps(const SequenceModel<T>& model,
                                         const Parameters<T>& parameters, const Batch& batch) {
  const NoGrad no_grad;
  const auto paths = paths_by_id(parameters);
  std::vector<AttentionMap> maps;
  MapReader<T> reader([&](const ActivationPlace& place, Tensor<double> p) {
    maps.push_back({paths.at(place.module), std::move(p)});
  });
  model(BatchInput<T>(batch).input(), looking(reader));
  return maps;
}

template <class T>
AttentionStudy study_attention(const SequenceModel<T>& model, const Parameters<T>& parameters,
                               const Dataset& dataset, const TaskShape& shape,
                               const Objective& objective, std::size_t batch,
                               std::size_t examples) {
  const Subset some(dataset, examples);
  const auto measured = [&](const Context& context) {
    return evaluate(model, {some, shape, batch, context}, objective);
  };
  AttentionStudy study;
  study.examples = some.size();
  study.forced = shape.output == OutputKind::generated;
  const auto paths = paths_by_id(parameters);
  MapReader<T> surveyor([&](const ActivationPlace& place, const Tensor<double>& p) {
    const std::string& path = paths.at(place.module);
    const auto known = [&](const LayerStudy& layer) { return layer.path == path; };
    auto at = std::find_if(study.layers.begin(), study.layers.end(), known);
    if (at == study.layers.end()) at = study.layers.insert(at, {path, {}, {}});
    at->metrics.add(p, place.query_mask, place.cross);
  });
  measured(looking(surveyor));
  study.metrics = measured({});  // to the bits of an evaluation, where attention is fused
  for (LayerStudy& layer : study.layers) {
    for (std::size_t head = 0; head < layer.metrics.heads(); ++head) {
      Silencer<T> silencer({{module_id(layer.path), head, layer.metrics.heads()}});
      layer.without.push_back(measured(looking(silencer)));
    }
  }
  return study;
}

template <class T>
SilencedHeads silence_heads(const SequenceModel<T>& model, const Parameters<T>& parameters,
                            const Dataset& dataset, const TaskShape& shape,
                            const Objective& objective, std::size_t batch, std::size_t examples,
                            const std::vector<Head>& heads) {
  const Subset some(dataset, examples);
  const std::vector<AttentionMap> maps =
      attention_maps(model, parameters, collate({some.get(0, 0)}, shape));
  std::vector<SilentHead> silent;
  for (const Head& head : heads) {
    check<ConfigError>(head.layer < maps.size(), "head ", head.layer, ".", head.head,
                       ": the model has ", maps.size(), " attention layers, counted from 0");
    const std::size_t count = maps[head.layer].probabilities.shape()[1];
    check<ConfigError>(head.head < count, "head ", head.layer, ".", head.head, ": layer ",
                       head.layer, " has ", count, " heads, counted from 0");
    silent.push_back({module_id(maps[head.layer].path), head.head, count});
  }
  Silencer<T> silencer(std::move(silent));
  const auto measured = [&](const Context& context) {
    return evaluate(model, {some, shape, batch, context}, objective);
  };
  return {some.size(), shape.output == OutputKind::generated, measured({}),
          measured(looking(silencer))};
}

#define XGRAD_INSTANTIATE(T)                                                                       \
  template std::vector<AttentionMap> attention_maps(const SequenceModel<T>&, const Parameters<T>&, \
                                                    const Batch&);                                 \
  template AttentionStudy study_attention(const SequenceModel<T>&, const Parameters<T>&,           \
                                          const Dataset&, const TaskShape&, const Objective&,      \
                                          std::size_t, std::size_t);                               \
  template SilencedHeads silence_heads(const SequenceModel<T>&, const Parameters<T>&,              \
                                       const Dataset&, const TaskShape&, const Objective&,         \
                                       std::size_t, std::size_t, const std::vector<Head>&);
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
