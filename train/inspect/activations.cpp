#include <xgrad/train/inspect/activations.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <xtensor/xview.hpp>

#include <xgrad/data/batch.hpp>
#include <xgrad/data/example_text.hpp>
#include <xgrad/layers/module.hpp>
#include <xgrad/optim/optimizers.hpp>
#include <xgrad/text/columns.hpp>
#include <xgrad/text/excerpt.hpp>
#include <xgrad/train/model/build.hpp>

namespace xgrad {

namespace {

// The logits of a batch if each activation is replaced by the value that `take` returns for it.
template <class T, class Take>
Tensor<double> logits(const SequenceModel<T>& model, const Parameters<T>& parameters,
                      const Batch& batch, const Take& take) {
  const NoGrad no_grad;
  EachActivation<T> each(parameters, "",
                         [&](const std::string& path, const ActivationPlace& place,
                             const Variable<T>& x) { return take(path + "." + place.name, x); });
  return cast<double>(model(BatchInput<T>(batch).input(), each.context()).value());
}

// The number that patching compares: outputs[plus] - outputs[minus].
struct Measure {
  std::size_t plus = 0;
  std::optional<std::size_t> minus = {};
  double operator()(const Tensor<double>& outputs) const {
    return outputs.data()[plus] - (minus ? outputs.data()[*minus] : 0);
  }
};

// Compares at the last output for which the two answers differ. Skips outputs that are known to
// have no target.
Measure follow_classes(const Tensor<double>& from, const Tensor<double>& to, const TaskShape& shape,
                       const Example& example, Patching& patching) {
  const std::size_t classes = shape.classes;
  for (std::size_t output = from.size() / classes; output-- > 0;) {
    const auto& targets = example.targets;
    if (output < targets.size() && targets[output] == kIgnore) continue;
    const auto answer = [&](const Tensor<double>& outputs) {
      const double* logits = outputs.data() + output * classes;
      return std::size_t(std::max_element(logits, logits + classes) - logits);
    };
    const std::size_t a = answer(from), b = answer(to);
    if (a == b) continue;
    patching.output = output;
    patching.from = class_text(std::int32_t(a), shape);
    patching.to = class_text(std::int32_t(b), shape);
    patching.measure = "logit of " + patching.to + " - logit of " + patching.from;
    return {output * classes + b, output * classes + a};
  }
  throw DataError(
      "patch: the answers to both inputs are the same; choose inputs that differ in their answers");
}

// Compares the output that differs most.
Measure follow_number(const Tensor<double>& from, const Tensor<double>& to, const TaskShape& shape,
                      Patching& patching) {
  std::size_t most = 0;
  const auto apart = [&](std::size_t i) { return std::abs(to.data()[i] - from.data()[i]); };
  for (std::size_t i = 1; i < from.size(); ++i) most = apart(i) > apart(most) ? i : most;
  check<DataError>(apart(most) > 0, "patch: the outputs for both inputs are the same");
  patching.output = most / shape.classes;
  patching.from = fmt::format("{:.4g}", from.data()[most]);
  patching.to = fmt::format("{:.4g}", to.data()[most]);
  patching.measure = fmt::format("number {}", most % shape.classes);
  return {most};
}

// x with the values of y at one position. In attention scores (B, H, N, M), this is the position of
// the query.
Tensor<double> patched(Tensor<double> x, const Tensor<double>& y, std::size_t position) {
  if (x.dimension() == 4) {
    xt::view(x, xt::all(), xt::all(), position) = xt::view(y, xt::all(), xt::all(), position);
  } else {
    xt::view(x, xt::all(), position) = xt::view(y, xt::all(), position);
  }
  return x;
}

// Activations of two inputs.
using Sites = std::vector<std::pair<CapturedActivation, CapturedActivation>>;

template <class T>
Sites chosen_sites(const SequenceModel<T>& model, const Parameters<T>& parameters,
                   const Batch& from, const Batch& to, const std::string& pattern) {
  const auto in_from = capture_activations(model, parameters, from),
             in_to = capture_activations(model, parameters, to);
  Sites sites;
  for (std::size_t i = 0; i < in_from.size(); ++i) {
    const bool again = !sites.empty() && sites.back().first.value == in_from[i].value &&
                       sites.back().second.value == in_to[i].value;
    if (!again && matches(pattern, in_from[i].name)) sites.emplace_back(in_from[i], in_to[i]);
  }
  check<ConfigError>(!sites.empty(), "patch: no activation of the model matches ", excerpt(pattern),
                     "; `xgrad summary` lists them");
  return sites;
}

}  // namespace

template <class T>
std::vector<CapturedActivation> capture_activations(const SequenceModel<T>& model,
                                                    const Parameters<T>& parameters,
                                                    const Batch& batch) {
  std::vector<CapturedActivation> captured;
  logits(model, parameters, batch, [&](const std::string& name, const Variable<T>& x) {
    captured.push_back({name, cast<double>(x.value())});
    return x;
  });
  return captured;
}

template <class T>
Tensor<double> replace_activations(const SequenceModel<T>& model, const Parameters<T>& parameters,
                                   const Batch& batch,
                                   const std::map<std::string, Tensor<double>>& values) {
  std::set<std::string> seen;
  const auto take = [&](const std::string& name, const Variable<T>& x) {
    const auto found = values.find(name);
    if (found == values.end()) return x;
    seen.insert(name);
    check_shape(found->second.shape() == x.shape(), "activation ", name, ": expected shape ",
                to_string(x.shape()), ", got ", to_string(found->second.shape()));
    return Variable<T>(cast<T>(found->second));
  };
  const Tensor<double> result = logits(model, parameters, batch, take);
  for (const auto& [name, value] : values) {
    check<Error>(seen.contains(name), "the model has no activation ", excerpt(name),
                 "; `xgrad summary` lists them");
  }
  return result;
}

template <class T>
Patching patch_activations(const SequenceModel<T>& model, const Parameters<T>& parameters,
                           const TaskShape& shape, const Example& from, const Example& to,
                           const std::string& pattern) {
  check<ConfigError>(shape.output != OutputKind::generated,
                     "patch: a model that generates sequences cannot be patched: its decoder reads "
                     "the outputs so far, which differ between the inputs, even in length");
  check<DataError>(length_of(from, shape) == length_of(to, shape),
                   "patch: expected two inputs of the same length, got ", length_of(from, shape),
                   " and ", length_of(to, shape), " tokens");
  const Batch batch = collate({from}, shape), other = collate({to}, shape);
  const Sites sites = chosen_sites(model, parameters, batch, other, pattern);
  const Tensor<double> before = replace_activations(model, parameters, batch, {}),
                       after = replace_activations(model, parameters, other, {});
  Patching result;
  const Measure measure = shape.target == TargetKind::classes
                              ? follow_classes(before, after, shape, from, result)
                              : follow_number(before, after, shape, result);
  result.from_value = measure(before);
  result.to_value = measure(after);
  const Tensor<double>& first = sites[0].first.value;
  const std::size_t positions = first.shape()[first.dimension() == 4 ? 2 : 1];
  result.restored = empty<double>({sites.size(), positions});
  for (std::size_t s = 0; s < sites.size(); ++s) {
    const auto& [own, others] = sites[s];
    result.sites.push_back(own.name);
    for (std::size_t p = 0; p < positions; ++p) {
      const double d = measure(replace_activations(
          model, parameters, batch, {{own.name, patched(own.value, others.value, p)}}));
      result.restored(s, p) = (d - result.from_value) / (result.to_value - result.from_value);
    }
  }
  return result;
}

std::string restored_text(double restored) {
  return fmt::format("{:.2f}", std::round(100 * restored) / 100 + 0.0);  // -0.0 + 0.0 is 0.0
}

std::string to_text(const Patching& patching, const std::vector<std::string>& tokens) {
  std::vector<std::vector<std::string>> rows{{"activation"}};
  rows[0].insert(rows[0].end(), tokens.begin(), tokens.end());
  for (std::size_t s = 0; s < patching.sites.size(); ++s) {
    rows.push_back({patching.sites[s]});
    for (const double restored : xt::row(patching.restored, std::ptrdiff_t(s))) {
      rows.back().push_back(restored_text(restored));
    }
  }
  return fmt::format(
      "output {}: {} for --from, {} for --to\n{}: {:.4f} for --from, {:.4f} for --to\n\n{}",
      patching.output, patching.from, patching.to, patching.measure, patching.from_value,
      patching.to_value, text_table(rows));
}

#define XGRAD_INSTANTIATE(T)                                                                 \
  template std::vector<CapturedActivation> capture_activations(                              \
      const SequenceModel<T>&, const Parameters<T>&, const Batch&);                          \
  template Tensor<double> replace_activations(const SequenceModel<T>&, const Parameters<T>&, \
                                              const Batch&,                                  \
                                              const std::map<std::string, Tensor<double>>&); \
  template Patching patch_activations(const SequenceModel<T>&, const Parameters<T>&,         \
                                      const TaskShape&, const Example&, const Example&,      \
                                      const std::string&);
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
