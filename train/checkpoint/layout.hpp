// Paths of a checkpoint's tensors and state in its HDF5 file, derived from their names alone.
//
//   parameter "encoder.norm.weight"          /encoder.norm/weight
//   optimizer "exp_avg.encoder.norm.weight"  /optimizer/exp_avg/encoder.norm.weight
//   state     "epoch"                        /trainer/state/epoch
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace xgrad {

/// An HDF5 group of datasets: a module of the model or a slot of the optimizer.
struct LayoutGroup {
  std::string path;                  ///< "/encoder.layers.0.norm1"
  std::vector<std::string> members;  ///< "weight", "bias"
};

/// Groups in the order of their first members.
using Layout = std::vector<LayoutGroup>;

/// The groups of parameters and of optimizer tensors. Both throw CheckpointError on an invalid
/// name: empty parts, '/', characters that do not print, a module called "optimizer" or "trainer",
/// or a duplicate.
Layout parameter_layout(const std::vector<std::string>& names);
Layout optimizer_layout(const std::vector<std::string>& names);

std::string parameter_path(const std::string& name);
std::string optimizer_path(const std::string& name);
/// Throws CheckpointError on an invalid name, as the layouts do.
std::string state_path(const std::string& name);

/// Joins names to text with one name per line; split_lines() reverses it.
std::string join_lines(const std::vector<std::string>& names);
std::vector<std::string> split_lines(const std::string& text);

}  // namespace xgrad
