// generated_task: a task with a class for each token, as one whose output the model generates.
#pragma once

#include <memory>

#include <xgrad/data/task.hpp>

namespace xgrad {

/// The name of a token that keeps the place of an output, as in "0 7 + 3 5 = _ _ _".
inline constexpr const char* kSlot = "_";

/// A task with the inputs of `task`, whose output is the classes of its targets, in the order of
/// the tokens, followed by an end class. Tokens named kSlot are left out of the inputs, so that
/// they do not tell the length of the output. It knows no ceilings, and its rules
/// also know where an output ends.
///
/// A task without a class for each token is passed on as it is.
std::unique_ptr<Task> generated_task(std::unique_ptr<Task> task);

}  // namespace xgrad
