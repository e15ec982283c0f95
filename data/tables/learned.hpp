// Learned: what is taken from the training rows of a user's files, and goes with the model.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <xgrad/data/tables/table.hpp>

namespace xgrad {

/// What is said of a file with another fingerprint than before.
inline constexpr const char* kChanged = ": has changed since this run began";

/// What the training rows say of all rows, as a checkpoint keeps it.
struct Learned {
  std::uint64_t fingerprint = 0;          ///< of the training file
  std::size_t max_length = 0;             ///< tokens of the longest row
  std::vector<std::string> tokens = {};   ///< by id; the first stands for all that are not there
  std::vector<std::string> classes = {};  ///< by id
  std::size_t features = 0;               ///< numbers of a vector, where tokens are vectors
  std::vector<double> mean = {};          ///< of a feature each, or of a column
  std::vector<double> deviation = {};     ///< the same
  std::vector<double> target_mean = {};   ///< of a target number each
  std::vector<double> target_deviation = {};  ///< the same
  /// Fingerprints of other files that the run has read, by their paths.
  std::map<std::string, std::uint64_t> files = {};
  /// Whether they are equal.
  friend bool operator==(const Learned&, const Learned&) = default;
};

/// Mean and deviation of numbers: of each feature over all tokens, or of each place in a row.
class Scale {
 public:
  /// Of each place in a row, or else of each feature.
  explicit Scale(bool by_place) : by_place_(by_place) {}
  /// Throws DataError, starting with `place`, when rows have different numbers of values where
  /// places count.
  void add(const std::string& place, const Numbers& numbers);
  /// A deviation of 0 becomes 1, so that dividing by it does no harm. Writes nothing when nothing
  /// was added.
  void write(std::vector<double>& mean, std::vector<double>& deviation) const;

 private:
  bool by_place_;
  // Welford 1962; a square of any double fits into a long double.
  std::vector<long double> count_ = {}, mean_ = {}, squares_ = {};
};

/// Counts of texts.
using Counts = std::map<std::string, std::size_t>;

/// kUnknown, then the texts that come at least `least` times, the most frequent first and in the
/// order of their bytes where equally frequent; `most` in all, 0: any number.
std::vector<std::string> vocabulary(const Counts& counts, std::size_t most, std::size_t least);

/// Class names in the order of their bytes; of their values where all are whole numbers.
std::vector<std::string> class_order(const Counts& counts);

/// Notes the fingerprint of a file. Throws DataError when the run knows the file with another: its
/// scores would be of two sets of data.
void recognise(std::map<std::string, std::uint64_t>& files, const std::string& path,
               std::uint64_t fingerprint);

/// As JSON, for a checkpoint.
std::string to_json(const Learned& learned);
/// Throws CheckpointError unless it is what to_json() gives.
Learned learned_from_json(const std::string& text);

}  // namespace xgrad
