// C4: a file is published whole or not at all, and a failure says which file and why.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <support/errors.hpp>
#include <support/temporary_directory.hpp>

#include <filesystem>
#include <future>

#include <xgrad/autograd/check.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/disk/publish.hpp>

namespace xgrad {
namespace {

using test::message_of;
using test::TemporaryDirectory;
using Names = std::vector<std::string>;

std::string refusal(const std::string& directory, const std::string& name,
                    std::string_view bytes = "x") {
  return message_of<IoError>([&] { publish(directory, name, bytes); });
}

/// A limit on the size of files, with the signal ignored as the program does it.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : before_handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, before_handler_);
  }

 private:
  rlimit before_;
  sighandler_t before_handler_;
};

/// Without root's power to write everywhere.
class AsNobody {
 public:
  AsNobody() : root_(::geteuid() == 0) { EXPECT_TRUE(!root_ || ::seteuid(65534) == 0); }
  ~AsNobody() { EXPECT_TRUE(!root_ || ::seteuid(0) == 0); }

 private:
  bool root_;
};

TEST(Publish, WritesEverySizeWhole) {
  const TemporaryDirectory directory;
  for (const std::size_t size : {0, 1, 511, 4096, (1 << 20) + 1, 5'000'000}) {
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = char(i * 2654435761u >> 24);
    const std::string name = std::to_string(size);
    publish(directory.path(), name, bytes);
    EXPECT_TRUE(read_file(directory / name) == bytes) << size << " bytes";
  }
  EXPECT_EQ(directory.names().size(), 6);
}

TEST(Publish, AtAPath) {
  const TemporaryDirectory directory;
  publish_file(directory / "a", "x");
  EXPECT_EQ(read_file(directory / "a"), "x");
  EXPECT_EQ(message_of<IoError>([&] { publish_file(directory / "a", "y"); }),
            directory / "a" + ": cannot create: File exists");
}

TEST(Publish, WhatItWouldRefuseIsRefusedEarly) {
  const TemporaryDirectory directory;
  const auto said = [&](const std::string& name) {
    return message_of<IoError>([&] { check_new(directory / name); });
  };
  EXPECT_EQ(said("a"), "none");
  directory.write("a", "");
  EXPECT_EQ(said("a"), directory / "a" + ": cannot create: File exists");
  std::filesystem::create_symlink("nowhere", directory / "link");
  EXPECT_EQ(said("link"), directory / "link" + ": cannot create: File exists");
  EXPECT_EQ(said("no/a"),
            directory / "no" + ": cannot open the directory: No such file or directory");
  EXPECT_EQ(said(std::string(256, 'a')),
            directory / std::string(256, 'a') + ": cannot create: File name too long");
}

