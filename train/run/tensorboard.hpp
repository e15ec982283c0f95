// TensorBoard: a run's curves, weights and settings, as its event files.
#pragma once

#include <memory>

#include <xgrad/data/task.hpp>
#include <xgrad/layers/model.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/run/event_file.hpp>

namespace xgrad {

/// Does nothing unless [log] tensorboard is set.
class TensorBoard {
 public:
  /// Begins a file in the run's directory with the config, as text and as hyperparameters; from
  /// `step` on, where a run is resumed.
  TensorBoard(const Config& config, const Folder& directory, std::uint64_t step);

  /// The numbers of a row of metrics.jsonl or timing.jsonl as NAME/SPLIT, standard errors left out.
  void row(const std::string& row);
  /// Every parameter as weights/NAME, and its gradient as gradients/NAME: those that are trained.
  template <class T>
  void histograms(std::uint64_t step, const Parameters<T>& parameters);
  /// What each head attends to in the first example of the validation split, as
  /// attention/MODULE; nothing where that example has more than kMostMapped tokens. `parameters`
  /// are those that validation scored.
  template <class T>
  void attention(std::uint64_t step, const SequenceModel<T>& model, const Parameters<T>& parameters,
                 const Task& task);
  /// The run goes on from this step: what came after it is shown no more.
  void go_back(std::uint64_t step);
  /// Says that the run has ended well.
  void finish();

 private:
  std::unique_ptr<EventFile> file_;
  std::size_t patch_;  // side of an image's
};

}  // namespace xgrad
