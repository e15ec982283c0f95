// Summary: the modules, shapes, FLOPs and memory of a model, measured in forward and backward of a
// training step.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <xgrad/autograd/tensor.hpp>
#include <xgrad/train/config/config.hpp>

namespace xgrad {

/// A module in the tree of parameter names. All numbers include its submodules.
struct ModuleSummary {
  std::string path;            ///< "encoder.layers.0.self_attn"; empty for the root
  std::size_t parameters = 0;  ///< trainable scalars
  std::uint64_t flops = 0;     ///< floating-point operations in one forward pass
  /// Names of the ops of this module, without its submodules, in the order in which they first ran.
  std::vector<std::string> ops = {};
  Shape output = {};  ///< output of the last op in this module or a submodule
};

/// The shapes inside one attention module: B examples, H heads, N queries of width d, M keys, and
/// values of width d_v. Fused attention computes the scores in blocks and never stores all of them.
struct AttentionSummary {
  std::string path;  ///< "encoder.layers.0.self_attn"
  Shape queries;     ///< (B, H, N, d)
  Shape keys;        ///< transposed, (B, H, d, M)
  Shape scores;      ///< (B, H, N, M)
  Shape values;      ///< (B, H, M, d_v)
  Shape joined;      ///< concatenated outputs of the heads, (B, N, H d_v)
};

/// The summary of a model. Shapes and the FLOPs of modules are those of the step's first forward
/// pass: over the first shard of the first micro-batch. FLOPs are counted for matrix products only:
/// 2 m n k for shapes (m, k) and (k, n). An op that reads a parameter belongs to the module of that
/// parameter. Any other op belongs to the same module as the op before it.
struct ModelSummary {
  std::string input;                         ///< of the first forward pass, "(64, 16) token ids"
  std::size_t examples = 0;                  ///< number of examples in the first forward pass
  std::vector<ModuleSummary> modules;        ///< each module before its submodules; the root first
  std::vector<AttentionSummary> attentions;  ///< attention modules in the order in which they run
  /// Names and shapes of the activations that can be captured and replaced, in order of
  /// computation.
  std::vector<std::pair<std::string, Shape>> activations;
  std::size_t frozen = 0;           ///< number of frozen scalars
  std::uint64_t step_flops = 0;     ///< FLOPs of forward and backward of all micro-batches
  std::size_t weight_bytes = 0;     ///< size of the parameters
  std::size_t gradient_bytes = 0;   ///< size of the gradients of trained parameters
  std::size_t optimizer_bytes = 0;  ///< size of the optimizer's state and of averaged weights
  /// Memory that the first forward pass keeps for backward, its inputs included.
  std::int64_t kept_bytes = 0;
  /// Peak memory of a step besides weights, gradients and optimizer state.
  std::int64_t peak_bytes = 0;
};

/// Runs forward and backward of the config's first step and discards the model. Throws
/// ConfigError, DataError, IoError, CheckpointError.
ModelSummary summarize(const Config& config);

/// Returns a table to print, ending with a line feed.
std::string to_text(const ModelSummary& summary);

}  // namespace xgrad
