#include "autograd/kernels/emulated_amx.hpp"

#if defined(__x86_64__)

#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace xgrad::test {
namespace {

// A tile register; what lies outside its rows and columns is 0.
struct Tile {
  unsigned rows = 0, row_bytes = 0;
  alignas(64) std::uint8_t bytes[16][64] = {};
};

// The tiles of a thread; without rows where they are not configured.
thread_local Tile tiles[8];

[[noreturn]] void refuse(const char* reason) {
  const auto say = [](const char* text) { return write(STDERR_FILENO, text, std::strlen(text)); };
  if (say("emulated AMX: ") < 0 || say(reason) < 0 || say("\n") < 0) std::abort();
  std::abort();
}

void require(bool condition, const char* reason) {
  if (!condition) refuse(reason);
}

void release() {
  for (Tile& tile : tiles) tile = {};
}

void configure(const std::uint8_t* config) {
  require(config[0] == 1 && config[1] == 0, "LDTILECFG has another palette or a start row");
  for (int i = 2; i < 16; ++i) require(config[i] == 0, "LDTILECFG has reserved bytes");
  for (int i = 32; i < 48; ++i) require(config[i] == 0, "LDTILECFG configures tile 8 or above");
  for (int i = 56; i < 64; ++i) require(config[i] == 0, "LDTILECFG configures tile 8 or above");
  release();
  for (int i = 0; i < 8; ++i) {
    tiles[i].row_bytes = config[16 + 2 * i] | unsigned(config[17 + 2 * i]) << 8;
    tiles[i].rows = config[48 + i];
    require(tiles[i].rows <= 16 && tiles[i].row_bytes <= 64, "LDTILECFG makes a tile too large");
    require((tiles[i].rows == 0) == (tiles[i].row_bytes == 0), "LDTILECFG makes half a tile");
  }
}

Tile& configured(unsigned index) {
  require(index < 8 && tiles[index].rows != 0, "a tile is not configured");
  require(tiles[index].row_bytes % 4 == 0, "a tile's rows are no whole words");
  return tiles[index];
}

// Subnormal numbers count as 0, in operands and in results.
float flushed(float x) {
  return std::fabs(x) < FLT_MIN ? std::copysign(0.0f, x) : x;
}

float number(const std::uint8_t* bf16) {
  const std::uint32_t bits = std::uint32_t(bf16[0]) << 16 | std::uint32_t(bf16[1]) << 24;
  return flushed(__builtin_bit_cast(float, bits));
}

void multiply(Tile& c, const Tile& a, const Tile& b) {
  require(&c != &a && &c != &b && &a != &b, "TDPBF16PS names a tile twice");
  require(a.rows == c.rows && b.row_bytes == c.row_bytes && a.row_bytes / 4 == b.rows,
          "TDPBF16PS has tiles that do not fit");
  float right[16][2][16];  // in each row of B, the first and the second numbers of the pairs
  for (unsigned i = 0; i < 16 * 32; ++i)
    right[i / 32][i % 2][i % 32 / 2] = number(b.bytes[i / 32] + i % 32 * 2);
  for (unsigned m = 0; m < c.rows; ++m) {
    float sums[2][16] = {}, old[16];
    for (unsigned k = 0; k < b.rows; ++k) {
      for (unsigned half = 0; half < 2; ++half) {
        const float left = number(a.bytes[m] + 4 * k + 2 * half);
#pragma omp simd
        for (unsigned n = 0; n < 16; ++n)
          sums[half][n] = flushed(std::fma(left, right[k][half][n], sums[half][n]));
      }
    }
    std::memcpy(old, c.bytes[m], c.row_bytes);
    for (unsigned n = 0; n < c.row_bytes / 4; ++n)
      old[n] = flushed(flushed(old[n]) + flushed(sums[0][n] + sums[1][n]));
    std::memcpy(c.bytes[m], old, c.row_bytes);
  }
}

void load(Tile& tile, const std::uint8_t* from, std::int64_t stride) {
  std::memset(tile.bytes, 0, sizeof tile.bytes);
  for (unsigned i = 0; i < tile.rows; ++i)
    std::memcpy(tile.bytes[i], from + i * stride, tile.row_bytes);
}

void store(const Tile& tile, std::uint8_t* to, std::int64_t stride) {
  for (unsigned i = 0; i < tile.rows; ++i)
    std::memcpy(to + i * stride, tile.bytes[i], tile.row_bytes);
}

// The registers of the interrupted thread in the order of their numbers in instructions.
std::int64_t general_register(const ucontext_t& context, unsigned number) {
  constexpr int kNames[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                            REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  return context.uc_mcontext.gregs[kNames[number]];
}

// An instruction with a prefix VEX of three bytes.
struct Instruction {
  enum Prefix : unsigned { none = 0, f3 = 2, f2 = 3 };

  bool valid;  // has such a prefix, of the map 0F 38, with 128 bits and W = 0
  unsigned prefix = 0, opcode = 0, mode = 0, reg = 0, rm = 0, vvvv = 0;
  std::size_t size = 0;
  std::uint8_t* memory = nullptr;  // the operand, where mode is not 3
  std::int64_t stride = 0;         // the index register

  explicit Instruction(const ucontext_t& context) {
    const auto* at = reinterpret_cast<const std::uint8_t*>(context.uc_mcontext.gregs[REG_RIP]);
    valid = at[0] == 0xC4 && (at[1] & 0x1F) == 2 && (at[2] & 0x84) == 0;
    if (!valid) return;
    prefix = at[2] & 3, vvvv = ~at[2] >> 3 & 15, opcode = at[3];
    mode = at[4] >> 6, reg = (at[4] >> 3 & 7) | (~at[1] >> 7 & 1) << 3;
    rm = (at[4] & 7) | (~at[1] >> 5 & 1) << 3;
    size = 5;
    if (mode != 3) read_operand(context, at);
  }

 private:
  void read_operand(const ucontext_t& context, const std::uint8_t* at) {
    const bool sib = rm % 8 == 4;
    unsigned base = rm;
    if (sib) {
      const unsigned index = (at[5] >> 3 & 7) | (~at[1] >> 6 & 1) << 3;
      base = (at[5] & 7) | (rm & 8);
      if (index != 4) stride = general_register(context, index) << (at[5] >> 6);
      size = 6;
    }
    const bool no_base = mode == 0 && base % 8 == 5;  // RIP without SIB
    std::int32_t displacement = 0;
    if (mode == 1) displacement = std::int8_t(at[size]);
    if (mode == 2 || no_base) std::memcpy(&displacement, at + size, 4);
    size += mode == 1 ? 1 : mode == 2 || no_base ? 4 : 0;
    std::int64_t address = displacement;
    if (!no_base) address += general_register(context, base);
    if (no_base && !sib) address += context.uc_mcontext.gregs[REG_RIP] + std::int64_t(size);
    memory = reinterpret_cast<std::uint8_t*>(address);
  }
};

// Whether it was one of AMX.
bool emulate(const Instruction& x) {
  const bool memory = x.mode != 3;
  if (x.opcode == 0x49 && x.prefix == Instruction::none && memory) {
    configure(x.memory + x.stride);
  } else if (x.opcode == 0x49 && x.prefix == Instruction::none && x.reg == 0 && x.rm == 0) {
    release();
  } else if (x.opcode == 0x49 && x.prefix == Instruction::f2 && !memory) {
    std::memset(configured(x.reg).bytes, 0, sizeof(Tile::bytes));
  } else if (x.opcode == 0x4B && x.prefix == Instruction::f2 && memory) {
    load(configured(x.reg), x.memory, x.stride);
  } else if (x.opcode == 0x4B && x.prefix == Instruction::f3 && memory) {
    store(configured(x.reg), x.memory, x.stride);
  } else if (x.opcode == 0x5C && x.prefix == Instruction::f3 && !memory) {
    multiply(configured(x.reg), configured(x.rm), configured(x.vvvv));
  } else {
    return false;
  }
  return true;
}

void handle(int signal, siginfo_t*, void* data) {
  auto& context = *static_cast<ucontext_t*>(data);
  bool emulated = false;
  while (true) {  // also what follows it, as a signal costs more than an instruction
    const Instruction instruction(context);
    if (!instruction.valid || !emulate(instruction)) break;
    context.uc_mcontext.gregs[REG_RIP] += std::int64_t(instruction.size);
    emulated = true;
  }
  if (!emulated) ::signal(signal, SIG_DFL);  // the instruction faults again
}

}  // namespace

void provide_amx() {
  constexpr int kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM of asm/prctl.h
  static const bool native = syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  if (native) return;
  struct sigaction action = {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGILL, &action, nullptr);
}

bool holds_emulated_tiles() {
  for (const Tile& tile : tiles) {
    if (tile.rows != 0) return true;
  }
  return false;
}

}  // namespace xgrad::test

#else

namespace xgrad::test {

void provide_amx() {}

bool holds_emulated_tiles() {
  return false;
}

}  // namespace xgrad::test

#endif
