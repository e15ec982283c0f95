#include <xgrad/train/inspect/gradcheck.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/kernels/cpu.hpp>
#include <xgrad/storage/formats/sha256.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/train/model/objective.hpp>
#include <xgrad/train/weights/init_from.hpp>
#include <xgrad/version.hpp>

namespace xgrad {

namespace {

constexpr std::size_t kSearched = 64;  // number of examples to search for a second length
// If the matrix products of all probes need more operations than this, about 15 s in long double,
// the differences are computed in double.
constexpr double kMostOperations = 2e10;

// The loss of one batch as a function of the parameters.
template <class T>
struct ModelProblem {
  ModelProblem(const Config& config, const TaskShape& shape, const Dataset& train,
               const Batch& batch)
      : parameters(config.train.seed),
        model(make_model<T>(config, shape, parameters)),
        objective(training_objective(config.train, shape, &train)),
        whole(step_size(objective, {batch})) {
    if (!config.model.init_from.empty()) initialize(config, shape, parameters);
    problem.leaves.assign(parameters.begin(), parameters.end());
    problem.f = [this, &config, &batch, steps = planned_steps(config.train, train.size())] {
      const Context context = training_context(config.train, /*step=*/0, steps);
      return training_loss(*model, objective, batch, context, whole).minimised;
    };
  }

