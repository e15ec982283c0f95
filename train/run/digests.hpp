// The digests of every tensor of every step, which show where two runs first differ.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <xgrad/train/diagnose/trace.hpp>
#include <xgrad/train/loop/trainer.hpp>
#include <xgrad/train/run/directory.hpp>

namespace xgrad {

/// Writes digests.jsonl ([log] digests): for each step a row of the places, in order, of all
/// outputs, gradients and updated parameters, each with the first 16 digits of its SHA-256.
template <class T>
class DigestLog final : public TrainerHooks {
 public:
  /// Logs the steps of a model with these parameters, on this thread, until destruction.
  DigestLog(const Parameters<T>& parameters, const RunDirectory& run);

  void on_step(const StepReport& report) override;
  void on_evaluation(std::uint64_t step, const Metrics& metrics) override;
  void on_failed_step(const StepReport& report, std::uint64_t step) override;

 private:
  void restart();
  void add(const std::string& place, const Tensor<T>& x);

  const Parameters<T>& parameters_;
  const RunDirectory& run_;
  std::vector<std::pair<std::string, std::string>> digests_;  // of the current step, by place
  std::unique_ptr<Trace<T>> trace_;                           // of it
};

/// The step and place where the digests of two run directories first differ, as "step 12: op 3
/// linear in encoder.head: output"; empty if they do not, or if a run has none. Throws IoError.
std::string first_different_digest(const std::string& first, const std::string& second);

}  // namespace xgrad
