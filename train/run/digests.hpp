// The digests of every tensor of every step, which show where two runs first differ.
#pragma once

#include <memory>
#include <string>

#include <xgrad/autograd/parameters.hpp>
#include <xgrad/train/loop/trainer.hpp>
#include <xgrad/train/run/directory.hpp>

namespace xgrad {

/// Returns a hook that writes digests.jsonl ([log] digests) for a model with these parameters that
/// is trained on this thread: for each step a row of the places, in order, of all outputs,
/// gradients and updated parameters, each with the first 16 digits of its SHA-256.
template <class T>
std::shared_ptr<TrainerHooks> make_digest_log(const Parameters<T>& parameters,
                                              const RunDirectory& run);

/// The step and place where the digests of two run directories first differ, as "step 12: op 3
/// linear in encoder.head: output"; empty if they do not, or if a run has none. Throws IoError.
std::string first_different_digest(const std::string& first, const std::string& second);

}  // namespace xgrad
