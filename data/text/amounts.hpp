// Formats durations and large numbers.
#pragma once

#include <cstdint>
#include <string>

namespace xgrad {

/// A duration, "1:02:03" or "4:05", without fractions of a second.
std::string clock(double seconds);

/// A number with commas between thousands: "1,773,312".
std::string grouped(std::uint64_t number);

}  // namespace xgrad
