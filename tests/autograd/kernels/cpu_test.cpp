#include <gtest/gtest.h>
#include <support/errors.hpp>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/kernels/cpu.hpp>

namespace xgrad::test {

namespace {

std::string refusal(const char* name, Cpu best) {
  return test::message_of<ConfigError>([&] { detail::named_cpu(name, best); });
}

// The lowest class is called after the family of the processor.
std::string one_of(const std::string& others) {
  return "; it must be one of " + std::string(cpu_name(Cpu::baseline)) + others;
}

}  // namespace

TEST(DefaultCpu, IsTheBestThatIsFast) {
  for (const bool intel : {false, true}) {
    for (const bool permitted : {false, true}) {
      for (const Cpu best : {Cpu::baseline, Cpu::avx2, Cpu::avx512})
        EXPECT_EQ(detail::default_cpu(best, intel, permitted), best);
      EXPECT_EQ(detail::default_cpu(Cpu::avx512_bf16, intel, permitted),
                intel ? Cpu::avx512 : Cpu::avx512_bf16);
    }
    EXPECT_EQ(detail::default_cpu(Cpu::amx, intel, true), Cpu::amx);
  }
  EXPECT_EQ(detail::default_cpu(Cpu::amx, true, false), Cpu::avx512);
}

TEST(NamedCpu, IsAnyThatTheProcessorHas) {
  const Cpu all[] = {Cpu::baseline, Cpu::avx2, Cpu::avx512, Cpu::avx512_bf16, Cpu::amx};
  for (const Cpu best : all) {
    for (const Cpu asked : all) {
      if (asked > best) continue;
      EXPECT_EQ(detail::named_cpu(cpu_name(asked), best), asked);
    }
  }
}

TEST(NamedCpu, RefusesWhatIsNoClassAndWhatTheProcessorLacks) {
  const std::string lacks = ", which this processor lacks";
  EXPECT_EQ(refusal("sse9", Cpu::avx512), "XGRAD_CPU is 'sse9'" + one_of(", avx2, avx512"));
  EXPECT_EQ(refusal("AVX2", Cpu::avx2), "XGRAD_CPU is 'AVX2'" + one_of(", avx2"));
  EXPECT_EQ(refusal("avx512", Cpu::avx2), "XGRAD_CPU is 'avx512'" + lacks + one_of(", avx2"));
  EXPECT_EQ(refusal("avx512_bf16", Cpu::avx512),
            "XGRAD_CPU is 'avx512_bf16'" + lacks + one_of(", avx2, avx512"));
  EXPECT_EQ(refusal("amx", Cpu::avx512_bf16),
            "XGRAD_CPU is 'amx'" + lacks + one_of(", avx2, avx512, avx512_bf16"));
  EXPECT_EQ(refusal("sse9", Cpu::amx),
            "XGRAD_CPU is 'sse9'" + one_of(", avx2, avx512, avx512_bf16, amx"));
  EXPECT_EQ(refusal("avx2", Cpu::baseline), "XGRAD_CPU is 'avx2'" + lacks + one_of(""));
}

}  // namespace xgrad::test
