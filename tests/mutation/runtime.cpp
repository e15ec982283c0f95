// XGRAD_MUTANT is the number of the active mutant, or "record": then the mutants that every test
// reaches are written to the file XGRAD_MUTATION_RECORD, a JSON object a line.
#include "runtime.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

namespace xgrad_mutation {

int active = kNone;

namespace {

constexpr int kMost = 1 << 17;
std::atomic<bool> seen[kMost];

void write(const std::string& test, bool passed, double seconds) {
  std::string line = "{\"test\": \"" + test + "\", \"passed\": " + (passed ? "true" : "false") +
                     ", \"seconds\": " + std::to_string(seconds) + ", \"mutants\": [";
  const char* separator = "";
  for (int i = 0; i < kMost; ++i) {
    if (!seen[i].exchange(false)) continue;
    line += separator + std::to_string(i);
    separator = ", ";
  }
  line += "]}\n";
  std::FILE* file = std::fopen(std::getenv("XGRAD_MUTATION_RECORD"), "a");
  std::fwrite(line.data(), 1, line.size(), file);
  std::fclose(file);
}

double cpu_seconds() {
  std::timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

struct Listener : testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override { start = cpu_seconds(); }
  void OnTestEnd(const testing::TestInfo& test) override {
    write(std::string(test.test_suite_name()) + "." + test.name(), test.result()->Passed(),
          cpu_seconds() - start);
  }
  double start = 0;
};

[[gnu::constructor(101)]] void choose() {
  const char* text = std::getenv("XGRAD_MUTANT");
  if (text) active = std::string(text) == "record" ? kRecord : std::atoi(text);
}

[[gnu::constructor(65535)]] void listen() {
  if (active == kRecord) testing::UnitTest::GetInstance()->listeners().Append(new Listener);
}

}  // namespace

bool reached(int mutant) {
  seen[mutant].store(true, std::memory_order_relaxed);
  return false;
}

}  // namespace xgrad_mutation
