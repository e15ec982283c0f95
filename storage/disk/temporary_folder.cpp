#include <xgrad/storage/disk/temporary_folder.hpp>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include <xgrad/storage/disk/descriptor.hpp>

namespace xgrad {

namespace fs = std::filesystem;

std::string temporary_place(const std::string& otherwise) {
  const char* named = std::getenv("TMPDIR");
  return named != nullptr && *named != '\0' ? named : otherwise;
}

TemporaryFolder::TemporaryFolder() : TemporaryFolder(temporary_place("/tmp")) {}

TemporaryFolder::TemporaryFolder(const std::string& above)
    : path_(above + "/xgrad-XXXXXX"), owner_(::getpid()) {
  if (::mkdtemp(path_.data()) != nullptr) return;
  const std::string why = std::generic_category().message(errno);
  detail::fail<IoError>(above, ": cannot create a temporary directory in it: ", why,
                        "; set TMPDIR to another folder");
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (::getpid() == owner_) fs::remove_all(path_, ignored);
}

}  // namespace xgrad
