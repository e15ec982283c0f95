#include <xgrad/train/inspect/microscope.hpp>

#include <algorithm>
#include <map>

#include <xgrad/autograd/scalar.hpp>
#include <xgrad/layers/attention/observer.hpp>
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
  void on_probabilities(std::uint64_t site, const Tensor<double>& p, const Mask*) override {
    seen.push_back({site, p});
  }
  std::vector<Seen> seen;
};

// Adds up the metrics of maps for each module.
class Surveyor final : public AttentionObserver {
 public:
  bool wants_probabilities() const override { return true; }
  void on_probabilities(std::uint64_t site, const Tensor<double>& p, const Mask* mask) override {
    const auto known = [site](const auto& entry) { return entry.first == site; };
    auto at = std::find_if(sites.begin(), sites.end(), known);
    if (at == sites.end()) at = sites.insert(sites.end(), {site, AttentionMetrics()});
    const bool self = mask != nullptr && mask->shape()[1] == p.shape()[2];
    at->second.add(p, self ? mask : nullptr);
  }
  std::vector<std::pair<std::uint64_t, AttentionMetrics>> sites;
};

class Silencer final : public AttentionObserver {
 public:
  Silencer(std::uint64_t site, std::size_t head) : site_(site), head_(head) {}
  std::vector<double> head_factors(std::uint64_t site, std::size_t heads) override {
    if (site != site_) return {};
    std::vector<double> factors(heads, 1.0);
    factors.at(head_) = 0;
    return factors;
  }

 private:
  std::uint64_t site_;
  std::size_t head_;
};

// The first examples of a data set.
class Beginning final : public Dataset {
 public:
  Beginning(const Dataset& all, std::size_t count)
      : all_(all), count_(std::min(count, all.size())) {}
  std::size_t size() const override { return count_; }
  Example get(std::uint64_t epoch, std::size_t index) const override {
    return all_.get(epoch, index);
  }

 private:
  const Dataset& all_;
  std::size_t count_;
};

// The path of each module by its Scope::site().
template <class T>
std::map<std::uint64_t, std::string> paths_by_site(const Parameters<T>& parameters) {
  std::map<std::uint64_t, std::string> paths;
  for (const Parameter<T>& p : parameters) {
    for (std::size_t dot = p.name.find('.'); dot != p.name.npos; dot = p.name.find('.', dot + 1)) {
      const std::string path = p.name.substr(0, dot);
      paths[(Rng(0) / path).key()] = path;
    }
  }
  return paths;
}

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
  const Beginning some(dataset, examples);
  const auto look = [&](AttentionObserver& observer) {
    return *evaluate(model, {some, shape, batch, looking(observer)}, objective);
  };
  AttentionStudy study;
  study.examples = some.size();
  Surveyor surveyor;
  study.metrics = look(surveyor);
  const auto paths = paths_by_site(parameters);
  for (const auto& [site, metrics] : surveyor.sites) {
    LayerStudy layer{paths.at(site), metrics, {}};
    for (std::size_t head = 0; head < metrics.heads(); ++head) {
      Silencer silencer(site, head);
      layer.without.push_back(look(silencer));
    }
    study.layers.push_back(std::move(layer));
  }
  return study;
}

#define XGRAD_INSTANTIATE(T)                                                                       \
  template std::vector<AttentionMap> attention_maps(const SequenceModel<T>&, const Parameters<T>&, \
                                                    const Batch&);                                 \
  template AttentionStudy study_attention(const SequenceModel<T>&, const Parameters<T>&,           \
                                          const Dataset&, const TaskShape&, const Objective&,      \
                                          std::size_t, std::size_t);
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
