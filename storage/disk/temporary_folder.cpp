#include <xgrad/storage/disk/temporary_folder.hpp>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include <xgrad/storage/disk/descriptor.hpp>

namespace xgrad {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() : TemporaryFolder(fs::temp_directory_path().string()) {}

TemporaryFolder::TemporaryFolder(const std::string& above)
    : path_(above + "/xgrad-XXXXXX"), owner_(::getpid()) {
  if (::mkdtemp(path_.data()) == nullptr)
    detail::fail_io(above, "cannot create a temporary directory in it");
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (::getpid() == owner_) fs::remove_all(path_, ignored);
}

}  // namespace xgrad
