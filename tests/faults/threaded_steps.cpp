// threaded_steps race | none | steps: what ThreadSanitizer looks at in threads_test.py. A parallel
// loop whose blocks all add to one number; one whose blocks write numbers of their own, which are
// read after it; training steps of several models, large enough that their loops have many blocks.
#include <cstdio>
#include <string>
#include <vector>

#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/data/prefetch_loader.hpp>
#include <xgrad/data/task.hpp>
#include <xgrad/layers/models/models.hpp>
#include <xgrad/optim/averaged_weights.hpp>
#include <xgrad/optim/clip.hpp>
#include <xgrad/optim/optimizers.hpp>

namespace {

using namespace xgrad;

long loop(bool race) {
  constexpr std::size_t kNumbers = 1 << 20, kGrain = 1 << 10;
  std::vector<long> numbers(kNumbers, 1);
  long sum = 0;
  for (int repeat = 0; repeat < 20; ++repeat) {
    parallel_for(kNumbers, kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        if (race) {
          sum += numbers[i];
        } else {
          numbers[i] += long(i);
        }
      }
    });
    for (const long number : numbers) sum += number;
  }
  return sum;
}

double steps(const EncoderOptions& encoder, const std::string& optimizer_name) {
  const auto task = find_task("reverse").make({{"length", 16}, {"min_length", 3}}, /*seed=*/1);
  const auto train = task->dataset(Split::train);
  const TaskShape shape = task->shape();
  PrefetchLoader loader(Loader(*train, shape, {.batch = 128, .shuffle = true}));
  Parameters<float> parameters(/*seed=*/1);
  EncoderModelOptions options;
  options.encoder = encoder;
  options.classes = shape.classes;
  options.input.vocabulary = shape.vocabulary;
  options.input.max_length = shape.max_length;
  options.input.features = encoder.attention.width;
  options.input.positions = encoder.attention.positions;
  const EncoderModel<float> model(parameters.root(), options);
  const auto optimizer = make_optimizer<float>(optimizer_name, parameters, {.weight_decay = 0.01});
  AveragedWeights<float> ema(parameters, "ema");
  double sum = 0;
  for (std::uint64_t step = 0; step < 3; ++step) {
    const Batch batch = loader.next();
    const Context context = Context::train(/*seed=*/1, step);
    const auto logits = model({.ids = &batch.ids, .mask = batch.mask}, context);
    const auto loss = cross_entropy(logits, batch.targets);
    parameters.zero_grad();
    loss.backward();
    optimizer->step(1e-3, clip_factor(global_norm(parameters), 1.0));
    ema.update(0.1);
    sum += double(loss.value()());
  }
  return sum;
}

void all_models() {
  EncoderOptions first;
  first.layers = 2;
  first.attention = {.width = 32, .heads = 2, .dropout = 0.1};
  first.attention.positions = PositionKind::learned;
  first.dropout = 0.1;
  EncoderOptions second = first;
  second.attention.positions = PositionKind::rotary;
  second.attention.qkv_bias = true;
  second.norm = NormOrder::post;
  second.activation = Activation::relu;
  EncoderOptions third = first;
  third.attention.positions = PositionKind::relative_bias;
  third.normalization = Normalization::rms;
  for (const auto& [options, optimizer] :
       {std::pair{first, "adamw"}, std::pair{second, "sgd"}, std::pair{third, "lion"}}) {
    std::printf("%s: %.17g\n", optimizer, steps(options, optimizer));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  set_threads(3);
  if (what == "steps") {
    all_models();
  } else {
    std::printf("%ld\n", loop(what == "race"));
  }
}
