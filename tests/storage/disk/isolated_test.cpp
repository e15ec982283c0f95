#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <new>

#include <xgrad/autograd/check.hpp>
#include <xgrad/storage/disk/isolated.hpp>

namespace xgrad {
namespace {

constexpr IsolatedLimits kLimits{.memory = 64 << 20, .result = 1 << 20, .seconds = 20};
const std::string kEnded = "is damaged or malicious: the process that read it ";
const std::string kUnread = "could not be read: the process that read it ";

std::string refusal(const std::function<std::string()>& work,
                    const IsolatedLimits& limits = kLimits) {
  const Isolated result = run_isolated(work, limits);
  EXPECT_FALSE(result.done);
  return result.text;
}

std::string forever() {
  const volatile bool ready = false;
  while (!ready) {
  }
  return "";
}

TEST(Isolated, GivesWhatTheWorkReturns) {
  for (const std::size_t size : {0, 1, 70'000, 1 << 20}) {
    const Isolated result = run_isolated([&] { return std::string(size, 'x'); }, kLimits);
    EXPECT_TRUE(result.done);
    EXPECT_EQ(result.text, std::string(size, 'x'));
  }
}

TEST(Isolated, ChangesNothingHere) {
  int calls = 0;
  EXPECT_EQ(run_isolated([&] { return std::to_string(++calls); }, kLimits).text, "1");
  EXPECT_EQ(calls, 0);
}

TEST(Isolated, GivesWhatTheWorkThrows) {
  EXPECT_EQ(refusal([]() -> std::string { throw DataError("row 3 is odd"); }), "row 3 is odd");
  EXPECT_EQ(refusal([]() -> std::string { throw std::bad_alloc(); }),
            "needs more memory than reading it should");
}

TEST(Isolated, OpensNothing) {
  EXPECT_EQ(run_isolated(
                [] {
                  const int fd = ::openat(AT_FDCWD, "/etc/hostname", O_RDONLY);
                  return fd < 0 && errno == EACCES ? "refused" : "opened";
                },
                kLimits)
                .text,
            "refused");
}

TEST(Isolated, WhatElseItAsksOfTheSystemEndsIt) {
  const std::string asked = kEnded + "made a system call that reading does not need";
  EXPECT_EQ(refusal([] { return std::to_string(::socket(AF_INET, SOCK_STREAM, 0)); }), asked);
  EXPECT_EQ(refusal([] { return std::to_string(::fork()); }), asked);
  EXPECT_EQ(refusal([] { return std::to_string(::kill(::getppid(), SIGKILL)); }), asked);
  EXPECT_EQ(refusal([] { return std::to_string(::unlink("/etc/hostname")); }), asked);
}

TEST(Isolated, HasNoDescriptorOfOurs) {
  int ours[2];
  ASSERT_EQ(::pipe(ours), 0);
  EXPECT_EQ(run_isolated([&] { return std::to_string(::write(ours[1], "x", 1)); }, kLimits).text,
            "-1");
  ::close(ours[0]);
  ::close(ours[1]);
}

TEST(Isolated, ACrashHarmsNobody) {
  const auto crash = []() -> std::string {
    return std::to_string(*reinterpret_cast<volatile char*>(std::size_t(4096)));
  };
  EXPECT_EQ(refusal(crash), kEnded + "crashed: Segmentation fault");
  EXPECT_EQ(refusal([]() -> std::string { ::_exit(0); }), kEnded + "gave no answer");
}

TEST(Isolated, Limits) {
  EXPECT_EQ(refusal([] { return std::string(std::size_t(3) << 20, 'x'); }),
            kEnded + "gave more than the file can hold");
  EXPECT_EQ(refusal(forever, {.memory = 64 << 20, .result = 1, .seconds = 1}),
            kUnread + "took longer than 1 s");
  const std::string greedy =
      refusal([] { return std::to_string(std::string(std::size_t(1) << 33, 'x').size()); });
  // A sanitizer would print a report, and may not.
  EXPECT_TRUE(greedy == "needs more memory than reading it should" || greedy.starts_with(kEnded));
}

/// Sends a signal to the first process that its own parent starts besides it.
pid_t signal_the_next_child(int signal) {
  const pid_t killer = ::fork();
  if (killer != 0) return killer;
  const std::string parent = std::to_string(::getppid());
  const std::string list = "/proc/" + parent + "/task/" + parent + "/children";
  for (int tries = 0; tries < 20'000; ++tries, ::usleep(1000)) {
    std::ifstream children(list);
    for (pid_t child = 0; children >> child;) {
      if (child != ::getpid()) ::_exit(::kill(child, signal) == 0 ? 0 : 1);
    }
  }
  ::_exit(1);
}

// As the system does when memory runs out: the file is not to blame.
TEST(Isolated, WhoIsKilledSaysSo) {
  const pid_t killer = signal_the_next_child(SIGKILL);
  const std::string text = refusal(forever);
  int status = -1;
  ::waitpid(killer, &status, 0);
  ASSERT_EQ(status, 0);
  EXPECT_TRUE(text.starts_with(kUnread + "was killed (SIGKILL) while it held ")) << text;
  EXPECT_TRUE(text.ends_with(" MiB; the system does so when memory runs out")) << text;
}

/// Whether `holds` does in a process without rights whose own limit is lower.
bool holds_within(int what, rlim_t most, const std::function<bool()>& holds) {
  const pid_t child = ::fork();
  if (child == 0) try {
      const rlimit both{most, most};
      const bool ready = ::setrlimit(what, &both) == 0 && (::getuid() != 0 || ::setuid(65534) == 0);
      ::_exit(ready && holds() ? 0 : 1);
    } catch (const std::exception&) {
      ::_exit(1);
    }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status == 0;
}

rlim_t address_space() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * rlim_t(::sysconf(_SC_PAGESIZE));
}

// That of whoever started the program.
TEST(Isolated, ALowerLimitStays) {
  const IsolatedLimits limits{.memory = std::size_t(1) << 31, .result = 1 << 20, .seconds = 20};
  const auto reads = [&] {
    return run_isolated([] { return std::string("done"); }, limits).text == "done";
  };
  const auto needs = [&](std::size_t bytes) {
    return run_isolated([&] { return std::to_string(std::string(bytes, 'x').size()); }, limits);
  };
  const rlim_t memory = address_space() + (rlim_t(256) << 20);
  EXPECT_TRUE(holds_within(RLIMIT_AS, memory, reads));
  EXPECT_TRUE(holds_within(RLIMIT_AS, memory, [&] {
    const Isolated result = needs(1 << 30);  // of a sanitizer a crash
    return result.text == "needs more memory than the limit of this process leaves" ||
           (!result.done && result.text.starts_with(kEnded));
  }));
  EXPECT_TRUE(needs(1 << 30).done) << "as it is without";
  EXPECT_TRUE(holds_within(RLIMIT_CPU, 1, [&] {
    return reads() && run_isolated(forever, limits).text == kUnread + "took longer than 1 s";
  }));
}

}  // namespace
}  // namespace xgrad
