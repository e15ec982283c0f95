#include <xgrad/train/checkpoint/manifest.hpp>

#include <xgrad/storage/disk/lines.hpp>
#include <xgrad/storage/formats/sha256.hpp>

namespace xgrad {

namespace {

constexpr std::size_t kDigest = 64;
constexpr std::string_view kBetween = "  ";

}  // namespace

std::string manifest_line(const std::string& name, std::string_view bytes) {
  return to_hex(sha256(bytes)) + std::string(kBetween) + name;
}

void add_to_manifest(const Folder& directory, const std::string& name, const std::string& sha256) {
  directory.append(kManifest, sha256 + std::string(kBetween) + name);
  directory.sync(kManifest);
}

std::optional<std::pair<std::string, std::string>> parse_manifest_line(std::string_view line) {
  if (line.size() <= kDigest + kBetween.size() ||
      line.substr(kDigest, kBetween.size()) != kBetween ||
      line.find_first_not_of("0123456789abcdef") != kDigest) {
    return std::nullopt;
  }
  return std::pair(std::string(line.substr(kDigest + kBetween.size())),
                   std::string(line.substr(0, kDigest)));
}

std::map<std::string, std::string> read_manifest(const Folder& directory) {
  std::map<std::string, std::string> digests;
  if (!directory.holds(kManifest)) return digests;
  Lines lines(directory.input(kManifest));
  for (std::string line; lines.next(line);) {
    if (const auto entry = parse_manifest_line(line)) digests[entry->first] = entry->second;
  }
  return digests;
}

}  // namespace xgrad
