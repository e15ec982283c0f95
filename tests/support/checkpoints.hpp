// Small checkpoints to test with.
#pragma once

#include <string>

#include <xgrad/train/checkpoint/checkpoint.hpp>

namespace xgrad::test {

/// Two modules, one slot, every kind of state; a few kilobytes.
Checkpoint small_checkpoint();

/// What a file of weights keeps of a checkpoint: its parameters and its config.
WeightFile weight_file(const Checkpoint& checkpoint);

/// What differs first between two of them; empty where they are the same to the bit.
std::string difference(const Checkpoint& a, const Checkpoint& b);
std::string difference(const WeightFile& a, const WeightFile& b);

/// How many random edits to try: `quick`, or what the environment's XGRAD_RANDOM_EDITS says.
int random_edits(int quick);

/// The message of the exception that `call` throws; fails the test when it throws none of that
/// type.
template <class Exception, class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const Exception& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace xgrad::test
