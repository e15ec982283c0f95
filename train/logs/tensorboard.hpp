// TensorBoard: writes a run's curves, weights and settings to event files.
#pragma once

#include <memory>

#include <xgrad/data/task.hpp>
#include <xgrad/layers/model.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/logs/event_file.hpp>
#include <xgrad/train/logs/metrics_row.hpp>

namespace xgrad {

/// Does nothing unless [log] tensorboard is set.
class TensorBoard {
 public:
  /// Creates an event file in the run's directory with the config as text and as hyperparameters.
  /// `step` is the first one, or the one that the run resumes from.
  TensorBoard(const Config& config, const Folder& directory, std::uint64_t step);

  /// Adds the finite numbers of a row as NAME/SPLIT, without standard errors.
  void row(const MetricsRow& row);
  /// Adds histograms of every parameter as weights/NAME and of the gradients of trained ones as
  /// gradients/NAME.
  template <class T>
  void histograms(std::uint64_t step, const Parameters<T>& parameters);
  /// Adds the attention maps of the first validation example as attention/MODULE; does nothing if
  /// that example has more than kMostMapped tokens. A decoder reads the targets. `parameters` are
  /// those that validation used.
  template <class T>
  void attention(std::uint64_t step, const SequenceModel<T>& model, const Parameters<T>& parameters,
                 const Task& task);
  /// Marks that the run continues from this step. TensorBoard hides later events.
  void go_back(std::uint64_t step);
  /// Marks the run as finished.
  void finish();

 private:
  std::unique_ptr<EventFile> file_;
  std::size_t patch_;  // side of an image patch
};

}  // namespace xgrad
