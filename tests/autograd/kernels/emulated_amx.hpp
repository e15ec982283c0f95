// AMX for tests on processors that lack it.
#pragma once

namespace xgrad::test {

/// Lets this process run the instructions LDTILECFG, TILERELEASE, TILELOADD, TILESTORED, TILEZERO
/// and TDPBF16PS: natively where the processor and the system allow it. Elsewhere a handler of
/// SIGILL emulates them by the pseudo code of Intel's manual (Intel 64 and IA-32 Architectures
/// Software Developer's Manual, volume 2). It ends the process with a message where an instruction
/// would raise an exception.
void provide_amx();

/// Whether the calling thread holds emulated tiles, which a product must release.
bool holds_emulated_tiles();

}  // namespace xgrad::test
