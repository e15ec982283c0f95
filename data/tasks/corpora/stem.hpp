// Stem: the common part of the inflected forms of an English word.
#pragma once

#include <string>

namespace xgrad {

/// Returns the word without endings of inflection and common derivation, with a doubled consonant
/// made single and a final e or y removed: "abandon" for abandon, abandons, abandoned, abandoning,
/// abandonment.
///
/// Used to keep the forms of a word in one split. When in doubt, it joins two words rather than
/// separate forms of one. Requires: lower-case letters.
std::string stem(std::string word);

}  // namespace xgrad
