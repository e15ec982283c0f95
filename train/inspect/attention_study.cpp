#include <xgrad/train/inspect/attention_study.hpp>

#include <algorithm>
#include <map>

#include <xgrad/autograd/scalar.hpp>
#include <xgrad/layers/attention/observer.hpp>
#include <xgrad/train/inspect/module_paths.hpp>
#include <xgrad/train/inspect/subset.hpp>
#include <xgrad/train/metrics/evaluate.hpp>
#include <xgrad/train/model/build.hpp>

namespace xgrad {

namespace {

// Stores the maps of a forward.
class StoredMaps final : public AttentionObserver {
 public:
  struct Seen {
    std::uint64_t site;
    Tensor<double> p;
  };
  bool wants_probabilities() const override { return true; }
  void on_probabilities(std::uint64_t site, const Tensor<double>& p, const Mask*, bool) override {
    seen.push_back({site, p});
  }
  std::vector<Seen> seen;
};

// Adds up the metrics of maps for each module.
class Surveyor final : public AttentionObserver {
 public:
  bool wants_probabilities() const override { return true; }
  void on_probabilities(std::uint64_t site, const Tensor<double>& p, const Mask* mask,
                        bool cross) override {
    const auto known = [site](const auto& entry) { return entry.first == site; };
    auto at = std::find_if(sites.begin(), sites.end(), known);
    if (at == sites.end()) at = sites.insert(sites.end(), {site, AttentionMetrics()});
    at->second.add(p, mask, cross);
  }
  std::vector<std::pair<std::uint64_t, AttentionMetrics>> sites;
};

// Sets the outputs of heads, given as (site of the module, head), to 0.
class Silencer final : public AttentionObserver {
 public:
  using Heads = std::vector<std::pair<std::uint64_t, std::size_t>>;
  explicit Silencer(Heads silent) : silent_(std::move(silent)) {}
  std::vector<double> head_factors(std::uint64_t site, std::size_t heads) override {
    std::vector<double> factors(heads, 1.0);
    for (const auto& [at, head] : silent_) {
      if (at == site) factors.at(head) = 0;
    }
    return factors;
  }

 private:
  Heads silent_;
};

Context looking(AttentionObserver& observer) {
  Context context;
  context.attention = &observer;
  return context;
}

}  // namespace

template <class T>
std::vector<AttentionMap> attention_maps(const SequenceModel<T>& model,
                                         const Parameters<T>& parameters, const Batch& batch) {
  const NoGrad no_grad;
  StoredMaps stored;
  model(BatchInput<T>(batch).input(), looking(stored));
  const auto paths = paths_by_site(parameters);
  std::vector<AttentionMap> maps;
  for (StoredMaps::Seen& seen : stored.seen) {
    maps.push_back({paths.at(seen.site), std::move(seen.p)});
  }
  return maps;
}

template <class T>
AttentionStudy study_attention(const SequenceModel<T>& model, const Parameters<T>& parameters,
                               const Dataset& dataset, const TaskShape& shape,
                               const Objective& objective, std::size_t batch,
                               std::size_t examples) {
  const Subset some(dataset, examples);
  const auto look = [&](AttentionObserver& observer) {
    return evaluate(model, {some, shape, batch, looking(observer)}, objective);
  };
  AttentionStudy study;
  study.examples = some.size();
  study.forced = shape.output == OutputKind::generated;
  Surveyor surveyor;
  study.metrics = look(surveyor);
  const auto paths = paths_by_site(parameters);
  for (const auto& [site, metrics] : surveyor.sites) {
    LayerStudy layer{paths.at(site), metrics, {}};
    for (std::size_t head = 0; head < metrics.heads(); ++head) {
      Silencer silencer({{site, head}});
      layer.without.push_back(look(silencer));
    }
    study.layers.push_back(std::move(layer));
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
  Silencer::Heads silent;
  for (const Head& head : heads) {
    check<ConfigError>(head.layer < maps.size(), "head ", head.layer, ".", head.head,
                       ": the model has ", maps.size(), " attention layers, counted from 0");
    const std::size_t count = maps[head.layer].probabilities.shape()[1];
    check<ConfigError>(head.head < count, "head ", head.layer, ".", head.head, ": layer ",
                       head.layer, " has ", count, " heads, counted from 0");
    silent.emplace_back(site_of(maps[head.layer].path), head.head);
  }
  Silencer silencer(std::move(silent));
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
