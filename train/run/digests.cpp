#include <xgrad/train/run/digests.hpp>

#include <fmt/format.h>

#include <algorithm>

#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/formats/sha256.hpp>

namespace xgrad {

template <class T>
DigestLog<T>::DigestLog(const Parameters<T>& parameters, const RunDirectory& run)
    : parameters_(parameters), run_(run) {
  restart();
}

template <class T>
void DigestLog<T>::on_step(const StepReport& report) {
  trace_.reset();
  for (const Parameter<T>& p : parameters_) add("updated " + p.name, p.value());
  std::string row = fmt::format("{{\"step\": {}", report.step);
  for (const auto& [place, digest] : digests_)
    row += fmt::format(", \"{}\": \"{}\"", place, digest);
  run_.folder().append(kDigests, row + "}");
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

std::string first_different_digest(const std::string& first, const std::string& second) {
  const Folder a(first), b(second);
  if (!a.holds(kDigests) || !b.holds(kDigests)) return "";
  Lines of_a(a.input(kDigests)), of_b(b.input(kDigests));
  for (std::string x, y; of_a.next(x) && of_b.next(y);) {
    if (x == y) continue;
    // `{"step": 12`, then for each tensor `"place": "digest"`.
    const std::size_t same =
        std::size_t(std::mismatch(x.begin(), x.end(), y.begin(), y.end()).first - x.begin());
    const std::size_t begin = x.rfind(", \"", same) + 3, end = x.find("\": ", begin);
    return fmt::format("step {}: {}", x.substr(9, x.find(',') - 9), x.substr(begin, end - begin));
  }
  return "";
}

#define XGRAD_INSTANTIATE(T) template class DigestLog<T>;
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
