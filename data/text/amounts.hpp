// Amounts as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace xgrad {

/// A duration, "1:02:03" or "4:05"; fractions of a second are cut off.
std::string clock(double seconds);

/// A number with a comma between thousands: "1,773,312".
std::string grouped(std::uint64_t number);

}  // namespace xgrad
