#include <xgrad/train/checkpoint/find_run.hpp>

#include <filesystem>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

namespace fs = std::filesystem;

RunSource find_run(const std::string& path, const std::vector<std::string>& overrides) {
  RunSource source;
  if (fs::is_directory(path)) {
    const Folder folder(path);
    check<IoError>(folder.holds("config.toml"), path,
                   " is not a run directory: it holds no config.toml");
    source.directory = path;
    source.file = latest_checkpoint({folder, "checkpoints"});
  } else {
    check<IoError>(fs::exists(path), path, ": no such run directory or checkpoint");
    source.file = path;
    const fs::path folder = fs::absolute(path).lexically_normal().parent_path();
    if (folder.filename() == "checkpoints" && fs::exists(folder.parent_path() / "config.toml")) {
      source.directory = fs::proximate(folder.parent_path()).string();
    }
  }
  source.checkpoint = load_listed(source.file);
  source.config = parse_config(source.checkpoint.config, source.file + ":config", overrides,
                               ConfigWriter::xgrad);
  return source;
}

}  // namespace xgrad
