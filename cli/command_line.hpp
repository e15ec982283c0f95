// The `xgrad` command as a function, for programs that add parts of their own to it.
#pragma once

namespace xgrad {

/// Runs the `xgrad` command with the arguments of main(), and returns its exit code, which
/// docs/commands.md lists. Prints errors instead of throwing them. Every command knows the tasks,
/// models, optimizers, schedules and hooks that the program has added before with add_task(),
/// add_model(), add_optimizer(), add_schedule() and add_hook(). The runs of a sweep are processes
/// of the same program.
int command_line(int argc, char** argv);

}  // namespace xgrad
