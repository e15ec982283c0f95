// TensorBoard: writes a run's curves, weights and settings to an event file, which TensorBoard can
// read during the run. The file is a sequence of records. Each write(2) adds one whole record:
//
//   u64 length | u32 masked CRC32C of the length | an Event | u32 masked CRC32C of the Event
//
// Integers are little-endian, and mask(c) = (c >> 15 | c << 17) + 0xa282ead8. events.proto defines
// Event.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <xgrad/data/task.hpp>
#include <xgrad/layers/model.hpp>
#include <xgrad/storage/disk/folder.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/logs/metrics_row.hpp>

namespace xgrad {

namespace events {
class Event;
}

/// CRC-32C (Castagnoli), masked as described above.
std::uint32_t masked_crc32c(const std::string& bytes);

/// Bucket i counts limits[i-1] <= x < limits[i]. The limits are 0 and +-1e-12 * 1.1^k, as in
/// TensorFlow and PyTorch. Empty buckets at both ends are left out, except one at the lower end.
struct Histogram {
  double min = 0, max = 0, sum = 0, sum_squares = 0;
  std::vector<double> limits, counts;
};
/// Counts numbers. Requires: all are finite. No numbers give an empty histogram.
template <class T>
Histogram histogram(const T* x, std::size_t count);

/// The event file of a run. All functions do nothing unless [log] tensorboard is set.
class TensorBoard {
 public:
  /// Creates an event file with the config as text and as hyperparameters, for a run that begins or
  /// resumes at `step`. All functions throw IoError.
  TensorBoard(const Config& config, const Folder& directory, std::uint64_t step);

  /// Adds the finite numbers of a row as NAME/SPLIT, without standard errors.
  void row(const MetricsRow& row);
  /// Adds histograms of parameters as weights/NAME, and of their gradients as gradients/NAME.
  template <class T>
  void histograms(std::uint64_t step, const Parameters<T>& parameters);
  /// Adds the attention maps of the first validation example as attention/MODULE, unless it has
  /// more than kMostMapped tokens. `parameters` are the parameters that the validation used.
  template <class T>
  void attention(std::uint64_t step, const SequenceModel<T>& model, const Parameters<T>& parameters,
                 const Task& task);
  /// Makes TensorBoard hide what the run has written so far for steps after `step`, in any of its
  /// files, because the run repeats these steps.
  void go_back(std::uint64_t step);
  /// Marks the run as finished.
  void finish();

 private:
  void append(const events::Event& event);

  std::string path_;
  std::optional<detail::Descriptor> file_;
  std::size_t patch_;  // side of an image patch
};

}  // namespace xgrad
