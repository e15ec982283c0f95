// Hooks of the program, which configs can turn on.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <xgrad/train/config/config.hpp>
#include <xgrad/train/loop/trainer.hpp>

namespace xgrad {

/// Makes a hook. `own` holds the values of its keys.
using HookMaker = std::function<std::shared_ptr<TrainerHooks>(const Options& own)>;

/// Adds a hook that runs with its name in log.hooks get. `make` is called once per run; its
/// keys stand in [log]. Hooks do not change results: a run saves the same
/// checkpoints with and without them. Throws ConfigError when the name or a key is taken.
void add_hook(const PartEntry& part, HookMaker make);

/// Makes the hooks that log.hooks names. Throws ConfigError that names one that does not exist.
std::vector<std::shared_ptr<TrainerHooks>> make_hooks(const Config& config);

}  // namespace xgrad
