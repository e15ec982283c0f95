// Included before every mutated source: the switch of its mutants.
#pragma once

namespace xgrad_mutation {

/// The mutant that is active; `kRecord` records which ones are reached, `kNone` leaves all off.
extern int active;
inline constexpr int kRecord = -1, kNone = -2;

/// Notes that a mutant is reached; false.
[[gnu::cold, gnu::noinline]] bool reached(int mutant);

inline bool on(int mutant) {
  if (active == mutant) [[unlikely]]
    return true;
  return active == kRecord && reached(mutant);
}

}  // namespace xgrad_mutation
