// The end of a command: results on standard output and the exit code.
#pragma once

#include <exception>
#include <string>

#include <xgrad/train/run/session.hpp>

namespace xgrad::commands {

/// The exit code for an error; docs/commands.md lists them.
int exit_code(const std::exception& error);

/// Prints a message to standard error. Replaces control characters other than line feeds by spaces,
/// because a message may quote what could change a terminal.
void print_error(const std::string& message);

/// If several processes run, says that this command needs one and that the others wait for it.
void tell_others_wait(const std::string& command);

/// Prints the test metrics and the verdicts as text, or the test metrics as one JSON object.
/// Returns 0, or 128 + n after signal n.
int report(const Outcome& outcome, bool json);

/// The metrics in one line, as "loss 0.0213 ± 0.0004, accuracy 0.9934 ± 0.0002, exact match 0.9523
/// ± 0.0021".
std::string summary(const Metrics& metrics);

/// A sentence like "3 of 120 tokens are not in the vocabulary and were read as <unk>".
std::string unknown_text(std::size_t unknown, std::size_t tokens);

}  // namespace xgrad::commands
