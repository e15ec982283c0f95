// What a model is made of and what a step of it costs, taken from a step that really runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <xgrad/autograd/tensor.hpp>
#include <xgrad/train/config/config.hpp>

namespace xgrad {

/// A place in the tree of parameter names with everything below it; the root has an empty path.
struct ModuleSummary {
  std::string path;                   ///< "encoder.layers.0.self_attn"
  std::size_t parameters = 0;         ///< trainable scalars
  std::uint64_t flops = 0;            ///< forward of one micro-batch
  std::vector<std::string> ops = {};  ///< of this place alone, in the order in which they first ran
  Shape output = {};                  ///< of the last op that ran at this place or below it
};

/// The shapes inside of one attention, which works on the heads side by side: B examples, H heads,
/// N queries of width d, M keys, values of width d_v. Attention in one op forms the scores block by
/// block and never stores them whole.
struct AttentionSummary {
  std::string path;  ///< "encoder.layers.0.self_attn"
  Shape queries;     ///< (B, H, N, d)
  Shape keys;        ///< transposed, (B, H, d, M)
  Shape scores;      ///< (B, H, N, M)
  Shape values;      ///< (B, H, M, d_v)
  Shape joined;      ///< the heads' outputs beside each other, (B, N, H d_v)
};

/// Floating-point operations are those of matrix products, 2 m n k for (m, k) (k, n), counted where
/// they are computed. An op that reads a parameter belongs to the module of that parameter, any
/// other to the module before it.
struct ModelSummary {
  std::string input;                         ///< "64 x 16 tokens"
  std::size_t examples = 0;                  ///< of that micro-batch, the first of the step
  std::vector<ModuleSummary> modules;        ///< a module before what is below it; the root first
  std::vector<AttentionSummary> attentions;  ///< in the order in which they run
  std::size_t frozen = 0;                    ///< scalars that are not trained
  std::uint64_t step_flops = 0;              ///< forward and backward of all its micro-batches
  std::size_t weight_bytes = 0;              ///< of the parameters
  std::size_t gradient_bytes = 0;            ///< of the gradients of those that are trained
  std::size_t optimizer_bytes = 0;           ///< of the optimizer's tensors
  std::int64_t kept_bytes = 0;  ///< what forward leaves for backward, the batch included
  std::int64_t peak_bytes = 0;  ///< the most that a step holds beside weights, gradients, optimizer
};

/// Runs two steps of the config's training and forgets them. Throws what a Trainer throws.
ModelSummary summarize(const Config& config);

/// A table for people, ending with a line feed.
std::string to_text(const ModelSummary& summary);

}  // namespace xgrad
