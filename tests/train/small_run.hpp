// Small runs to test with.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <xgrad/train/config/config.hpp>

namespace xgrad::test {

/// Twelve steps at reversing four digits, validated at every fourth.
Config small_config(const std::vector<std::string>& overrides = {});

/// Half of that, from a seed and, unless it is empty, from the weights in a file.
Config small_config(std::uint64_t seed, const std::string& init_from);

/// Stops a run after its first step, calls `meanwhile`, and continues it from the bytes of its
/// checkpoint alone. Expects the bits of a run that was not stopped. That holds whatever
/// `meanwhile` does.
void expect_the_same_bits_after_a_stop(
    const Config& config, const std::function<void()>& meanwhile = [] {});

}  // namespace xgrad::test
