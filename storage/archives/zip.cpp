#include <xgrad/storage/archives/zip.hpp>

#include <zip.h>

#include <memory>
#include <new>
#include <set>

#include <xgrad/storage/formats/tensors.hpp>

namespace xgrad {

namespace {

constexpr std::size_t kComment = 65535;
constexpr std::string_view kEmptyZip("PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22);
constexpr std::uint16_t kFirstDay = (1 << 5) + 1;  // 1980-01-01, as DOS writes it

struct Close {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_source_t* source) const { zip_source_free(source); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using Archive = std::unique_ptr<zip_t, Close>;
using Source = std::unique_ptr<zip_source_t, Close>;
using File = std::unique_ptr<zip_file_t, Close>;

Source memory(std::string_view bytes) {
  Source source(zip_source_buffer_create(bytes.data(), bytes.size(), 0, nullptr));
  if (source == nullptr) throw std::bad_alloc();
  return source;
}

/// Keeps `source` alive after closing, so that its owner can read what was written.
Archive open(const Source& source, int flags) {
  zip_error_t error;
  zip_error_init(&error);
  Archive archive(zip_open_from_source(source.get(), flags, &error));
  const std::string reason = zip_error_strerror(&error);
  zip_error_fini(&error);
  check<FormatError>(archive != nullptr, "is not a zip archive: ", reason);
  zip_source_keep(source.get());
  return archive;
}

void add(zip_t* archive, const ZipMember& member) {
  Source source = memory(member.bytes);
  const zip_int64_t index =
      zip_file_add(archive, member.name.c_str(), source.get(), ZIP_FL_ENC_UTF_8);
  check<FormatError>(index >= 0, "'", member.name, "': ", zip_strerror(archive));
  source.release();  // now owned by the archive
  const auto at = zip_uint64_t(index);
  const bool plain = zip_set_file_compression(archive, at, ZIP_CM_STORE, 0) == 0 &&
                     zip_file_set_dostime(archive, at, 0, kFirstDay, 0) == 0;
  check<FormatError>(plain, "'", member.name, "': ", zip_strerror(archive));
}

std::string content(const Source& source) {
  zip_stat_t about;
  zip_stat_init(&about);
  std::string bytes;
  bool whole = zip_source_stat(source.get(), &about) == 0 && zip_source_open(source.get()) == 0;
  if (whole) {
    bytes.resize(about.size);
    whole = zip_source_read(source.get(), bytes.data(), about.size) == zip_int64_t(about.size);
    zip_source_close(source.get());
  }
  check<FormatError>(whole, "the archive cannot be read back");
  return bytes;
}

ZipMember read(zip_t* archive, zip_uint64_t index) {
  zip_stat_t about;
  check<FormatError>(zip_stat_index(archive, index, 0, &about) == 0, "member ", index, ": ",
                     zip_strerror(archive));
  ZipMember member{about.name, ""};
  const auto fail_if = [&](bool wrong, const std::string& why) {
    check<FormatError>(!wrong, "'", member.name, "': ", why);
  };
  fail_if(about.comp_method != ZIP_CM_STORE && about.comp_method != ZIP_CM_DEFLATE,
          "is compressed by a method other than deflate");
  fail_if(about.encryption_method != ZIP_EM_NONE, "is encrypted");
  const File file(zip_fopen_index(archive, index, 0));
  fail_if(!file, zip_strerror(archive));
  char chunk[1 << 16];
  zip_int64_t count = 0;
  while ((count = zip_fread(file.get(), chunk, sizeof chunk)) > 0) {
    member.bytes.append(chunk, std::size_t(count));
  }
  fail_if(count < 0, zip_file_strerror(file.get()));  // also on a wrong CRC
  fail_if(member.bytes.size() != about.size, "ends early");
  return member;
}

}  // namespace

std::string to_zip(const ZipArchive& archive) {
  check<FormatError>(archive.comment.size() <= kComment, "the comment has ", archive.comment.size(),
                     " bytes, must have at most ", kComment);
  const Source source = memory({});
  Archive zip = open(source, ZIP_CREATE | ZIP_TRUNCATE);
  for (const ZipMember& member : archive.members) add(zip.get(), member);
  zip_set_archive_comment(zip.get(), archive.comment.data(), zip_uint16_t(archive.comment.size()));
  check<FormatError>(zip_close(zip.get()) == 0, zip_strerror(zip.get()));
  zip.release();
  return archive.members.empty() ? std::string(kEmptyZip) : content(source);
}

ZipArchive from_zip(std::string_view bytes) {
  // libzip accepts zero bytes as an empty archive.
  check<FormatError>(bytes.starts_with("PK"), "is not a zip archive: it does not begin with PK");
  const Source source = memory(bytes);
  const Archive zip = open(source, ZIP_RDONLY | ZIP_CHECKCONS);
  ZipArchive archive;
  int length = 0;
  const char* comment = zip_get_archive_comment(zip.get(), &length, ZIP_FL_ENC_RAW);
  if (comment != nullptr) archive.comment.assign(comment, std::size_t(length));
  std::set<std::string> names;
  const auto count = zip_uint64_t(zip_get_num_entries(zip.get(), 0));
  for (zip_uint64_t i = 0; i < count; ++i) {
    archive.members.push_back(read(zip.get(), i));
    const std::string& name = archive.members.back().name;
    check<FormatError>(names.insert(name).second, "'", name, "' appears twice");
  }
  return archive;
}

}  // namespace xgrad
