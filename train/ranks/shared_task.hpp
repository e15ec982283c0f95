// The task of a run, with data that the ranks of a machine share.
#pragma once

#include <memory>

#include <xgrad/data/task.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/ranks/ranks.hpp>

namespace xgrad {

/// A task, made on all ranks.
struct SharedTask {
  std::unique_ptr<Task> task;  ///< never null
  bool copied = false;  ///< whether its data are the copy that another rank on this machine made
};

/// Makes the task of a config, or of a checkpoint, on all ranks. One rank of each machine reads its
/// files. Throws on all ranks if one of them cannot make it.
SharedTask make_task(Ranks& ranks, const Config& config, const Checkpoint* checkpoint);

}  // namespace xgrad
