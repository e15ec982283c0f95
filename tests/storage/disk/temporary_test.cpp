#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <support/errors.hpp>
#include <support/temporary_directory.hpp>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include <xgrad/autograd/check.hpp>
#include <xgrad/storage/disk/temporary.hpp>

namespace xgrad {
namespace {

TEST(TemporaryFolder, GoesWithWhatIsInIt) {
  std::optional<TemporaryFolder> outer(std::in_place);
  const std::string path = outer->path();
  std::ofstream(*outer / "file") << "x";
  {
    TemporaryFolder kept(path), inner(path);
    EXPECT_NE(inner.path(), kept.path());
    EXPECT_TRUE(inner.path().starts_with(path + "/"));
    kept.keep();
  }
  const auto left = std::filesystem::directory_iterator(path);
  EXPECT_EQ(std::distance(begin(left), end(left)), 2);  // the file, and what is kept
  outer.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_THROW(TemporaryFolder(path + "/none"), IoError);
}

TEST(TemporaryFolder, SaysWhichFolderIsMissing) {
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before != nullptr ? before : "";
  ::setenv("TMPDIR", "/none", 1);
  EXPECT_EQ(test::message_of<IoError>([] { TemporaryFolder(); }),
            "/none: cannot create a temporary directory in it: No such file or directory; set "
            "TMPDIR to another folder");
  before != nullptr ? ::setenv("TMPDIR", kept.c_str(), 1) : ::unsetenv("TMPDIR");
}

TEST(TemporaryFolder, AChildLeavesIt) {
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    folder.~TemporaryFolder();
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(std::filesystem::exists(folder.path()));
}

using test::message_of;

constexpr std::size_t kMany = 2 * Scratch::kMostInMemory + 12345;

/// A folder for temporary files while it lives.
struct TemporaryPlace : test::TemporaryDirectory {
  TemporaryPlace() : before(std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "") {
    ::setenv("TMPDIR", path().c_str(), 1);
  }
  ~TemporaryPlace() {
    before.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before.c_str(), 1);
  }
  std::string before;
};

std::string bytes_of(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = char(i * i % 251);
  return bytes;
}

std::unique_ptr<Scratch> scratch_of(const std::string& bytes, std::size_t part) {
  auto scratch = std::make_unique<Scratch>();
  for (std::size_t at = 0; at < bytes.size(); at += part) {
    scratch->append(bytes.data() + at, std::min(part, bytes.size() - at));
  }
  scratch->finish();
  return scratch;
}

std::string all_of(const Scratch& scratch) {
  return std::string(scratch.data(), scratch.size());
}

/// The files without a name in a folder that this process maps.
std::size_t mapped_in(const std::string& folder) {
  std::size_t count = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    count += line.find(folder) != line.npos && line.ends_with("(deleted)");
  }
  return count;
}

TEST(Scratch, AFewBytesAreInMemoryAndManyInAFileWithoutAName) {
  const TemporaryPlace folder;
  for (const std::size_t size : {std::size_t(0), std::size_t(5), kMany}) {
    const std::string bytes = bytes_of(size);
    for (const std::size_t part : {std::size_t(1000003), std::size_t(1) << 24}) {
      const auto scratch = scratch_of(bytes, part);
      EXPECT_EQ(scratch->size(), size);
      EXPECT_TRUE(all_of(*scratch) == bytes);
      EXPECT_EQ(mapped_in(folder.path()), size == kMany ? 1u : 0u);
      EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
    }
    EXPECT_EQ(mapped_in(folder.path()), 0u);
  }
}

TEST(Scratch, OthersMapTheSameFile) {
  const TemporaryPlace folder;
  for (const std::size_t size : {std::size_t(0), std::size_t(5), kMany}) {
    const std::string bytes = bytes_of(size);
    auto scratch = scratch_of(bytes, 1 << 20);
    const Scratch other(scratch->share());
    EXPECT_TRUE(all_of(*scratch) == bytes);
    EXPECT_TRUE(all_of(other) == bytes);
    EXPECT_EQ(mapped_in(folder.path()), size == 0 ? 0u : 2u);
    scratch.reset();
    EXPECT_TRUE(all_of(other) == bytes);
  }
}

TEST(Scratch, AFileOfAnotherSizeIsRefused) {
  const TemporaryPlace folder;
  const auto scratch = scratch_of(bytes_of(100), 100);
  const std::string shared = scratch->share(), path = shared.substr(0, shared.find(' '));
  ASSERT_EQ(::truncate(path.c_str(), 99), 0);
  EXPECT_EQ(message_of<IoError>([&] { Scratch{shared}; }), path + ": has 99 bytes, expected 100");
  EXPECT_EQ(message_of<IoError>([&] { Scratch("/proc/self/fd/999 5"); }),
            "/proc/self/fd/999: cannot open: No such file or directory");
}

TEST(Scratch, AFolderThatDoesNotTakeItIsNamed) {
  const TemporaryPlace folder;
  const std::string advice = "; set TMPDIR to a folder with room for a copy of the data";
  const std::string bytes = bytes_of(kMany);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit little{1 << 20, before.rlim_max};  // as a full disk
  ::setrlimit(RLIMIT_FSIZE, &little);
  const std::string full = message_of<IoError>([&] { scratch_of(bytes, 1 << 20); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(full, folder.path() + ": cannot write a temporary file in it: File too large" + advice);
  ::setenv("TMPDIR", "/nonexistent", 1);
  EXPECT_EQ(
      message_of<IoError>([&] { scratch_of(bytes, 1 << 20); }),
      "/nonexistent: cannot create a temporary file in it: No such file or directory" + advice);
  EXPECT_TRUE(all_of(*scratch_of("few", 3)) == "few");
}

}  // namespace
}  // namespace xgrad
