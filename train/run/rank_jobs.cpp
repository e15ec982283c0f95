#include <xgrad/train/run/rank_jobs.hpp>

#include <algorithm>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/kernels/cpu.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/formats/sha256.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/train/run/signals.hpp>

namespace xgrad {

namespace {

constexpr std::size_t kMostClasses = 20;  // a table of more is unreadable

bool at_work = false;  // whether all ranks are in a job

// Adds lists and their lengths.
template <class... Lists>
void add(Sha256Stream& hash, const Lists&... lists) {
  const auto each = [&](const auto& list) {
    hash.add(std::to_string(list.size()) + ":");
    const std::size_t bytes = list.size() * sizeof(*list.data());
    hash.add({reinterpret_cast<const char*>(list.data()), bytes});
  };
  (each(lists), ...);
}

std::string digest_of(const Task& task) {
  Sha256Stream hash;
  for (const Split split : {Split::train, Split::validation, Split::test}) {
    const auto data = task.dataset(split);
    hash.add(std::to_string(data->size()));
    for (std::size_t i = 0; i < data->size(); ++i) {
      const Example e = data->get(0, i);
      add(hash, e.ids, e.features, e.targets, e.values, e.edges);
    }
  }
  return to_hex(hash.value());
}

template <class T>
std::string digest_of(const Parameters<T>& parameters) {
  Sha256Stream hash;
  for (const Parameter<T>& p : parameters) add(hash, p.value());
  return to_hex(hash.value());
}

// The hooks of a rank other than 0, which writes nothing. When rank 0 writes to TensorBoard, `look`
// does this rank's part.
struct Follower final : TrainerHooks {
  explicit Follower(std::function<void()> look) : look(std::move(look)) {}
  void on_evaluation(std::uint64_t, const Metrics&) override { look(); }
  bool stop() override { return signals.stop() != 0; }
  bool break_off() override { return stop(); }
  bool take_save() override { return signals.take_save(); }
  std::function<void()> look;
  Signals signals;
};

constexpr const char* kTraining = "training";  // any other job is the name of a split to score

// Returns the text of rank 0 on all ranks. The other ranks pass none.
std::string from_first(const std::string& own = "") {
  return gather_texts(ranks(), own).front();
}

// Calls make(task) on all ranks with the task of a config. make() returns the weights of the model
// that it made. Rank 0 sends these texts to the others: the job; the config; the checkpoint to
// resume from or to score; config and checkpoint of each other run of an ensemble; an empty text.
template <class Make>
void make_on_all_ranks(const std::string& job, const Config& config, const Checkpoint* checkpoint,
                       const Make& make, std::span<const FoundRun> others = {}) {
  if (ranks().size() == 1) return void(make(make_task(config, checkpoint)));
  if (ranks().rank() == 0) {
    from_first(job);
    from_first(to_toml(config));
    from_first(checkpoint == nullptr ? "" : to_hdf5(*checkpoint));
    for (const FoundRun& other : others) {
      from_first(to_toml(other.config));
      from_first(to_hdf5(other.checkpoint));
    }
    from_first("");
  }
  std::unique_ptr<Task> task;
  std::vector<std::pair<const char*, std::string>> fingerprints;
  // A rank that fails must not leave the others waiting in read_once().
  together(ranks(), [&] { task = make_task(config, checkpoint); });
  together(ranks(), [&] {
    const bool is_copy = task->read_once(
        {ranks().rank(), [](const std::string& own) { return gather_texts(ranks(), own); }});
    // A rank that received a copy of another rank's data has no digest.
    const std::string data = is_copy ? "" : digest_of(*task);
    const auto is_bf16 = [](const FoundRun& run) { return run.config.train.precision == "bf16"; };
    const bool bf16 = config.train.precision == "bf16" || std::ranges::any_of(others, is_bf16);
    fingerprints = {{"program", to_hex(sha256(read_file("/proc/self/exe")))},
                    {"arithmetic", arithmetic(bf16)},
                    {"data", data},
                    {"initial weights", digest_of(make(std::move(task)))}};
  });
  for (const auto& [name, own] : fingerprints) {
    const std::vector<std::string> all = gather_texts(ranks(), own);
    for (std::size_t r = 1; r < all.size(); ++r) {
      check<Error>(all[r].empty() || all[r] == all[0], "rank ", r, " differs from rank 0 in its ",
                   name, ": ", all[r].substr(0, 16), ", not ", all[0].substr(0, 16));
    }
  }
  at_work = true;
  ranks().watch(config.mpi_timeout);
}

template <class T>
void take_part_in_training(const Config& config, const Checkpoint* checkpoint) {
  const auto trainer = make_trainer_on_all_ranks<T>(config, checkpoint, [](const auto&) {});
  Follower hooks([&] {
    if (!config.log_tensorboard) return;
    trainer->gather_gradients();
    trainer->with_evaluated_weights([] {});
  });
  trainer->run(hooks);
  if (trainer->finished()) trainer->evaluate(Split::test, hooks);
}

}  // namespace

template <class T>
std::unique_ptr<Trainer<T>> make_trainer_on_all_ranks(
    const Config& config, const Checkpoint* checkpoint,
    const std::function<void(const Trainer<T>&)>& check) {
  std::unique_ptr<Trainer<T>> made;
  const auto make = [&](std::unique_ptr<Task> task) -> const Parameters<T>& {
    made = std::make_unique<Trainer<T>>(config, checkpoint, std::move(task), ranks());
    check(*made);
    return made->parameters();
  };
  make_on_all_ranks(kTraining, config, checkpoint, make);
  return made;
}

void end_job() {
  at_work = false;
}

bool others_at_work() {
  return at_work;
}

void send_end() {
  if (ranks().size() > 1) gather_texts(ranks(), "");
}

void follow() {
  for (;;) {
    const std::string job = from_first();
    if (job.empty()) return;
    std::vector<FoundRun> sources;
    bool resumes = false;
    for (std::string text = from_first(); !text.empty(); text = from_first()) {
      FoundRun& source = sources.emplace_back();
      source.config = parse_config(text, "the config of rank 0", {}, ConfigWriter::xgrad);
      const std::string bytes = from_first();
      resumes = !bytes.empty();
      if (resumes) source.checkpoint = from_hdf5(bytes, "the checkpoint of rank 0");
    }
    const Config& config = sources.front().config;
    if (config.train.threads > 0) set_threads(config.train.threads);
    at_work = false;
    try {
      with_precision(config, [&]<class T>() {
        if (job == kTraining) {
          take_part_in_training<T>(config, resumes ? &sources.front().checkpoint : nullptr);
        } else {
          score_on_all_ranks<T>(sources, split_of(job), [](auto...) {});
        }
      });
    } catch (const std::exception&) {
      if (at_work) throw;  // else rank 0 reports it, and may send another job
    }
  }
}

Split split_of(const std::string& name) {
  return name == "train" ? Split::train : name == "validation" ? Split::validation : Split::test;
}

template <class T>
std::pair<std::unique_ptr<LoadedModel<T>>, Scores> score_on_all_ranks(
    std::span<const FoundRun> sources, Split split,
    const std::function<void(std::size_t, std::size_t)>& progress) {
  std::unique_ptr<LoadedModel<T>> loaded;
  const auto make = [&](std::unique_ptr<Task> task) -> const Parameters<T>& {
    loaded = std::make_unique<LoadedModel<T>>(sources, std::move(task));
    return loaded->parameters;
  };
  const FoundRun& source = sources.front();
  make_on_all_ranks(to_string(split), source.config, &source.checkpoint, make, sources.subspan(1));
  const TaskShape& shape = loaded->shape;
  const TrainConfig& train = source.config.train;
  const auto data = loaded->task->dataset(split);
  const bool has_table = shape.target != TargetKind::numbers && shape.classes <= kMostClasses;
  const std::size_t total = share(data->size(), ranks().rank(), ranks().size()).size();
  std::size_t done = 0;
  const auto before_batch = [&] {
    progress(std::min(done, total), total);
    done += train.batch;
    return false;
  };
  const Pass pass{*data, shape, train.batch, {}, before_batch};
  auto scores = score(ranks(), train.shards, *loaded->model, pass, make_objective(train, shape),
                      has_table ? shape.classes : 0);
  progress(total, total);
  end_job();
  return {std::move(loaded), std::move(*scores)};
}

#define XGRAD_INSTANTIATE(T)                                                            \
  template std::unique_ptr<Trainer<T>> make_trainer_on_all_ranks(                       \
      const Config&, const Checkpoint*, const std::function<void(const Trainer<T>&)>&); \
  template std::pair<std::unique_ptr<LoadedModel<T>>, Scores> score_on_all_ranks(       \
      std::span<const FoundRun>, Split, const std::function<void(std::size_t, std::size_t)>&);
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
