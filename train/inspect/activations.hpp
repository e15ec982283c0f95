// Captures and replaces the named activations of a model. Activation patching finds the activations
// that carry a difference between two inputs.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <xgrad/data/batch.hpp>
#include <xgrad/data/task.hpp>
#include <xgrad/layers/model.hpp>
#include <xgrad/layers/module.hpp>

namespace xgrad {

/// Calls a function with each activation of one name, or with every activation, and with the path
/// of its module. The forward pass continues with the value that the function returns.
template <class T>
class EachActivation final : public ActivationTaker<T> {
 public:
  /// A function that returns the value to replace the activation x with.
  using Take = std::function<Variable<T>(const std::string& path, const ActivationPlace& place,
                                         const Variable<T>& x)>;
  /// Calls `take` for the activations `name` of the model with these parameters; "": for all.
  EachActivation(const Parameters<T>& parameters, std::string_view name, Take take)
      : name_(name), take_(std::move(take)) {
    for (const Parameter<T>& p : parameters) {
      for (std::size_t dot = 0; (dot = p.name.find('.', dot)) != p.name.npos; ++dot) {
        const std::string path = p.name.substr(0, dot);
        paths_[(Rng(0) / path).key()] = path;
      }
    }
  }
  bool wants(std::string_view name) const override { return name_.empty() || name == name_; }
  Variable<T> take(const ActivationPlace& place, const Variable<T>& x) override {
    return take_(paths_.at(place.module), place, x);
  }
  /// A context that hands the activations to this object.
  Context context() {
    Context context;
    context.activations = this;
    return context;
  }

 private:
  std::map<std::uint64_t, std::string> paths_;  // of modules with parameters, by their ids
  std::string_view name_;
  Take take_;
};

/// An intermediate value of a forward pass.
struct CapturedActivation {
  std::string name;      ///< path of the module and name in it: "encoder.layers.0.residual_before"
  Tensor<double> value;  ///< its shape is listed at ActivationTaker
};

/// All activations of a model for a batch, in the order in which they are computed, without
/// dropout. Here and in replace_activations(), a decoder reads the batch's targets.
template <class T>
std::vector<CapturedActivation> capture_activations(const SequenceModel<T>& model,
                                                    const Parameters<T>& parameters,
                                                    const Batch& batch);

/// `values` maps names of activations to new values. Replaces the activations by these values,
/// rounded to T. Returns the logits of a batch, without dropout. Throws Error if the model lacks an
/// activation of `values`, ShapeError if a value has another shape than its activation.
template <class T>
Tensor<double> replace_activations(const SequenceModel<T>& model, const Parameters<T>& parameters,
                                   const Batch& batch,
                                   const std::map<std::string, Tensor<double>>& values);

/// The result of activation patching (Meng et al. 2022). A model gives different answers to two
/// inputs, `from` and `to`. Patching measures how much of the difference each activation restores.
struct Patching {
  std::size_t output = 0;          ///< position of the output that is compared
  std::string from;                ///< the model's answer to the input `from`
  std::string to;                  ///< the model's answer to the input `to`
  std::string measure;             ///< the number d that is compared: "logit of 5 - logit of 3"
  double from_value = 0;           ///< d for the input `from`
  double to_value = 0;             ///< d for the input `to`
  std::vector<std::string> sites;  ///< names of the activations, as capture_activations() has them
  /// (sites, positions): (d - from_value) / (to_value - from_value). Here d is computed from the
  /// input `from`, after this activation was replaced, at this position, by the activation of `to`.
  /// 0: no effect; 1: restores the whole difference.
  Tensor<double> restored;
};

/// Patches the activations with names that match `pattern` (* stands for any characters, ? for
/// one): one activation at one position at a time. In attention scores, a position is a query.
/// Leaves out an activation that equals the activation before it, such as a residual stream with
/// two names.
///
/// For classes, d is the logit of the answer to `to` minus the logit of the answer to `from`, at
/// the last output with different answers. For numbers, d is the output that differs most.
/// Requires: both examples passed check_example(). Throws DataError if their lengths differ or the
/// answers are equal, and ConfigError if no activation matches or the task generates sequences.
template <class T>
Patching patch_activations(const SequenceModel<T>& model, const Parameters<T>& parameters,
                           const TaskShape& shape, const Example& from, const Example& to,
                           const std::string& pattern);

std::string restored_text(double restored);  ///< a number of Patching::restored as "0.25"

/// Returns a table to print, ending with a line feed; `tokens` name the positions.
std::string to_text(const Patching& patching, const std::vector<std::string>& tokens);

}  // namespace xgrad
