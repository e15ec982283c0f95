#include <xgrad/train/export/naming.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <xtensor/xbuilder.hpp>
#include <xtensor/xmanipulation.hpp>
#include <xtensor/xview.hpp>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/excerpt.hpp>

namespace xgrad {

namespace {

using detail::Library;
using Tensors = std::vector<NamedTensor>;

constexpr const char* kPacked = ".self_attn.in_proj_";

template <class F>
AnyTensor changed(const AnyTensor& tensor, const F& f) {
  return std::visit([&](const auto& x) { return AnyTensor(f(x)); }, tensor);
}

template <class T>
Tensor<T> reshaped(Tensor<T> x, const Shape& shape) {
  x.reshape(shape);
  return x;
}

// (D, P P C) -> (D, C, P, P)
template <class T>
Tensor<T> as_kernels(const Tensor<T>& weight, std::size_t side) {
  const std::size_t width = weight.shape(0), channels = weight.shape(1) / (side * side);
  return xt::transpose(reshaped(weight, {width, side, side, channels}), {0, 3, 1, 2});
}

// Adds a bias of zeros after each packed weight without bias.
Tensors with_qkv_bias(const Tensors& tensors) {
  const auto is_bias = [](const NamedTensor& t) {
    return t.name.ends_with(std::string(kPacked) + "bias");
  };
  if (std::any_of(tensors.begin(), tensors.end(), is_bias)) return tensors;
  Tensors result;
  for (const NamedTensor& t : tensors) {
    result.push_back(t);
    const std::size_t at = t.name.find(std::string(kPacked) + "weight");
    if (at == t.name.npos) continue;
    result.push_back(
        {t.name.substr(0, at) + kPacked + "bias",
         changed(t.tensor, []<class T>(const Tensor<T>& x) { return zeros<T>({x.shape()[0]}); })});
  }
  return result;
}

// Returns one third of the rows of a packed projection.
template <class T>
Tensor<T> third(const Tensor<T>& x, std::size_t part) {
  const std::size_t rows = x.shape(0) / 3;
  return xt::view(x, xt::range(part * rows, (part + 1) * rows));
}

// Appends the class token to the words. BERT's pooler, which lies between it and the head, gets
// identity weights.
Tensors with_class_word(const Tensors& tensors) {
  const auto is_class = [](const NamedTensor& t) { return t.name == "embedding.class_token"; };
  const auto token = std::find_if(tensors.begin(), tensors.end(), is_class);
  if (token == tensors.end()) return tensors;
  Tensors result;
  for (const NamedTensor& t : tensors) {
    if (is_class(t)) continue;
    result.push_back(t);
    if (t.name != "embedding.token.weight") continue;
    result.back().tensor = changed(t.tensor, [&]<class T>(const Tensor<T>& x) {
      const auto& row = std::get<Tensor<T>>(token->tensor);
      return Tensor<T>(xt::concatenate(xt::xtuple(x, reshaped(row, {1, row.size()}))));
    });
  }
  const auto add = [&](const char* name, const auto& make) {
    result.push_back({name, changed(token->tensor, make)});
  };
  add("bert.pooler.dense.weight",
      []<class T>(const Tensor<T>& x) { return Tensor<T>(xt::eye<T>(x.size())); });
  add("bert.pooler.dense.bias", []<class T>(const Tensor<T>& x) { return zeros<T>({x.size()}); });
  return result;
}

Tensors as_bert(const Tensors& tensors) {
  const char* const names[] = {"query", "key", "value"};
  Tensors result;
  for (const NamedTensor& t : with_class_word(tensors)) {
    if (t.name == "embedding.token.weight") {
      result.push_back({"bert.embeddings.token_type_embeddings.weight",
                        changed(t.tensor, []<class T>(const Tensor<T>& x) {
                          return zeros<T>({1, x.shape()[1]});
                        })});
    }
    const std::size_t at = t.name.find(kPacked);
    if (at == t.name.npos) {
      result.push_back(t);
      continue;
    }
    const std::string what = t.name.substr(at + std::string(kPacked).size());
    for (std::size_t part = 0; part < 3; ++part) {
      result.push_back({fmt::format("{}.self_attn.{}.{}", t.name.substr(0, at), names[part], what),
                        changed(t.tensor, [&](const auto& x) { return third(x, part); })});
    }
  }
  return result;
}

// Shapes for image models: class token and positions for a batch of one, patch embedding as a
// convolution.
void shape_as_of_images(const Config& config, Tensors& tensors) {
  for (NamedTensor& t : tensors) {
    if (t.name == "embedding.patch.weight") {
      t.tensor =
          changed(t.tensor, [&](const auto& x) { return as_kernels(x, config.model.patch); });
    }
    if (t.name != "embedding.class_token" && t.name != "embedding.position.weight") continue;
    t.tensor = changed(t.tensor, [&](const auto& x) {
      return reshaped(x, {1, x.size() / config.model.width, config.model.width});
    });
  }
}

std::string renamed(std::string name, const Library& library) {
  for (const auto& [ours, theirs] : library.words) {
    if (const std::size_t at = name.find(ours); at != name.npos) {
      name.replace(at, ours.size(), theirs);
    }
  }
  return name;
}

}  // namespace

const std::vector<std::string>& library_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    for (const Library& library : detail::libraries()) result.push_back(library.name);
    return result;
  }();
  return names;
}

LibraryModel to_library(const std::string& library, const Config& config, const TaskShape& shape,
                        const std::vector<NamedTensor>& parameters) {
  const auto& known = detail::libraries();
  const auto found =
      std::find_if(known.begin(), known.end(), [&](const Library& l) { return l.name == library; });
  check<ConfigError>(found != known.end(), "there is no library ", library, "; there are ",
                     joined(library_names()));
  const std::vector<std::string> differences = found->differences(config, shape);
  check<ConfigError>(differences.empty(), "the model does not fit ", found->model, ": ",
                     joined(differences));

  Tensors tensors = found->needs_qkv_bias ? with_qkv_bias(parameters) : parameters;
  if (found->as_bert) tensors = as_bert(tensors);
  if (shape.input == InputKind::image) shape_as_of_images(config, tensors);
  for (NamedTensor& t : tensors) t.name = renamed(t.name, *found);
  return {tensors, found->constructor(config, shape)};
}

}  // namespace xgrad
