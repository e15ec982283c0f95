// The manifest of a run: digest and name of each checkpoint that the run published, and of the
// certificate of its gradients, one per line, as `sha256sum --check --ignore-missing` reads them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <xgrad/storage/disk/folder.hpp>

namespace xgrad {

/// File name of the manifest, in the directory of the checkpoints.
inline constexpr const char* kManifest = "manifest.sha256";

/// File name of the certificate of a run's gradients, in the run's directory.
inline constexpr const char* kCertificate = "gradcheck.json";
/// The name by which the manifest lists it.
inline constexpr const char* kListedCertificate = "../gradcheck.json";

/// Returns the line of a file.
std::string manifest_line(const std::string& name, std::string_view bytes);
/// Appends the line of a file with this SHA-256 to the manifest and syncs it. Call it before
/// publishing the file: if the run dies in between, the manifest lists a file that does not exist,
/// which is harmless; an unlisted file would not be. Throws IoError.
void add_to_manifest(const Folder& directory, const std::string& name, const std::string& sha256);

/// Parses a line, without its line feed, into name and digest; nothing for any other text.
std::optional<std::pair<std::string, std::string>> parse_manifest_line(std::string_view line);

/// Reads the digest of each name; none if there is no manifest. Skips malformed lines, such as
/// zeros after a power failure. Throws IoError.
std::map<std::string, std::string> read_manifest(const Folder& directory);

}  // namespace xgrad
