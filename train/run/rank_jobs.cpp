#include <xgrad/train/run/rank_jobs.hpp>

#include <algorithm>
#include <optional>
#include <string>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/autograd/scalar.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/formats/sha256.hpp>
#include <xgrad/train/config/precision.hpp>
#include <xgrad/train/model/mixed_precision.hpp>
#include <xgrad/train/ranks/shared_task.hpp>
#include <xgrad/train/run/score.hpp>
#include <xgrad/train/run/signals.hpp>

namespace xgrad {

namespace {

bool at_work = false;  // on rank 0: whether the other ranks are in a job

// A SHA-256 of many parts. Their order and sizes matter.
class Digest {
 public:
  template <class Element>
  void add(const Element* elements, std::size_t count) {
    text_ += std::to_string(count) + ":";
    text_.append(reinterpret_cast<const char*>(elements), count * sizeof(Element));
    if (text_.size() > 1 << 20) shorten();
  }
  template <class Element>
  void add(const std::vector<Element>& list) {
    add(list.data(), list.size());
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
    const std::size_t size = data->size();
    digest.add(&size, 1);
    for (std::size_t i = 0; i < size; ++i) {
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
  for (const Parameter<T>& p : parameters) {
    digest.add(p.value().data(), p.value().size());
  }
  return digest.hex();
}

struct Sameness {
  const char* name;
  std::string value;  // empty on a rank that has it from another rank
};

std::string program() {
  return to_hex(sha256(read_file("/proc/self/exe")));
}

template <class T>
std::vector<Sameness> sameness_of(const Trainer<T>& trainer) {
  return {{"program", program()},
          {"class of processor", trainer.processor()},
          {"data", trainer.shares_data() ? "" : digest_of(trainer.task())},
          {"initial weights", digest_of(trainer.parameters())}};
}

void check_same(Ranks& ranks, const std::vector<Sameness>& own) {
  for (const Sameness& sameness : own) {
    const std::vector<std::string> values = gather_texts(ranks, sameness.value);
    for (std::size_t r = 1; r < values.size(); ++r) {
      check<Error>(values[r].empty() || values[r] == values[0], "rank ", r,
                   " differs from rank 0 in its ", sameness.name, ": ", values[r].substr(0, 16),
                   ", not ", values[0].substr(0, 16));
    }
  }
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

template <class T>
void take_part_in_training(Ranks& ranks, const Config& config, const Checkpoint* checkpoint) {
  std::unique_ptr<Trainer<T>> trainer;
  try {
    trainer = agreed<T>(
        ranks, [&] { return std::make_unique<Trainer<T>>(config, checkpoint, nullptr, ranks); });
  } catch (const std::exception&) {
    return;  // rank 0 reports it
  }
  ranks.watch(config.mpi.timeout);
  Follower own([&] {
    if (!config.log_tensorboard) return;
    trainer->gather_gradients();
    trainer->with_evaluated_weights([] {});
  });
  AgreedHooks hooks(ranks, own);
  trainer->run(hooks);
  if (trainer->finished()) trainer->evaluate(Split::test, hooks);
}

template <class T>
void take_part_in_scoring(Ranks& ranks, const FoundRun& source, Split split) {
  std::unique_ptr<LoadedModel<T>> loaded;
  try {
    loaded = agreed_model<T>(ranks, source);
  } catch (const std::exception&) {
    return;  // rank 0 reports it
  }
  score(ranks, source, *loaded, split, [](std::size_t, std::size_t) {});
}

constexpr const char* kTraining = "training";  // else a job is the name of the split to score

void send(Ranks& ranks, const std::string& job, const Config& config,
          const Checkpoint* checkpoint) {
  if (ranks.size() == 1) return;
  gather_texts(ranks, job);
  gather_texts(ranks, to_toml(config));
  gather_texts(ranks, checkpoint == nullptr ? "" : to_hdf5(*checkpoint));
}

// Calls make() and then own(). Throws on all ranks if one of them threw, or if they differ in what
// own() returned.
void agree(Ranks& ranks, const std::function<void()>& make,
           const std::function<std::vector<Sameness>()>& own) {
  std::vector<Sameness> sameness;
  together(ranks, [&] {
    make();
    sameness = own();  // may read the data
  });
  check_same(ranks, sameness);
  at_work = true;
}

}  // namespace

void send_job(Ranks& ranks, const Config& config, const Checkpoint* checkpoint) {
  send(ranks, kTraining, config, checkpoint);
}

void send_scoring(Ranks& ranks, const FoundRun& source, Split split) {
  send(ranks, to_string(split), source.config, &source.checkpoint);
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

template <class T>
std::unique_ptr<Trainer<T>> agreed(Ranks& ranks,
                                   const std::function<std::unique_ptr<Trainer<T>>()>& make) {
  if (ranks.size() == 1) return make();
  std::unique_ptr<Trainer<T>> trainer;
  agree(
      ranks, [&] { trainer = make(); }, [&] { return sameness_of(*trainer); });
  return trainer;
}

template <class T>
std::unique_ptr<LoadedModel<T>> agreed_model(Ranks& ranks, const FoundRun& source) {
  if (ranks.size() == 1) return std::make_unique<LoadedModel<T>>(source);
  std::unique_ptr<LoadedModel<T>> loaded;
  bool copied = false;
  const auto load = [&] {
    SharedTask shared = make_task(ranks, source.config, &source.checkpoint);
    copied = shared.copied;
    loaded = std::make_unique<LoadedModel<T>>(source, std::move(shared.task));
  };
  const auto own = [&]() -> std::vector<Sameness> {
    return {{"program", program()},
            {"class of processor", processor_class(source.config.train.precision)},
            {"data", copied ? "" : digest_of(*loaded->task)}};
  };
  agree(ranks, load, own);
  ranks.watch(source.config.mpi.timeout);
  return loaded;
}

bool AgreedHooks::agree(bool stop) {
  const char flags = char((stop ? 1 : 0) + (own_.take_save() ? 2 : 0));
  const std::vector<char> all = gather_all(ranks_, flags);
  const auto stops = std::find_if(all.begin(), all.end(), [](char other) { return other & 1; });
  for (const char other : all) save_ = save_ || (other & 2) != 0;
  if (stops == all.end()) return false;
  if (!stop) told_(std::size_t(stops - all.begin()));
  return true;
}

bool AgreedHooks::stop() {
  return agree(own_.stop());
}

bool AgreedHooks::break_off() {
  return agree(own_.break_off());
}

#define XGRAD_INSTANTIATE(T)                                        \
  template std::unique_ptr<Trainer<T>> agreed(                      \
      Ranks&, const std::function<std::unique_ptr<Trainer<T>>()>&); \
  template std::unique_ptr<LoadedModel<T>> agreed_model(Ranks&, const FoundRun&);
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad
