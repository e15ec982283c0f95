// Digests of every tensor of every step. They show where two runs first differ.
#pragma once

#include <memory>
#include <string>

#include <xgrad/autograd/parameters.hpp>
#include <xgrad/train/loop/trainer.hpp>
#include <xgrad/train/run/directory.hpp>

namespace xgrad {

/// Returns a hook that writes digests.jsonl ([log] digests), a row for each step. The model with
/// these parameters must be trained on this thread. A row lists all outputs, gradients and updated
/// parameters in order: the place (OpPlace) and the first 16 digits of the SHA-256 of each.
template <class T>
std::shared_ptr<TrainerHooks> make_digest_log(const Parameters<T>& parameters,
                                              const RunDirectory& run);

/// The step and place where the digests of two run directories first differ, as "step 12: op 3
/// linear in encoder.head: output"; empty if all are equal or a run has no digests. Throws IoError.
std::string first_different_digest(const std::string& first, const std::string& second);

}  // namespace xgrad
