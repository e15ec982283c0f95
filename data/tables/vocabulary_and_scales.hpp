// VocabularyAndScales: statistics of the training rows of user files, stored with the model.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <xgrad/data/tables/table.hpp>

namespace xgrad {

/// Message for a file whose fingerprint changed.
inline constexpr const char* kChanged = ": has changed since this run began";

/// Statistics of the training rows that encode all rows, as stored in a checkpoint.
struct VocabularyAndScales {
  std::uint64_t fingerprint = 0;              ///< hash of the training file
  std::size_t max_length = 0;                 ///< most tokens in a row
  std::vector<std::string> tokens = {};       ///< tokens by id; the first is kUnknown
  std::vector<std::string> classes = {};      ///< class names by id
  std::size_t features = 0;                   ///< size of a vector, for vector inputs
  std::vector<double> mean = {};              ///< mean of each feature, or of each input column
  std::vector<double> deviation = {};         ///< standard deviations, likewise
  std::vector<double> target_mean = {};       ///< mean of each numeric target
  std::vector<double> target_deviation = {};  ///< standard deviation of each numeric target
  /// Fingerprints of the other files that the run read, by path.
  std::map<std::string, std::uint64_t> files = {};
  /// Compares all members.
  friend bool operator==(const VocabularyAndScales&, const VocabularyAndScales&) = default;
};

/// Computes the mean and standard deviation of numbers, of each feature or of each position in a
/// row.
class Scale {
 public:
  /// `by_place`: one pair for each position in a row; else one for each feature, over all tokens.
  explicit Scale(bool by_place) : by_place_(by_place) {}
  /// Adds the numbers of a row. Throws DataError, starting with `place`, when rows have different
  /// numbers of values (by_place) or features.
  void add(const std::string& place, const FieldNumbers& numbers);
  /// Writes the results; a deviation of 0 becomes 1, to be safe to divide by. Writes nothing if no
  /// numbers were added.
  void write(std::vector<double>& mean, std::vector<double>& deviation) const;

 private:
  bool by_place_;
  // Welford 1962; the square of any double fits into a long double.
  std::vector<long double> count_ = {}, mean_ = {}, squares_ = {};
};

/// The count of each text.
using Counts = std::map<std::string, std::size_t>;

/// Returns kUnknown, then the texts that occur at least `least` times, most frequent first; ties in
/// byte order. At most `most` entries, including kUnknown; 0: no limit.
std::vector<std::string> vocabulary(const Counts& counts, std::size_t most, std::size_t least);

/// Sorts class names: by value if all are whole numbers, else in byte order.
std::vector<std::string> class_order(const Counts& counts);

/// Records the fingerprint of a file. Throws DataError when the run recorded another one before,
/// because its scores would mix two sets of data.
void recognise(std::map<std::string, std::uint64_t>& files, const std::string& path,
               std::uint64_t fingerprint);

/// The statistics as JSON, for a checkpoint.
std::string to_json(const VocabularyAndScales& learned);
/// Parses to_json(). Throws CheckpointError on anything else.
VocabularyAndScales vocabulary_and_scales_from_json(const std::string& text);

}  // namespace xgrad
