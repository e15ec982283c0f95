// Small checkpoints for tests, and comparing them.
#pragma once

#include <string>

#include <xgrad/train/checkpoint/checkpoint.hpp>

namespace xgrad::test {

/// A checkpoint of a few kilobytes with several modules, one slot and every kind of state.
Checkpoint small_checkpoint();

/// The parameters and the config of a checkpoint, as a weight file holds them.
WeightFile weight_file(const Checkpoint& checkpoint);

/// The first difference between two checkpoints or weight files; empty if they have the same bits.
std::string difference(const Checkpoint& a, const Checkpoint& b);
std::string difference(const WeightFile& a, const WeightFile& b);

/// The number of random edits to try: the environment variable XGRAD_RANDOM_EDITS, else `quick`.
int random_edits(int quick);

/// The message of the Exception that `call` throws, or "nothing was thrown". Other exceptions pass.
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
