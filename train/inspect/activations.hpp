// Captures the activations of a model at named sites, and replaces them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <xgrad/data/batch.hpp>
#include <xgrad/layers/model.hpp>

namespace xgrad {

/// An intermediate value of a forward pass.
struct CapturedActivation {
  std::string name;      ///< path of the module and name in it: "encoder.layers.0.residual_before"
  Tensor<double> value;  ///< its shape is listed at ActivationTaker
};

/// Returns all activations of a model for a batch, in the order in which they are computed, without
/// dropout. A decoder reads the batch's targets, here and below.
template <class T>
std::vector<CapturedActivation> capture_activations(const SequenceModel<T>& model,
                                                    const Parameters<T>& parameters,
                                                    const Batch& batch);

/// Returns the logits of a batch, without dropout, with the activations that `values` names
/// replaced by its values, which are rounded to T. Throws Error if the model has no activation of a
/// name, ShapeError if a shape differs.
template <class T>
Tensor<double> replace_activations(const SequenceModel<T>& model, const Parameters<T>& parameters,
                                   const Batch& batch,
                                   const std::map<std::string, Tensor<double>>& values);

}  // namespace xgrad
