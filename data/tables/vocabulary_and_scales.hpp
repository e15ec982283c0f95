// VocabularyAndScales: statistics of the training rows of user files, stored with the model.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

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

/// Sorts the names of classes, which are the keys: by value if all are whole numbers, else in byte
/// order.
std::vector<std::string> class_order(const std::map<std::string, std::size_t>& counts);

/// Records the fingerprint of a file. Throws DataError when the run recorded another one before,
/// because its scores would mix two sets of data.
void recognise(std::map<std::string, std::uint64_t>& files, const std::string& path,
               std::uint64_t fingerprint);

/// The statistics as JSON, for a checkpoint.
std::string to_json(const VocabularyAndScales& learned);
/// Parses to_json(). Throws CheckpointError on anything else.
VocabularyAndScales vocabulary_and_scales_from_json(const std::string& text);

}  // namespace xgrad
