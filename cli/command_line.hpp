// The `xgrad` command as a function, for programs that add their own parts to it.
#pragma once

namespace xgrad {

/// Runs the `xgrad` command with the arguments of main(), and returns its exit code, which
/// docs/commands.md lists. Prints errors instead of throwing them. Call add_task(), add_model(),
/// add_optimizer(), add_schedule() and add_hook() first, so that every command knows the added
/// parts. A sweep starts this program again for each run.
int command_line(int argc, char** argv);

}  // namespace xgrad
