// Encodes bytes as text.
#pragma once

#include <string>
#include <string_view>

namespace xgrad {

/// Encodes bytes as Base64 of RFC 4648, with padding.
std::string to_base64(std::string_view bytes);

}  // namespace xgrad
