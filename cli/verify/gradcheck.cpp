#include <fmt/format.h>

#include <filesystem>

#include <xgrad/cli/command.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/train/checkpoint/find_run.hpp>
#include <xgrad/train/inspect/gradcheck.hpp>
#include <xgrad/train/logs/history.hpp>
#include <xgrad/train/run/directory.hpp>

namespace xgrad::commands {

namespace {

struct Arguments : ConfigArguments {
  std::string certificate;
};

int print(const Certificate& certificate) {
  const ModelCheck& check = certificate.check;
  const bool images = check.lengths[0] == 0;
  fmt::print("{}differences in {}; {}\n", check.report.table(), check.arithmetic,
             images ? fmt::format("{} images", check.lengths.size())
                    : fmt::format("examples of length {}", fmt::join(check.lengths, " and ")));
  if (certificate.precision == "bf16") {
    fmt::print(
        "backward is checked in double; the rounding of products' operands to bfloat16 in training "
        "is not covered\n");
  }
  return check.report.ok() ? 0 : 1;
}

// Keeps the run locked, so that it cannot change its config meanwhile.
int check_run(const Arguments& a) {
  xgrad::check<ConfigError>(a.overrides.empty() && a.certificate.empty(), a.config,
                            " is a run: its own config is checked, and the certificate is written "
                            "into its directory; give the config itself for anything else");
  const RunDirectory run = RunDirectory::open(a.config);
  const Certificate certificate = certify(read_run(a.config).config);
  run.replace_certificate(to_json(certificate));
  return print(certificate);
}

int gradcheck(const Arguments& a) {
  if (std::filesystem::is_directory(status_of(a.config))) return check_run(a);
  const Config config = load_config(a.config, a.overrides);
  if (!a.certificate.empty()) check_new(a.certificate);
  const Certificate certificate = certify(config);
  if (!a.certificate.empty()) publish_file(a.certificate, to_json(certificate));
  return print(certificate);
}

}  // namespace

Command gradcheck_command() {
  const auto a = std::make_shared<Arguments>();
  return Command(
      "gradcheck", "Check a model's gradients by finite differences",
      {{"config", "a TOML file, or a run directory, which gets a certificate", &a->config,
        kRequired},
       {"overrides", kOverrides, &a->overrides},
       {"--certificate", "write the results to this new file, as JSON", &a->certificate, kNewPath}},
      [a] { return gradcheck(*a); });
}

}  // namespace xgrad::commands
