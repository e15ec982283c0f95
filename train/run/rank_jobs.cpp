#include <xgrad/train/run/rank_jobs.hpp>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/autograd/scalar.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/formats/sha256.hpp>
#include <xgrad/train/config/precision.hpp>
#include <xgrad/train/model/mixed_precision.hpp>
#include <xgrad/train/run/signals.hpp>

namespace xgrad {

namespace {

constexpr std::size_t kMostClasses = 20;  // a table of more is unreadable

bool at_work = false;  // on rank 0: whether the other ranks are in a job

// A SHA-256 of many parts. Their order and sizes matter.
class Digest {
 public:
  template <class List>
  void add(const List& list) {
    text_ += std::to_string(list.size()) + ":";
    text_.append(reinterpret_cast<const char*>(list.data()), list.size() * sizeof(*list.data()));
    if (text_.size() > 1 << 20) shorten();
  }
  std::string hex() {
    shorten();
    return text_;
  }

 private:
  void shorten() { text_ = to_hex(sha256(text_)); }

  std::string text_;
};

std::string digest_of(const Task& task) {
  Digest digest;
  for (const Split split : {Split::train, Split::validation, Split::test}) {
    const auto data = task.dataset(split);
    digest.add(std::vector(1, data->size()));
    for (std::size_t i = 0; i < data->size(); ++i) {
      const Example example = data->get(0, i);
      digest.add(example.ids);
      digest.add(example.features);
      digest.add(example.targets);
      digest.add(example.values);
      digest.add(example.edges);
    }
  }
  return digest.hex();
}

template <class T>
std::string digest_of(const Parameters<T>& parameters) {
  Digest digest;
  for (const Parameter<T>& p : parameters) digest.add(p.value());
  return digest.hex();
}

template <class T>
const Parameters<T>& weights_of(const Trainer<T>& trainer) {
  return trainer.parameters();
}
template <class T>
const Parameters<T>& weights_of(const LoadedModel<T>& loaded) {
  return loaded.parameters;
}

// The hooks of a rank that writes nothing. `look` is its part in what rank 0 adds to TensorBoard.
struct Follower final : TrainerHooks {
  explicit Follower(std::function<void()> look) : look(std::move(look)) {}
  void on_evaluation(std::uint64_t, const Metrics&) override { look(); }
  bool stop() override { return signals.stop() != 0; }
  bool break_off() override { return stop(); }
  bool take_save() override { return signals.take_save(); }
  std::function<void()> look;
  Signals signals;
};

// What a job needs; null if it could not be made, which rank 0 reports.
template <class Made, class Make>
std::unique_ptr<Made> made_for_job(Ranks& ranks, const Config& config, const Checkpoint* checkpoint,
                                   const Make& make) try {
  return make_on_all_ranks<Made>(ranks, config, checkpoint, make);
} catch (const std::exception&) {
  return nullptr;
}

template <class T>
void take_part_in_training(Ranks& ranks, const Config& config, const Checkpoint* checkpoint) {
  const auto trainer = made_for_job<Trainer<T>>(ranks, config, checkpoint, [&](auto task) {
    return std::make_unique<Trainer<T>>(config, checkpoint, std::move(task), ranks);
  });
  if (!trainer) return;
  Follower hooks([&] {
    if (!config.log_tensorboard) return;
    trainer->gather_gradients();
    trainer->with_evaluated_weights([] {});
  });
  trainer->run(hooks);
  if (trainer->finished()) trainer->evaluate(Split::test, hooks);
}

template <class T>
void take_part_in_scoring(Ranks& ranks, const FoundRun& source, Split split) {
  const auto loaded = made_for_job<LoadedModel<T>>(
      ranks, source.config, &source.checkpoint,
      [&](auto task) { return std::make_unique<LoadedModel<T>>(source, std::move(task)); });
  if (loaded) score_split(ranks, source.config, *loaded, split);
}

}  // namespace

void send_job(Ranks& ranks, const std::string& job, const Config& config,
              const Checkpoint* checkpoint) {
  if (ranks.size() == 1) return;
  gather_texts(ranks, job);
  gather_texts(ranks, to_toml(config));
  gather_texts(ranks, checkpoint == nullptr ? "" : to_hdf5(*checkpoint));
}

void end_job() {
  at_work = false;
}

bool others_at_work() {
  return at_work;
}

void send_end(Ranks& ranks) {
  if (ranks.size() > 1) gather_texts(ranks, "");
}

void follow(Ranks& ranks) {
  for (;;) {
    const std::string job = gather_texts(ranks, "").front();
    if (job.empty()) return;
    const std::string text = gather_texts(ranks, "").front();
    const std::string bytes = gather_texts(ranks, "").front();
    FoundRun source;
    source.config = parse_config(text, "the config of rank 0", {}, ConfigWriter::xgrad);
    if (!bytes.empty()) source.checkpoint = from_hdf5(bytes, "the checkpoint of rank 0");
    if (source.config.train.threads > 0) set_threads(source.config.train.threads);
    with_precision(source.config, [&]<class T>() {
      job == kTraining ? take_part_in_training<T>(ranks, source.config,
                                                  bytes.empty() ? nullptr : &source.checkpoint)
                       : take_part_in_scoring<T>(ranks, source, split_of(job));
    });
  }
}

template <class Made>
std::unique_ptr<Made> make_on_all_ranks(
    Ranks& ranks, const Config& config, const Checkpoint* checkpoint,
    const std::function<std::unique_ptr<Made>(std::unique_ptr<Task> task)>& make) {
  if (ranks.size() == 1) return make(make_task(config, checkpoint));
  std::unique_ptr<Task> task;
  std::unique_ptr<Made> made;
  std::vector<std::pair<const char*, std::string>> fingerprints;
  // A rank that fails must not leave the others waiting in read_once().
  together(ranks, [&] { task = make_task(config, checkpoint); });
  together(ranks, [&] {
    const bool is_copy = task->read_once(
        {ranks.rank(), [&](const std::string& own) { return gather_texts(ranks, own); }});
    // Empty on a rank that has the data of another.
    const std::string data = is_copy ? "" : digest_of(*task);
    made = make(std::move(task));
    fingerprints = {{"program", to_hex(sha256(read_file("/proc/self/exe")))},
                    {"class of processor", processor_class(config.train.precision)},
                    {"data", data},
                    {"initial weights", digest_of(weights_of(*made))}};
  });
  for (const auto& [name, own] : fingerprints) {
    const std::vector<std::string> all = gather_texts(ranks, own);
    for (std::size_t r = 1; r < all.size(); ++r) {
      check<Error>(all[r].empty() || all[r] == all[0], "rank ", r, " differs from rank 0 in its ",
                   name, ": ", all[r].substr(0, 16), ", not ", all[0].substr(0, 16));
    }
  }
  at_work = true;
  ranks.watch(config.mpi.timeout);
  return made;
}

Split split_of(const std::string& name) {
  for (const Split split : {Split::train, Split::validation}) {
    if (name == to_string(split)) return split;
  }
  return Split::test;
}

template <class T>
Scores score_split(Ranks& ranks, const Config& config, const LoadedModel<T>& loaded, Split split,
                   const std::function<bool()>& break_off) {
  const TaskShape& shape = loaded.shape;
  const auto data = loaded.task->dataset(split);
  const bool has_table = shape.target != TargetKind::numbers && shape.classes <= kMostClasses;
  const Pass pass{*data, shape, config.train.batch, {}, break_off};
  return *score(ranks, config.train.shards, *loaded.model, pass,
                make_objective(config.train, shape), has_table ? shape.classes : 0);
}

#define XGRAD_INSTANTIATE(T)                                                         \
  template std::unique_ptr<Trainer<T>> make_on_all_ranks(                            \
      Ranks&, const Config&, const Checkpoint*,                                      \
      const std::function<std::unique_ptr<Trainer<T>>(std::unique_ptr<Task>)>&);     \
  template std::unique_ptr<LoadedModel<T>> make_on_all_ranks(                        \
      Ranks&, const Config&, const Checkpoint*,                                      \
      const std::function<std::unique_ptr<LoadedModel<T>>(std::unique_ptr<Task>)>&); \
  template Scores score_split(Ranks&, const Config&, const LoadedModel<T>&, Split,   \
                              const std::function<bool()>&);
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
