#include <xgrad/data/tables/vocabulary_and_scales.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/task.hpp>

namespace xgrad {

namespace {

using Json = nlohmann::json;

std::optional<std::int64_t> whole(const std::string& text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace

std::vector<std::string> vocabulary(const Counts& counts, std::size_t most, std::size_t least) {
  std::vector<std::pair<std::string, std::size_t>> kept;
  for (const auto& entry : counts) {
    if (entry.second >= least && entry.first != kUnknown) kept.push_back(entry);
  }
  std::stable_sort(kept.begin(), kept.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> tokens = {kUnknown};
  for (const auto& [token, count] : kept) {
    if (most > 0 && tokens.size() >= most) break;
    tokens.push_back(token);
  }
  return tokens;
}

std::vector<std::string> class_order(const Counts& counts) {
  std::vector<std::string> names;
  for (const auto& [name, count] : counts) names.push_back(name);
  const auto is_whole = [](const std::string& name) { return whole(name).has_value(); };
  if (std::all_of(names.begin(), names.end(), is_whole)) {
    std::stable_sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
      return *whole(a) < *whole(b);
    });
  }
  return names;
}

void Scale::add(const std::string& place, const FieldNumbers& numbers) {
  const std::size_t size = by_place_ ? numbers.values.size() : numbers.features;
  if (count_.empty()) count_ = mean_ = squares_ = std::vector<long double>(size, 0);
  check<DataError>(size == count_.size(), place, ": has ", size, " numbers, the earlier rows have ",
                   count_.size());
  for (std::size_t i = 0; i < numbers.values.size(); ++i) {
    const std::size_t s = i % size;
    const long double x = numbers.values[i], step = x - mean_[s];
    count_[s] += 1;
    mean_[s] += step / count_[s];
    squares_[s] += step * (x - mean_[s]);
  }
}

void Scale::write(std::vector<double>& mean, std::vector<double>& deviation) const {
  mean.assign(mean_.begin(), mean_.end());
  for (std::size_t s = 0; s < count_.size(); ++s) {
    const auto own = double(std::sqrt(squares_[s] / count_[s]));
    deviation.push_back(own > 0 ? own : 1);
  }
}

void recognise(std::map<std::string, std::uint64_t>& files, const std::string& path,
               std::uint64_t fingerprint) {
  const auto [known, is_new] = files.emplace(path, fingerprint);
  check<DataError>(is_new || known->second == fingerprint, path, kChanged);
}

// The members in a checkpoint.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(VocabularyAndScales, fingerprint, max_length, tokens, classes,
                                   features, mean, deviation, target_mean, target_deviation, files)

std::string to_json(const VocabularyAndScales& learned) {
  return Json(learned).dump();
}

VocabularyAndScales vocabulary_and_scales_from_json(const std::string& text) try {
  const Json json = Json::parse(text);
  const auto learned = json.get<VocabularyAndScales>();
  check<CheckpointError>(learned.mean.size() == learned.deviation.size() &&
                             learned.target_mean.size() == learned.target_deviation.size() &&
                             (learned.features == 0) == learned.mean.empty(),
                         "vocabularies and scales learned from files: the scales differ in length");
  check<CheckpointError>(json.size() == Json(learned).size(),
                         "vocabularies and scales learned from files: has ", json.size(),
                         " members");
  return learned;
} catch (const Json::exception& error) {
  detail::fail<CheckpointError>("vocabularies and scales learned from files: ", error.what());
}

}  // namespace xgrad