TEST(Publish, FollowsTheUmask) {
  const TemporaryDirectory directory;
  const mode_t before = ::umask(027);
  publish(directory.path(), "a", "x");
  ::umask(before);
  struct stat status;
  ASSERT_EQ(::stat((directory / "a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640);
}

TEST(Publish, OverAnOlderFile) {
  const TemporaryDirectory directory;
  publish_over(directory.path(), "a", "first");
  publish_over(directory.path(), "a", "second");
  EXPECT_EQ(read_file(directory / "a"), "second");
  const std::string bytes(1 << 20, 'x');
  {
    const FileSizeLimit limit(1 << 16);
    EXPECT_THROW(publish_over(directory.path(), "a", bytes), IoError);
  }
  EXPECT_EQ(read_file(directory / "a"), "second");
  EXPECT_EQ(directory.names(), Names{"a"});
}

TEST(Publish, NeverReplaces) {
  const TemporaryDirectory directory;
  publish(directory.path(), "a", "first");
  EXPECT_EQ(refusal(directory.path(), "a", "second"),
            directory / "a" + ": cannot create: File exists");
  EXPECT_EQ(read_file(directory / "a"), "first");
  std::filesystem::create_symlink("nowhere", directory / "link");
  EXPECT_EQ(refusal(directory.path(), "link"), directory / "link" + ": cannot create: File exists");
  EXPECT_EQ(directory.names().size(), 2);
}

TEST(Publish, C4_FileSizeLimitLeavesNothing) {
  const TemporaryDirectory directory;
  const std::string bytes(100'000, 'x');
  for (std::size_t limit = 0; limit < bytes.size(); limit += 5'000) {
    std::string message;
    {
      const FileSizeLimit limited(limit);
      message = refusal(directory.path(), "a", bytes);
    }
    EXPECT_EQ(message, directory / "a" + ": cannot reserve space: File too large") << limit;
    EXPECT_EQ(directory.names(), Names{}) << limit;
  }
  const FileSizeLimit limited(bytes.size());
  publish(directory.path(), "a", bytes);
}

TEST(Publish, C4_UnwritableDirectory) {
  const TemporaryDirectory directory;
  std::filesystem::permissions(directory.path(), std::filesystem::perms(0555));
  const AsNobody nobody;
  EXPECT_EQ(refusal(directory.path(), "a"), directory / "a" + ": cannot create: Permission denied");
}

TEST(Publish, C4_MissingOrForeignDirectory) {
  const TemporaryDirectory directory;
  EXPECT_EQ(refusal(directory / "none", "a"),
            directory / "none" + ": cannot open the directory: No such file or directory");
  directory.write("file", "");
  EXPECT_EQ(refusal(directory / "file", "a"),
            directory / "file" + ": cannot open the directory: Not a directory");
}

#ifndef __SANITIZE_ADDRESS__  // UndefinedBehaviorSanitizer opens a pipe of its own
TEST(Publish, C4_TooManyOpenFiles) {
  const TemporaryDirectory directory;
  rlimit before;
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{0, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &none);
  const std::string message = refusal(directory.path(), "a");
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(message, directory.path() + ": cannot open the directory: Too many open files");
}
#endif

TEST(Publish, NameMustBeOne) {
  const TemporaryDirectory directory;
  for (const char* name : {"", "../a", "/tmp/a", "a/b"}) {
    EXPECT_NE(refusal(directory.path(), name).find("the name must not be empty or contain /"),
              std::string::npos)
        << name;
  }
  EXPECT_NE(refusal(directory.path(), std::string(300, 'a')).find("File name too long"),
            std::string::npos);
  EXPECT_EQ(directory.names(), Names{});
}

TEST(Publish, SweepsOnlyItsOwnTemporaries) {
  const TemporaryDirectory directory;
  const std::string left = directory.write(".step-0000000003.h5.123.0123456789abcdef.tmp", "");
  for (const char* name :
       {"a.tmp", ".a.tmp", ".a.12.0123456789abcdef.tm", ".hidden",
        "step-0000000003.h5.123.0123456789abcdef.tmp", ".a.x.0123456789abcdef.tmp"}) {
    directory.write(name, "");
  }
  EXPECT_EQ(sweep_temporaries(directory.path()), Names{left});
  EXPECT_EQ(directory.names().size(), 6);
  EXPECT_EQ(sweep_temporaries(directory.path()), Names{});
  EXPECT_NE(
      message_of<IoError>([&] { sweep_temporaries(directory / "none"); }).find("No such file"),
      std::string::npos);
}

TEST(Publish, TheNextWriterRemovesWhatAKilledOneLeft) {
  const TemporaryDirectory directory;
  const std::string temporary = ".a.123.0123456789abcdef.tmp";
  const std::string other = directory.write(".ab.123.0123456789abcdef.tmp", "of another file");
  for (const auto& write : {+[](const std::string& path) { publish_file(path, "x"); },
                            +[](const std::string& path) {
                              const auto [folder, name] = folder_and_name(path);
                              publish_over(folder, name, "y");
                            }}) {
    const std::string left = directory.write(temporary, "whole");
    write(directory / "a");
    EXPECT_FALSE(std::filesystem::exists(left));
    EXPECT_TRUE(std::filesystem::exists(other));
  }
  EXPECT_EQ(read_file(directory / "a"), "y");
}

TEST(Publish, TheNextWriterLeavesWhatALivingOneWrites) {
  const TemporaryDirectory directory;
  const std::string left = directory.write(".a.123.0123456789abcdef.tmp", "half");
  const int file = ::open(left.c_str(), O_WRONLY);
  ASSERT_EQ(::flock(file, LOCK_EX), 0);
  publish_over(directory.path(), "a", "x");
  EXPECT_EQ(read_file(left), "half");
  ::close(file);
  publish_over(directory.path(), "a", "y");
  EXPECT_EQ(directory.names(), Names{"a"});
}

/// Each removes temporary files of the same name, but never those of the others.
TEST(Publish, ManyWriteOneFileAtOnce) {
  const TemporaryDirectory directory;
  std::vector<std::future<void>> writers;
  for (int i = 0; i < 4; ++i) {
    writers.push_back(std::async(std::launch::async, [&, i] {
      for (int n = 0; n < 100; ++n) publish_over(directory.path(), "a", std::to_string(i));
    }));
  }
  for (auto& writer : writers) EXPECT_NO_THROW(writer.get());
  EXPECT_EQ(directory.names(), Names{"a"});
}

TEST(Publish, TwoMaySweepAtOnce) {
  const TemporaryDirectory directory;
  for (int i = 0; i < 2000; ++i) {
    directory.write(".a." + std::to_string(i) + ".0123456789abcdef.tmp", "");
  }
  std::vector<std::future<std::size_t>> removed;
  for (int i = 0; i < 4; ++i) {
    removed.push_back(
        std::async(std::launch::async, [&] { return sweep_temporaries(directory.path()).size(); }));
  }
  std::size_t total = 0;
  for (auto& count : removed) total += count.get();
  EXPECT_EQ(total, 2000);
  EXPECT_EQ(directory.names(), Names{});
}

TEST(DiskSpace, RoomThatThereIs) {
  const test::TemporaryDirectory directory;
  check_room(directory.path(), 1, "two checkpoints");
  check_room(directory / "runs/that/will/be", 1, "two checkpoints");
  check_room("runs", 1, "two checkpoints");
}

TEST(DiskSpace, TooLittleIsRefusedWithBothSizes) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "runs/new";
  const std::string message =
      test::message_of<IoError>([&] { check_room(path, std::size_t(1) << 60, "two checkpoints"); });
  EXPECT_TRUE(
      message.starts_with(path + ": two checkpoints need 1152921504606846976 bytes, but only "))
      << message;
  EXPECT_TRUE(message.ends_with(" are free")) << message;
}

}  // namespace
}  // namespace xgrad
