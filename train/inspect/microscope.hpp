// The attention microscope: what every head of a trained model looks at, and what it is good for.
#pragma once

#include <string>
#include <vector>

#include <xgrad/data/batch.hpp>
#include <xgrad/data/task.hpp>
#include <xgrad/layers/attention_metrics.hpp>
#include <xgrad/layers/model.hpp>
#include <xgrad/train/metrics/metrics.hpp>
#include <xgrad/train/model/objective.hpp>

namespace xgrad {

/// The maps of one attention on a batch.
struct AttentionMap {
  std::string path;              ///< "encoder.layers.0.self_attn"
  Tensor<double> probabilities;  ///< (B, H, N, M)
};

/// All attentions of a model on a batch, in the order in which they run, without dropout.
template <class T>
std::vector<AttentionMap> attention_maps(const SequenceModel<T>& model,
                                         const Parameters<T>& parameters, const Batch& batch);

/// The attention of one layer.
struct LayerStudy {
  std::string path;              ///< "encoder.layers.0.self_attn"
  AttentionMetrics metrics;      ///< of its maps
  std::vector<Metrics> without;  ///< the model's, with this head silenced; one a head
};

/// The attentions of a model.
struct AttentionStudy {
  std::size_t examples = 0;        ///< that were studied
  Metrics metrics;                 ///< of the whole model
  std::vector<LayerStudy> layers;  ///< in the order in which they run
};

/// Studies the first `examples` of a data set: one evaluation, and one more for each head.
template <class T>
AttentionStudy study_attention(const SequenceModel<T>& model, const Parameters<T>& parameters,
                               const Dataset& dataset, const TaskShape& shape,
                               const Objective& objective, std::size_t batch, std::size_t examples);

/// A table for people, ending with a line feed.
std::string to_text(const AttentionStudy& study);

/// A map as characters, the darker the more: a row for each query and a column for each key, with
/// their names where given.
std::string heat_map(const Tensor<double>& probabilities, std::size_t sample, std::size_t head,
                     const std::vector<std::string>& names);

/// HDF5: for each attention a group with maps (B, H, N, M), entropy, distance, asymmetry (H),
/// redundancy (H, H), loss_without and, of accuracy, accuracy_without (H); beside them the inputs.
std::string to_hdf5(const AttentionStudy& study, const std::vector<AttentionMap>& maps,
                    const std::vector<std::string>& inputs);

}  // namespace xgrad
