// Finds the name that a user may have meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace xgrad {

/// The number of letters to insert, delete, replace or swap with their neighbour to turn one name
/// into the other (Damerau and Levenshtein, optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidates sorted by similarity to `name`, most similar first; ties keep their order.
std::vector<std::string> nearest_first(std::string_view name, std::vector<std::string> candidates);

/// The candidate most similar to `name`; empty when none is similar enough.
std::string nearest(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace xgrad
