// The manifest of a run's checkpoints: the digest and the name of each that the run has published,
// one a line, as `sha256sum --check --ignore-missing` reads them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <xgrad/storage/disk/folder.hpp>

namespace xgrad {

/// Its name in the directory of the checkpoints.
inline constexpr const char* kManifest = "manifest.sha256";

/// The line of a file that is about to be published. A run that dies in between has noted what is
/// not there, which is harmless; never the other way round.
std::string manifest_line(const std::string& name, std::string_view bytes);

/// Names and digests. Nothing where there is no manifest, as earlier versions left a run; lines
/// that are none are passed over, as a line in which a power failure left zeros. Throws IoError.
std::optional<std::map<std::string, std::string>> read_manifest(const Folder& directory);

}  // namespace xgrad