  Parameters<T> parameters;
  std::unique_ptr<SequenceModel<T>> model;
  Objective objective;
  StepSize whole;
  GradientProblem<T> problem;
};

std::vector<Example> two_examples(const Dataset& data, const TaskShape& shape) {
  std::vector<Example> examples{data.get(0, 0)};
  for (std::size_t i = 1; i < std::min(kSearched, data.size()); ++i) {
    Example other = data.get(0, i);
    const bool differs = length_of(other, shape) != length_of(examples[0], shape);
    if (i > 1 && !differs) continue;
    examples.resize(1);
    examples.push_back(std::move(other));
    if (differs) break;
  }
  return examples;
}

// Number of operations of the matrix products of all probes.
double operations(const GradientProblem<double>& problem, const GradcheckOptions& options) {
  const Counters counters;
  const NoGrad no_grad;
  problem.f();
  std::size_t probes = options.directions;
  for (const Parameter<double>& leaf : problem.leaves) {
    probes += std::min(leaf.variable.value().size(), options.entries) + options.directions;
  }
  return double(counters.flops()) * double(probes) * 2 * double(options.levels);
}

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr std::size_t kRechecked = 8;
constexpr std::uint64_t kMostBytes = 64 << 20;  // above the size of any certificate
constexpr double kMargin = 100;  // tolerance of a recheck, as a multiple of the check's

std::string digest_of(const Config& config) {
  return to_hex(sha256(to_toml(config, /*with_execution_keys=*/false)));
}

// The digest of the keys of a config that change the checked gradients. Leaves out optimizer,
// schedule, claims, length, saves and the place of the run, because a resumed run may change these.
std::string digest_of_checked(Config config, const std::string& run) {
  config.optim = {};
  config.schedule = {};
  config.expect = {};
  TrainConfig& train = config.train;
  train.steps = 1;
  train.max_seconds = train.epochs = train.patience = train.evaluate_every = train.save_every = 0;
  const TrainConfig defaults;
  train.keep = defaults.keep;
  train.keep_best = defaults.keep_best;
  train.best_metric = defaults.best_metric;
  for (auto& [name, value] : config.task_options) {
    const auto* file = std::get_if<std::string>(&value);
    if (const std::string own = file ? own_data(run, *file) : ""; !own.empty()) value = own;
  }
  return digest_of(config);
}

GradientRow row_of(const Json& object) {
  GradientRow row;
  object.at("name").get_to(row.name);
  object.at("directions").get_to(row.directions);
  row.probed = object.at("entries").get<std::size_t>() + row.directions;
  object.at("failed").get_to(row.failed);
  object.at("worst").at("at").get_to(row.place);
  // NaN and infinities, which JSON does not have, become null.
  const auto read = [](const Json& at, const char* key, double& number) {
    number =
        at.at(key).is_null() ? std::numeric_limits<double>::quiet_NaN() : at.at(key).get<double>();
  };
  read(object, "largest", row.scale);
  read(object.at("worst"), "backward", row.analytic);
  read(object.at("worst"), "difference", row.numeric);
  read(object.at("worst"), "error", row.error);
  read(object.at("worst"), "of_largest", row.relative);
  return row;
}

// The row with the largest error relative to its tensor.
const GradientRow& worst_row(const GradientReport& report) {
  return *std::ranges::max_element(report.rows, {}, &GradientRow::relative);
}

// The worst places of some tensors that are spread over the model.
std::map<std::string, std::string> sample(const GradientReport& report) {
  const GradientRow& worst = worst_row(report);
  std::map<std::string, std::string> places{{worst.name, worst.place}};
  const std::size_t stride = (report.rows.size() + kRechecked - 1) / kRechecked;
  for (std::size_t i = 0; i < report.rows.size() && places.size() < kRechecked; i += stride) {
    places[report.rows[i].name] = report.rows[i].place;
  }
  return places;
}

// Reads the text of to_json(). Reads only the options that recheck() needs.
Certificate parse_certificate(const std::string& json, const std::string& path) try {
  const Json object = Json::parse(json);
  const int format = object.at("format").get<int>();
  check<CheckpointError>(format <= kFormat, path, ": has format ", format,
                         ", which only a newer xgrad reads");
  Certificate certificate;
  object.at("made_by").get_to(certificate.made_by);
  object.at("config_sha256").get_to(certificate.config);
  certificate.checked = object.value("checked_sha256", "");
  object.at("precision").get_to(certificate.precision);
  ModelCheck& check = certificate.check;
  object.at("lengths").get_to(check.lengths);
  object.at("differences").at("scalar").get_to(check.arithmetic);
  object.at("tolerance").at("of_largest").get_to(check.options.tolerance);
  object.at("tolerance").at("of_all").get_to(check.options.floor);
  object.at("failures").get_to(check.report.failures);
  for (const Json& row : object.at("tensors")) check.report.rows.push_back(row_of(row));
  xgrad::check<CheckpointError>(!check.report.rows.empty(), path, ": lists no tensor");
  return certificate;
} catch (const Json::exception& error) {
  detail::fail<CheckpointError>(path, ": is not a certificate of gradients: ", error.what());
}

}  // namespace

ModelCheck check_model(Config config, const std::map<std::string, std::string>& places) {
  config.optim.groups.clear();  // gradients of frozen parameters are checked too
  const std::unique_ptr<Task> task = make_task(config);
  const TaskShape& shape = task->shape();
  const std::unique_ptr<Dataset> train = task->dataset(Split::train);
  const std::vector<Example> examples = two_examples(*train, shape);
  const Batch batch = collate(examples, shape);
  const ModelProblem<double> model(config, shape, *train, batch);

  ModelCheck check;
  for (const Example& example : examples) check.lengths.push_back(length_of(example, shape));
  for (const auto& leaf : model.problem.leaves) check.shapes.push_back(leaf.variable.shape());
  GradcheckOptions& options = check.options;
  options = {
      .levels = 2, .entries = 32, .directions = 1, .small_directions = true, .places = places};
  const bool large = operations(model.problem, options) > kMostOperations;
  check.arithmetic = large ? "double" : "long double";
  options.step = large ? 4e-3 : 1e-3;
  options.tolerance = large ? 1e-8 : 1e-11;
  options.entry_tolerance = large ? 1e-6 : 1e-9;
  if (large) {
    options.floor = 1e-11;
    check.report = check_gradients(model.problem, model.problem, options);
  } else {
    const ModelProblem<long double> reference(config, shape, *train, batch);
    check.report = check_gradients(model.problem, reference.problem, options);
  }
  return check;
}

Certificate certify(const Config& config, const std::string& run) {
  return {
      digest_of(config), digest_of_checked(config, run),
      fmt::format("xgrad {}, compiler {}, processor {}", kVersion, __VERSION__, cpu_name(cpu())),
      config.train.precision, check_model(config)};
}

std::string to_json(const Certificate& certificate) {
  const ModelCheck& check = certificate.check;
  Json json{{"format", kFormat},
            {"made_by", certificate.made_by},
            {"config_sha256", certificate.config},
            {"checked_sha256", certificate.checked},
            {"precision", certificate.precision},
            {"lengths", check.lengths},
            {"differences",
             {{"scalar", check.arithmetic},
              {"levels", check.options.levels},
              {"step", check.options.step},
              {"seed", check.options.seed}}},
            {"tolerance",
             {{"of_largest", check.options.tolerance},
              {"of_entry", check.options.entry_tolerance},
              {"of_all", check.options.floor}}},
            {"passed", check.report.ok()},
            {"failures", check.report.failures},
            {"tensors", Json::array()}};
  for (const GradientRow& row : check.report.rows) {
    Json object{{"name", row.name}};
    const std::size_t i = json["tensors"].size();  // the last row, for all together, has no shape
    if (i < check.shapes.size()) object["shape"] = check.shapes[i];
    object["entries"] = row.probed - row.directions;
    object["directions"] = row.directions;
    object["failed"] = row.failed;
    object["largest"] = row.scale;
    object["worst"] = {{"at", row.place},
                       {"backward", row.analytic},
                       {"difference", row.numeric},
                       {"error", row.error},
                       {"of_largest", row.relative}};
    json["tensors"].push_back(std::move(object));
  }
  return json.dump(1) + "\n";
}

std::optional<Certificate> read_certificate(const Folder& run) {
  if (!run.holds(kCertificate)) return std::nullopt;
  const std::string text = run.read(kCertificate, kMostBytes), path = run.path_of(kCertificate);
  Certificate certificate = parse_certificate(text, path);
  std::map<std::string, std::string> listed;
  if (run.holds_folder("checkpoints")) listed = read_manifest({run, "checkpoints"});
  const auto found = listed.find(kListedCertificate);
  check<CheckpointError>(found != listed.end(), path, ": is not listed in ", kManifest);
  check<CheckpointError>(found->second == to_hex(sha256(text)), path,
                         ": is not the file that the run lists: its SHA-256 differs");
  return certificate;
}

std::string sentence(const Certificate& certificate) {
  const GradientReport& report = certificate.check.report;
  const std::size_t tensors = report.rows.size() - 1;  // the last row is for all together
  if (!report.ok()) return fmt::format("the gradients of {} tensors FAILED their check", tensors);
  const GradientRow& worst = worst_row(report);
  return fmt::format(
      "the gradients of {} tensors passed their check; worst error {:.1e} of the largest gradient, "
      "in {} (differences in {})",
      tensors, worst.relative, worst.name, certificate.check.arithmetic);
}

std::size_t recheck(const Certificate& certificate, const Config& config, const std::string& run) {
  const ModelCheck& before = certificate.check;
  // Older versions wrote only `config`, or computed `checked` with absolute paths.
  const bool same = certificate.config == digest_of(config) ||
                    certificate.checked == digest_of_checked(config, run);
  check<CheckpointError>(same, "checked the gradients of another config");
  check<CheckpointError>(before.report.ok(), "says that the check failed");
  const auto places = sample(before.report);
  const ModelCheck now = check_model(config, places);
  const double overall = std::ranges::max(before.report.rows, {}, &GradientRow::scale).scale;
  check<CheckpointError>(now.report.rows.size() == places.size(),
                         "names tensors or places that the model does not have");
  for (const GradientRow& row : now.report.rows) {
    const auto old = std::ranges::find(before.report.rows, row.name, &GradientRow::name);
    const double allowed =
        kMargin * std::max(now.options.tolerance * std::max(old->scale, row.scale),
                           now.options.floor * overall);
    check<CheckpointError>(
        std::fabs(row.analytic - old->analytic) <= allowed &&
            std::fabs(row.numeric - old->numeric) <= allowed && row.error <= allowed,
        "gives ", old->analytic, " and ", old->numeric, " as derivatives of ", row.name, " at ",
        row.place, ", which are now ", row.analytic, " and ", row.numeric);
  }
  return places.size();
}

}  // namespace xgrad
