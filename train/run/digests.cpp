#include <xgrad/train/run/digests.hpp>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <xgrad/autograd/scalar.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/formats/sha256.hpp>

namespace xgrad {

using Json = nlohmann::ordered_json;

template <class T>
DigestLog<T>::DigestLog(const Parameters<T>& parameters, const RunDirectory& run)
    : parameters_(parameters), run_(run) {
  restart();
}

template <class T>
void DigestLog<T>::on_step(const StepReport& report) {
  trace_.reset();
  for (const Parameter<T>& p : parameters_) add("updated " + p.name, p.value());
  Json row{{"step", report.step}, {"digests", Json::object()}};
  for (const auto& [place, digest] : digests_) row["digests"][place] = digest;
  run_.append(kDigests, row.dump());
  restart();
}

template <class T>
void DigestLog<T>::on_evaluation(std::uint64_t, const Metrics&) {
  restart();
}

template <class T>
void DigestLog<T>::on_failed_step(const StepReport&, std::uint64_t) {
  restart();
}

template <class T>
void DigestLog<T>::restart() {
  trace_.reset();
  digests_.clear();
  trace_ = std::make_unique<Trace<T>>(
      parameters_, [this](const OpPlace& place, const Tensor<T>& x) { add(to_string(place), x); });
}

template <class T>
void DigestLog<T>::add(const std::string& place, const Tensor<T>& x) {
  const std::string_view bytes(reinterpret_cast<const char*>(x.data()), x.size() * sizeof(T));
  digests_.emplace_back(place, to_hex(sha256(bytes)).substr(0, 16));
}

// The first place whose digests differ; empty if none does.
static std::string first_different(const Json& a, const Json& b) {
  for (auto x = a.begin(), y = b.begin(); x != a.end(); ++x, ++y) {
    if (y == b.end() || x.key() != y.key() || x.value() != y.value()) return x.key();
  }
  return b.size() > a.size() ? "more ops in the second" : "";
}

std::string first_different_digest(const std::string& first, const std::string& second) {
  const Folder a(first), b(second);
  if (!a.holds(kDigests) || !b.holds(kDigests)) return "";
  Lines of_a(a.input(kDigests)), of_b(b.input(kDigests));
  for (std::string x, y; of_a.next(x) && of_b.next(y);) {
    if (x == y) continue;
    const Json row = Json::parse(x, nullptr, false), other = Json::parse(y, nullptr, false);
    if (!row.contains("digests") || !other.contains("digests")) continue;
    const std::string place = first_different(row["digests"], other["digests"]);
    return fmt::format("step {}: {}", row["step"].dump(), place);
  }
  return "";
}

#define XGRAD_INSTANTIATE(T) template class DigestLog<T>;
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
