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

TEST(ChooseCpu, IsTheProcessorsOwnUnlessALowerOneIsAskedFor) {
  const Cpu all[] = {Cpu::baseline, Cpu::avx2, Cpu::avx512, Cpu::avx512_bf16};
  for (const Cpu best : all) {
    EXPECT_EQ(detail::choose_cpu(nullptr, best), best);
    EXPECT_EQ(detail::choose_cpu("", best), best);
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
  EXPECT_EQ(refusal("avx2", Cpu::baseline),
            "XGRAD_CPU is 'avx2', which this processor lacks; it must be one of baseline");
}

}  // namespace xgrad::test
