#include <xgrad/train/checkpoint/manifest.hpp>

#include <xgrad/storage/formats/sha256.hpp>

namespace xgrad {

namespace {

constexpr std::size_t kDigest = 64;
constexpr std::string_view kBetween = "  ";

}  // namespace

std::string manifest_line(const std::string& name, std::string_view bytes) {
  return to_hex(sha256(bytes)) + std::string(kBetween) + name;
}

std::optional<std::map<std::string, std::string>> read_manifest(const Folder& directory) {
  if (!directory.holds(kManifest)) return std::nullopt;
  const std::string text = directory.read(kManifest);
  std::map<std::string, std::string> digests;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.size() <= kDigest + kBetween.size()) continue;
    if (line.compare(kDigest, kBetween.size(), kBetween) != 0) continue;
    if (line.find_first_not_of("0123456789abcdef") != kDigest) continue;
    digests[line.substr(kDigest + kBetween.size())] = line.substr(0, kDigest);
  }
  return digests;
}

}  // namespace xgrad
