#include <gtest/gtest.h>
#include <support/errors.hpp>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/kernels/cpu.hpp>

namespace xgrad::test {

namespace {

std::string refusal(const char* name, Cpu best) {
  return test::message_of<ConfigError>([&] { detail::choose_cpu(name, best); });
}

}  // namespace

TEST(ChooseCpu, IsTheProcessorsOwnUnlessAnotherIsAskedFor) {
  const Cpu all[] = {Cpu::baseline, Cpu::avx2, Cpu::avx512, Cpu::avx512_bf16, Cpu::amx};
  for (const Cpu best : all) {
    const Cpu own = best == Cpu::amx ? Cpu::avx512_bf16 : best;  // amx only on request
    EXPECT_EQ(detail::choose_cpu(nullptr, best), own);
    EXPECT_EQ(detail::choose_cpu("", best), own);
    for (const Cpu asked : all) {
      if (asked > best) continue;
      EXPECT_EQ(detail::choose_cpu(cpu_name(asked), best), asked);
    }
  }
}

TEST(ChooseCpu, RefusesWhatIsNoClassAndWhatTheProcessorLacks) {
  EXPECT_EQ(refusal("sse9", Cpu::avx512),
            "XGRAD_CPU is 'sse9'; it must be one of baseline, avx2, avx512");
  EXPECT_EQ(refusal("AVX2", Cpu::avx2), "XGRAD_CPU is 'AVX2'; it must be one of baseline, avx2");
  EXPECT_EQ(refusal("avx512", Cpu::avx2),
            "XGRAD_CPU is 'avx512', which this processor lacks; it must be one of baseline, avx2");
  EXPECT_EQ(refusal("avx512_bf16", Cpu::avx512),
            "XGRAD_CPU is 'avx512_bf16', which this processor lacks; it must be one of baseline, "
            "avx2, avx512");
  EXPECT_EQ(refusal("amx", Cpu::avx512_bf16),
            "XGRAD_CPU is 'amx', which this processor lacks; it must be one of baseline, avx2, "
            "avx512, avx512_bf16");
  EXPECT_EQ(refusal("sse9", Cpu::amx),
            "XGRAD_CPU is 'sse9'; it must be one of baseline, avx2, avx512, avx512_bf16, amx");
  EXPECT_EQ(refusal("avx2", Cpu::baseline),
            "XGRAD_CPU is 'avx2', which this processor lacks; it must be one of baseline");
}

}  // namespace xgrad::test
