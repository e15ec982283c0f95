// Where a checkpoint's tensors stand in its HDF5 file, from their names alone.
//
//   parameter "encoder.layers.0.norm1.weight"        /encoder.layers.0.norm1/weight
//   optimizer "exp_avg.encoder.layers.0.norm1.weight"
//   /optimizer/exp_avg/encoder.layers.0.norm1.weight state     "epoch" /trainer/state/epoch
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace xgrad {

/// A group of datasets: one module of the model, one slot of the optimizer.
struct LayoutGroup {
  std::string path;                  ///< "/encoder.layers.0.norm1"
  std::vector<std::string> members;  ///< "weight", "bias"
};

/// Groups in the order in which their first member comes.
using Layout = std::vector<LayoutGroup>;

/// Both throw CheckpointError on a name that has no place: empty parts, '/', characters that do not
/// print, a module called "optimizer" or "trainer", a name that comes twice.
Layout parameter_layout(const std::vector<std::string>& names);
Layout optimizer_layout(const std::vector<std::string>& names);

std::string parameter_path(const std::string& name);
std::string optimizer_path(const std::string& name);
/// Throws CheckpointError like the layouts.
std::string state_path(const std::string& name);

/// One name a line.
std::string join_lines(const std::vector<std::string>& names);
std::vector<std::string> split_lines(const std::string& text);

}  // namespace xgrad
