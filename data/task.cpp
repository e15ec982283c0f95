#include <xgrad/data/task.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <exception>
#include <fstream>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/batch.hpp>

namespace xgrad {

// A text that identifies the machine and the files at these paths. It is equal in processes that
// find the same files, and empty if that is unknown.
static std::string place_of(const std::vector<std::string>& files) {
  std::string place;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), place);
  if (place.empty() || files.empty()) return "";
  std::vector<std::string> paths = {"/proc/self/ns/pid"};  // names the PID namespace
  paths.insert(paths.end(), files.begin(), files.end());
  for (const std::string& path : paths) {
    struct stat status;
    if (::stat(path.c_str(), &status) == -1) return "";
    place += ' ' + std::to_string(status.st_dev) + ':' + std::to_string(status.st_ino);
  }
  return place;
}

const char* to_string(Split split) {
  constexpr const char* kNames[] = {"train", "validation", "test"};
  check<ShapeError>(std::size_t(split) < std::size(kNames), "Split: there is no split ",
                    int(split));
  return kNames[std::size_t(split)];
}

const char* to_string(TargetKind kind) {
  constexpr const char* kNames[] = {"classes", "numbers", "yes or no"};
  return kNames[std::size_t(kind)];
}

std::size_t Dataset::length(std::size_t index, const TaskShape& shape) const {
  return length_of(get(0, index), shape);
}

std::unique_ptr<Dataset> dataset_of(std::size_t size, GetExample get, GetLength length) {
  struct Made final : Dataset {
    std::size_t size() const override { return count; }
    Example get(std::uint64_t epoch, std::size_t index) const override {
      return make(epoch, index);
    }
    std::size_t length(std::size_t index, const TaskShape& shape) const override {
      return measure ? measure(index, shape) : Dataset::length(index, shape);
    }
    std::size_t count;
    GetExample make;
    GetLength measure;
  };
  auto made = std::make_unique<Made>();
  made->count = size;
  made->make = std::move(get);
  made->measure = std::move(length);
  return made;
}

void Task::adopt(const std::string&) {
  throw CheckpointError(
      "the checkpoint is of a task that learns from its data; this task does not");
}

std::string Task::token_text(std::int32_t id) const {
  return shape().token_names.at(std::size_t(id));
}

bool read_once(const Readers& readers, const std::vector<std::string>& files,
               const std::function<std::string()>& read,
               const std::function<void(const std::string& text)>& use) {
  const std::vector<std::string> places = readers.tell(place_of(files));
  const std::string& own = places[readers.self];
  const bool shared = !own.empty() && std::count(places.begin(), places.end(), own) > 1;
  const auto first = std::size_t(std::find(places.begin(), places.end(), own) - places.begin());
  std::string text;
  std::exception_ptr thrown;
  if (shared && first == readers.self) {
    try {
      text = '+' + read();
    } catch (const std::exception& error) {
      thrown = std::current_exception();
      text = std::string("-") + error.what();
    }
  }
  text = readers.tell(text)[first];
  if (thrown) std::rethrow_exception(thrown);
  if (!shared || first == readers.self) return false;
  check<DataError>(text.starts_with('+'), text.substr(1));
  try {
    use(text.substr(1));
  } catch (const IoError&) {
    return false;
  }
  return true;
}

}  // namespace xgrad
