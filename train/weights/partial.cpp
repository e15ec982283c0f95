#include <xgrad/train/weights/partial.hpp>

#include <algorithm>
#include <map>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/scalar.hpp>
#include <xgrad/train/checkpoint/state_dict.hpp>

namespace xgrad {

namespace {

/// The rows of a tensor in the file that a parameter takes its values from.
struct Match {
  /// Pairs (row of the file, row of the model); empty: the whole tensor.
  std::vector<std::pair<std::size_t, std::size_t>> rows = {};
  std::string misfit = {};  ///< why nothing is taken; empty if something is
};

bool differ(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return !a.empty() && !b.empty() && a != b;
}

Match match_words(const std::vector<std::string>& theirs, const std::vector<std::string>& ours) {
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < theirs.size(); ++i) places.emplace(theirs[i], i);
  Match match;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const auto found = places.find(ours[i]);
    if (found != places.end()) match.rows.emplace_back(found->second, i);
  }
  if (match.rows.empty()) match.misfit = "the model and the file have no words in common";
  return match;
}

Match match(const std::string& name, const Shape& theirs, const Shape& ours, const IdNames& from,
            const IdNames& to) {
  const bool words = name == "embedding.token.weight" && differ(from.tokens, to.tokens);
  if (words && theirs.size() == 2 && theirs[0] == from.tokens.size() && theirs[1] == ours[1]) {
    return match_words(from.tokens, to.tokens);
  }
  if (theirs != ours) {
    return {{}, "the file has " + to_string(theirs) + ", the model " + to_string(ours)};
  }
  if (name == "embedding.one_hot.weight" && differ(from.tokens, to.tokens)) {
    return {{}, "the file has other words"};
  }
  if (name.starts_with("head.") && differ(from.classes, to.classes)) {
    return {{}, "the file has other classes"};
  }
  return {};
}

template <class T>
void take(const AnyTensor& from, const Match& match, Tensor<T>& to) {
  const auto copy = [&](const auto& source) {
    if (match.rows.empty()) std::copy_n(source.data(), source.size(), to.data());
    const std::size_t width = to.shape().back();
    for (const auto& [theirs, ours] : match.rows) {
      std::copy_n(source.data() + theirs * width, width, to.data() + ours * width);
    }
  };
  std::visit(copy, from);
}

std::string line(const char* what, const std::vector<std::string>& names) {
  std::string text = std::string(what) + ": " + std::to_string(names.size());
  for (const std::string& name : names) text += (&name == &names[0] ? ": " : ", ") + name;
  return text;
}

}  // namespace

std::vector<std::string> lines_of(const PartialFit& fit) {
  return {line("taken from the file", fit.taken), line("missing in the file", fit.missing),
          line("of another shape or meaning", fit.misfits), line("unused in the file", fit.unused)};
}

template <class T>
PartialFit restore_fitting(const std::vector<NamedTensor>& weights, const IdNames& theirs,
                           const std::string& origin, const Parameters<T>& parameters,
                           const IdNames& ours) {
  std::map<std::string, const NamedTensor*> unclaimed;
  for (const NamedTensor& t : weights) unclaimed.emplace(t.name, &t);
  PartialFit fit;
  std::vector<std::pair<const NamedTensor*, Match>> taken;
  std::string large;
  for (const Parameter<T>& p : parameters) {
    const auto found = unclaimed.find(p.name);
    if (found == unclaimed.end()) {
      fit.missing.push_back(p.name);
      continue;
    }
    const NamedTensor& tensor = *found->second;
    unclaimed.erase(found);
    const Shape& shape = p.value().shape();
    const Match matched = match(p.name, shape_of(tensor.tensor), shape, theirs, ours);
    if (!matched.misfit.empty()) {
      fit.misfits.push_back(p.name + " (" + matched.misfit + ")");
      continue;
    }
    const std::size_t rows = matched.rows.size();
    const std::string part =
        " (the rows of " + std::to_string(rows) + " words of " + std::to_string(shape[0]) + ")";
    fit.taken.push_back(p.name + (rows > 0 ? part : ""));
    fit.numbers += rows > 0 ? rows * shape.back() : p.value().size();
    large += too_large<T>(tensor);
    taken.emplace_back(&tensor, matched);
  }
  for (const auto& [name, tensor] : unclaimed) fit.unused.push_back(name);
  if (taken.empty()) {
    for (const std::string& text : lines_of(fit)) large += "\n  " + text;
  }
  check<CheckpointError>(large.empty(), origin, " does not fit the model:", large);
  for (const auto& [tensor, matched] : taken) {
    take(tensor->tensor, matched, parameters.at(tensor->name).mutable_value());
  }
  return fit;
}

#define XGRAD_INSTANTIATE(T)                                                           \
  template PartialFit restore_fitting(const std::vector<NamedTensor>&, const IdNames&, \
                                      const std::string&, const Parameters<T>&, const IdNames&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
