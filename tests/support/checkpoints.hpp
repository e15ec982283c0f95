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

}  // namespace xgrad::test
