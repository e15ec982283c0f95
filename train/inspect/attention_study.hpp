// The attention study: what each head of a trained model attends to, and how much the model loses
// without the head.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <xgrad/layers/attention/metrics.hpp>
#include <xgrad/train/metrics/metrics.hpp>

namespace xgrad {

struct Picture;

/// The attention maps of one module for a batch.
struct AttentionMap {
  std::string path;              ///< "encoder.layers.0.self_attn"
  Tensor<double> probabilities;  ///< (B, H, N, M)
};

/// The maps of all attention modules for a batch, in the order in which they run, without dropout.
/// A decoder reads the batch's targets, as in all functions of this header.
template <class T>
std::vector<AttentionMap> attention_maps(const SequenceModel<T>& model,
                                         const Parameters<T>& parameters, const Batch& batch);

/// The names of the `rows` rows of an example's map: the tokens of the example. If `rows` is the
/// number of tokens plus 1, the first name is [class]. Empty if the example has no tokens.
std::vector<std::string> token_names(const Example& example, const TaskShape& shape,
                                     std::size_t rows);

/// Names of the rows (queries) and columns (keys) of a map of an example; empty if unknown. In a
/// decoder, a row has the name of the output that the model predicts there. In the self-attention
/// of a decoder, a column has the name of the output that is read there; the first is "[begin]".
std::pair<std::vector<std::string>, std::vector<std::string>> map_names(const AttentionMap& map,
                                                                        const Example& example,
                                                                        const TaskShape& shape);

/// The study of one attention module.
struct LayerStudy {
  std::string path;              ///< "encoder.layers.0.self_attn"
  AttentionMetrics metrics;      ///< metrics of the module's maps
  std::vector<Metrics> without;  ///< for each head, metrics of the model without this head
};

/// The study of all attention modules of a model.
struct AttentionStudy {
  std::size_t examples = 0;        ///< number of examples used
  bool forced = false;             ///< whether the model has a decoder, which read the targets
  Metrics metrics;                 ///< metrics of the whole model
  std::vector<LayerStudy> layers;  ///< attention modules in the order in which they run
};

/// Studies a model on a data set. Takes two evaluations, and one more for each head.
template <class T>
AttentionStudy study_attention(const SequenceModel<T>& model, const Parameters<T>& parameters,
                               const Pass& pass, const Objective& objective);

/// A head. Both numbers start at 0.
struct Head {
  std::size_t layer = 0;  ///< number of the attention module, in the order in which modules run
  std::size_t head = 0;   ///< number of the head in the module
};

/// The metrics of a model with and without some of its heads.
struct SilencedHeads {
  std::size_t examples = 0;  ///< number of examples used
  bool forced;               ///< whether the model has a decoder, which read the targets
  Metrics whole;             ///< metrics of the whole model
  Metrics without;           ///< metrics with the outputs of all these heads set to 0
};

/// Evaluates a model on a data set twice: the whole model, and the model without all of `heads` at
/// once. Throws ConfigError if the model lacks one of `heads`; the message names this head.
template <class T>
SilencedHeads silence_heads(const SequenceModel<T>& model, const Parameters<T>& parameters,
                            const Pass& pass, const Objective& objective,
                            const std::vector<Head>& heads);

/// Returns "; the decoder reads the targets (teacher forcing)" if `forced`, else "".
const char* outputs_read(bool forced);

/// A table of all heads, as text. The texts of to_text() and heat_map() end with a line feed.
std::string to_text(const AttentionStudy& study);
std::string to_text(const SilencedHeads& silenced);  ///< a table of all metrics
/// The map of one head for one sample as characters, denser for larger weights: one row per query,
/// one column per key. `rows` and `columns` name them; a position without a name gets its number.
std::string heat_map(const Tensor<double>& probabilities, std::size_t sample, std::size_t head,
                     const std::vector<std::string>& rows, const std::vector<std::string>& columns);

/// An HDF5 file with one group per attention module. A group holds maps (B, H, N, M); entropy,
/// distance, asymmetry, loss_without and accuracy_without (for numbers r2_without), each (H); and
/// redundancy (H, H). The root holds the number of examples, the inputs and, if the model has a
/// decoder, the outputs that the decoder read.
std::string to_hdf5(const AttentionStudy& study, const std::vector<AttentionMap>& maps,
                    const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs);

/// The maps of an example are drawn only if it has at most this many attended_tokens().
inline constexpr std::size_t kMostMapped = 128;

/// Number of tokens in the attention maps of an example: number of ids, vectors, or image patches
/// with side `patch`; or the number of targets, if it is larger. Does not count a class token.
std::size_t attended_tokens(const Example& example, const TaskShape& shape, std::size_t patch);

/// Draws the map of one head for the first sample: one row of pixels per query, one column per key.
/// White is 0, dark blue the largest weight; shades follow the square root of the weight.
Picture head_picture(const AttentionMap& map, std::size_t head);
/// Draws all heads' maps as head_picture() does, side by side, each enlarged to about 128 pixels.
Picture heads_picture(const AttentionMap& map);

}  // namespace xgrad
