#include <xgrad/data/read_once.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <exception>
#include <fstream>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

namespace {

// Names the machine, and the files at the paths: equal where processes find the same. Empty if that
// cannot be told.
std::string place_of(const std::vector<std::string>& files) {
  std::string place;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), place);
  if (place.empty() || files.empty()) return "";
  std::vector<std::string> paths = {"/proc/self/ns/pid"};  // processes see each other
  paths.insert(paths.end(), files.begin(), files.end());
  for (const std::string& path : paths) {
    struct stat status;
    if (::stat(path.c_str(), &status) == -1) return "";
    place += ' ' + std::to_string(status.st_dev) + ':' + std::to_string(status.st_ino);
  }
  return place;
}

}  // namespace

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
