#include <xgrad/train/checkpoint/find_run.hpp>

#include <filesystem>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/excerpt.hpp>

namespace xgrad {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostOfPath = 1000;  // maximum bytes of a path in a message

}  // namespace

fs::file_status status_of(const fs::path& path) {
  std::error_code why;
  const fs::file_status status = fs::status(path, why);
  check<IoError>(status.type() != fs::file_type::none, clipped(path.string(), kMostOfPath), ": ",
                 why.message());
  return status;
}

void check_is_run(const Folder& folder) {
  check<IoError>(folder.holds("config.toml"), folder.path(),
                 " is not a run directory: it holds no config.toml");
}

FoundRun find_run(const std::string& path, const std::vector<std::string>& overrides,
                  PassOver which) {
  FoundRun source;
  const auto take = [&](SavedCheckpoint saved) {
    source.file = saved.file;
    source.checkpoint = std::move(saved);
  };
  const fs::file_status status = status_of(path);
  if (fs::is_directory(status)) {
    const Folder folder(path);
    check_is_run(folder);
    source.directory = path;
    take(latest_checkpoint({folder, "checkpoints"}, which));
  } else {
    check<IoError>(fs::exists(status), clipped(path, kMostOfPath),
                   ": no such run directory or checkpoint");
    take(load_checkpoint(path));
    const fs::path folder = fs::absolute(path).lexically_normal().parent_path();
    if (folder.filename() == "checkpoints" &&
        fs::exists(status_of(folder.parent_path() / "config.toml"))) {
      source.directory = fs::proximate(folder.parent_path()).string();
    }
  }
  source.config = parse_config(source.checkpoint.config, source.file + ":config", overrides,
                               ConfigWriter::xgrad);
  return source;
}

}  // namespace xgrad
