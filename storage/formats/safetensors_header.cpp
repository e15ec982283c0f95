#include <xgrad/storage/formats/safetensors_header.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include <xgrad/storage/formats/format_error.hpp>

namespace xgrad {

namespace {

using Json = nlohmann::ordered_json;

constexpr auto kMetadata = SafetensorsHeader::kMetadata;
constexpr std::size_t kRank = 32;
constexpr std::size_t kNameLimit = 1000;

/// Names appear in messages, and so on terminals.
void check_name(const std::string& name) {
  const auto control = [](unsigned char c) { return c < ' ' || c == 0x7f; };
  check<FormatError>(name.size() <= kNameLimit && std::none_of(name.begin(), name.end(), control),
                     "its header has a name that is too long or has control characters");
}

// Handles parser events one by one: a tree of the whole text would hide repeated names and need
// many times the memory.
class Events final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Events(SafetensorsHeader& header) : header_(header) {}

  bool start_object(std::size_t) override {
    check<FormatError>(depth_ < 2, where(), ": has an object inside");
    ++depth_;
    return true;
  }

  bool key(std::string& name) override {
    check_name(name);
    if (depth_ == 1) {
      name_ = name;
      check<FormatError>(names_.insert(name).second, "'", name, "' appears twice");
      if (!in_metadata()) header_.entries.push_back({.name = name, .dtype = {}, .shape = {}});
      fields_.clear();
      offsets_ = 0;
    } else {
      check<FormatError>(fields_.insert(name).second, where(), ": ", name, " appears twice");
      const bool known =
          in_metadata() || name == "dtype" || name == "shape" || name == "data_offsets";
      check<FormatError>(known, where(), ": has an unknown key '", name, "'");
    }
    field_ = name;
    return true;
  }

  bool end_object() override {
    --depth_;
    if (depth_ != 1 || in_metadata()) return true;
    check<FormatError>(fields_.size() == 3, where(), ": needs dtype, shape and data_offsets");
    return true;
  }

  bool string(std::string& value) override {
    if (depth_ == 2 && in_metadata()) {
      header_.metadata[field_] = value;
    } else if (depth_ == 2 && field_ == "dtype") {
      check_name(value);
      entry().dtype = value;
    } else {
      unexpected("a text");
    }
    return true;
  }

  bool start_array(std::size_t) override {
    const bool expected =
        depth_ == 2 && !in_metadata() && (field_ == "shape" || field_ == "data_offsets");
    if (!expected) unexpected("a list");
    ++depth_;
    return true;
  }

  bool end_array() override {
    --depth_;
    check<FormatError>(field_ == "shape" || offsets_ == 2, where(),
                       ": data_offsets must be two numbers");
    return true;
  }

  bool number_unsigned(std::uint64_t value) override {
    if (depth_ != 3) unexpected("a number");
    if (field_ == "shape") {
      check<FormatError>(entry().shape.size() < kRank, where(), ": has more than ", kRank, " axes");
      entry().shape.push_back(value);
    } else {
      check<FormatError>(offsets_ < 2, where(), ": data_offsets must be two numbers");
      (offsets_++ == 0 ? entry().begin : entry().end) = value;
    }
    return true;
  }

  bool null() override { unexpected("null"); }
  bool boolean(bool) override { unexpected("a boolean"); }
  bool number_integer(std::int64_t) override { unexpected("a negative number"); }
  bool number_float(double, const std::string& text) override { unexpected(text); }
  bool binary(nlohmann::json::binary_t&) override { unexpected("binary data"); }

  bool parse_error(std::size_t at, const std::string&,
                   const nlohmann::detail::exception& error) override {
    detail::fail<FormatError>("its header is not JSON at byte ", at, ": ", error.what());
  }

 private:
  bool in_metadata() const { return name_ == kMetadata; }
  SafetensorsHeader::Entry& entry() { return header_.entries.back(); }

  std::string where() const { return depth_ == 0 ? "its header" : name_; }

  [[noreturn]] void unexpected(const std::string& what) const {
    if (depth_ < 2) {
      detail::fail<FormatError>(where(), ": is ", what, ", not an object");
    }
    detail::fail<FormatError>(where(), ": ", field_, " is or holds ", what);
  }

  SafetensorsHeader& header_;
  int depth_ = 0;      // nesting depth of objects and lists
  std::string name_;   // current key of the header
  std::string field_;  // current key within name_
  std::set<std::string> names_, fields_;
  int offsets_ = 0;
};

}  // namespace

std::string print_header(const SafetensorsHeader& header) try {
  Json json;
  json[kMetadata] = header.metadata;
  for (const SafetensorsHeader::Entry& entry : header.entries) {
    check_name(entry.name);
    json[entry.name] = Json{
        {"dtype", entry.dtype}, {"shape", entry.shape}, {"data_offsets", {entry.begin, entry.end}}};
  }
  return json.dump();
} catch (const nlohmann::json::exception& error) {
  detail::fail<FormatError>("a name or a text is not UTF-8: ", error.what());
}

SafetensorsHeader parse_header(std::string_view json) {
  // The parser treats a zero byte as the end of the text.
  check<FormatError>(json.find('\0') == std::string_view::npos, "its header holds a zero byte");
  SafetensorsHeader header;
  Events events(header);
  nlohmann::json::sax_parse(json, &events);
  return header;
}

}  // namespace xgrad
