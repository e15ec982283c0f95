// Formats durations and large numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace xgrad {

/// A duration, "1:02:03" or "4:05", without fractions of a second.
inline std::string clock(double seconds) {
  const auto s = std::uint64_t(std::clamp(seconds, 0.0, 3.6e8));
  const auto two_digits = [](std::uint64_t n) { return (n < 10 ? ":0" : ":") + std::to_string(n); };
  const std::string minutes =
      s < 3600 ? std::to_string(s / 60) : std::to_string(s / 3600) + two_digits(s / 60 % 60);
  return minutes + two_digits(s % 60);
}

/// A number with commas between thousands: "1,773,312".
inline std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

}  // namespace xgrad
