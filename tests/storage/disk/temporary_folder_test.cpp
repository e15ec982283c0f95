#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <support/errors.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include <xgrad/autograd/check.hpp>
#include <xgrad/storage/disk/temporary_folder.hpp>

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

}  // namespace
}  // namespace xgrad
