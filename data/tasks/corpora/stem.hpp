// Stem: what the inflected forms of an English word have in common.
#pragma once

#include <string>

namespace xgrad {

/// The word without the endings of inflection and of common derivation, a doubled consonant single,
/// a final e or y gone: abandon of abandon, abandons, abandoned, abandoning, abandonment.
///
/// It serves to keep forms of a word together, so it rather joins two words than part one.
/// Requires: small letters.
std::string stem(std::string word);

}  // namespace xgrad
