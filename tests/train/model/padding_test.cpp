// Of every kind of model, mask, pooling and loss that a config can name: an example gives the same
// alone as beside longer ones, and a mask of ones the same as none.
#include <gtest/gtest.h>

#include <algorithm>

#include <xgrad/train/model/build.hpp>
#include <xgrad/train/model/objective.hpp>

#include "support/temporary_directory.hpp"
#include "support/tensors.hpp"

namespace xgrad {
namespace {

const std::string kSizes = "examples = 64\nvalidation = 8\ntest = 8\n";
const std::string kReverse =
    "name = 'reverse'\n" + kSizes + "length = 7\nmin_length = 2\nsymbols = 6\n";
const std::string kMajority = "name = 'majority'\n" + kSizes + "length = 12\nmin_length = 2\n";
const std::string kMean = "name = 'mean_of_marked'\n" + kSizes + "length = 7\nmin_length = 2\n";
const std::string kMotif = "name = 'motif'\n" + kSizes + "length = 9\nmin_length = 6\n";
const std::string kNeighbours = "name = 'neighbours'\n" + kSizes + "length = 7\nmin_length = 3\n";
const std::string kDistinct =
    "name = 'distinct'\n" + kSizes + "length = 7\nmin_length = 2\nsymbols = 6\n";

// Yes-or-no answers to rows of different lengths, in a file that goes with the program.
std::string answers() {
  static const test::TemporaryDirectory folder;
  static const std::string path = [] {
    std::string rows = "text,label\n";
    for (std::size_t i = 0; i < 80; ++i) {
      for (std::size_t n = 0; n < 2 + i % 5; ++n)
        rows += "w" + std::to_string(i * (n + 3) % 7) + " ";
      rows += std::to_string(i) + (i % 2 ? ",odd " : ",") + (i % 3 ? "" : "third") + "\n";
    }
    return folder.write("answers.csv", rows);
  }();
  return "name = 'files'\nlabels = 'multi_label'\ntrain = '" + path + "'\n";
}

struct Variant {
  std::string task;
  std::vector<std::string> overrides;
};

std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (const std::string pool : {"cls", "mean", "max", "attention"}) {
    for (const std::string mask : {"none", "causal"}) {
      if (pool == "cls" && mask == "causal") continue;  // the class token would see nothing
      all.push_back({kMajority, {"model.pool=" + pool, "model.mask=" + mask}});
      all.push_back({kMean, {"model.pool=" + pool, "model.mask=" + mask}});
      all.push_back({answers(), {"model.pool=" + pool, "model.mask=" + mask}});
    }
    all.push_back({kMotif, {"model.pool=" + pool, "model.mask=adjacency"}});
    if (pool != "cls") all.push_back({kMajority, {"model.pool=" + pool, "model.kind=window_mlp"}});
  }
  for (const std::string loss : {"mse", "mae", "huber"}) {
    all.push_back({kMean, {"train.loss=" + loss}});
  }
  for (const std::string positions :
       {"none", "learned", "sinusoidal", "relative_index", "rotary", "alibi", "relative_bias"}) {
    all.push_back({kReverse, {"model.positions=" + positions}});
    all.push_back({kMajority, {"model.positions=" + positions, "model.pool=cls"}});
    if (positions == "relative_index") continue;
    all.push_back({kDistinct, {"model.kind=encoder_decoder", "model.positions=" + positions}});
  }
  all.push_back(
      {kDistinct,
       {"model.kind=encoder_decoder", "model.positions=rotary", "model.cross_positions=true"}});
  for (const std::string score : {"dot", "cosine", "additive"}) {
    for (const std::string activation :
         {"softmax", "relu", "squared_relu", "sigmoid", "sparsemax"}) {
      for (const std::string mask : {"none", "causal"}) {
        all.push_back(
            {kReverse,
             {"model.score=" + score, "model.attention_activation=" + activation,
              "model.mask=" + mask, "model.log_scale=true",
              "model.attention_mean=" + std::string(activation == "softmax" ? "false" : "true")}});
      }
    }
  }
  for (const std::string norm : {"post", "sandwich", "none"}) {
    all.push_back({kReverse, {"model.norm=" + norm, "model.normalization=rms"}});
  }
  all.push_back({kReverse, {"model.exclude_self=true", "train.label_smoothing=0.1"}});
  all.push_back({kReverse, {"model.kind=mlp"}});
  all.push_back({kReverse, {"model.kind=window_mlp", "model.window=5"}});
  all.push_back({kNeighbours, {"model.mask=adjacency"}});
  all.push_back({kNeighbours, {"model.mask=none"}});
  return all;
}

// A model of the variant, always with the same parameters, and its examples.
struct Subject {
  explicit Subject(const Variant& variant)
      : config(parse_config("[task]\n" + variant.task +
                                "[model]\nwidth = 8\nheads = 2\nlayers = 2\ndropout = 0.0\n"
                                "attention_dropout = 0.0\n[train]\nsteps = 1\n",
                            "test", variant.overrides)),
        task(make_task(config)),
        shape(task->shape()),
        data(task->dataset(Split::train)),
        parameters(3),
        model(make_model<double>(config, shape, parameters)) {
    for (const Parameter<double>& p : parameters) {  // biases start at 0, which would hide some
      p.variable.mutable_value() +=
          test::random_tensor(p.variable.shape(), Rng(5) / p.name, -0.2, 0.2);
    }
  }

  // Adds the gradient of the sum of the losses to that of the parameters.
  Tensor<double> run(const Batch& batch) const {
    const BatchInput<double> input(batch);
    const Variable<double> outputs = (*model)(input.input(), {});
    mean_loss(make_objective(config.train, shape), outputs, batch, 1.0).backward();
    return outputs.value();
  }

  std::vector<Tensor<double>> gradients() const {
    std::vector<Tensor<double>> all;
    for (const Parameter<double>& p : parameters) {
      all.push_back(p.variable.has_grad() ? p.variable.grad() : zeros<double>(p.variable.shape()));
      if (p.variable.has_grad()) p.variable.zero_grad();
    }
    return all;
  }

  // Outputs of an example: (K), or those of its tokens or targets, (N, K).
  std::size_t outputs_of(const Example& example) const {
    if (shape.output == OutputKind::generated) return example.targets.size() * shape.classes;
    return shape.classes *
           (shape.output == OutputKind::tokens ? length_of(example, shape) : std::size_t(1));
  }

  Config config;
  std::unique_ptr<Task> task;
  TaskShape shape;
  std::unique_ptr<Dataset> data;
  Parameters<double> parameters;
  std::unique_ptr<SequenceModel<double>> model;
};

std::string title(const Variant& variant) {
  std::string text = variant.task.substr(0, variant.task.find('\n'));
  for (const std::string& word : variant.overrides) text += " " + word;
  return text;
}

double largest(const std::vector<Tensor<double>>& tensors) {
  double most = 0;
  for (const Tensor<double>& x : tensors) {
    for (std::size_t i = 0; i < x.size(); ++i) most = std::max(most, std::abs(x.data()[i]));
  }
  return most;
}

}  // namespace

TEST(Padding, S4_1_AnExampleGivesTheSameAloneAndBesideLongerOnes) {
  for (const Variant& variant : variants()) {
    SCOPED_TRACE(title(variant));
    const Subject subject(variant);
    std::vector<Example> examples;
    for (std::size_t i = 0; i < 6; ++i) examples.push_back(subject.data->get(0, i));
    const Batch batch = collate(examples, subject.shape);
    ASSERT_TRUE(batch.mask);
    const Tensor<double> together = subject.run(batch);
    const std::vector<Tensor<double>> expected = subject.gradients();
    for (std::size_t i = 0; i < examples.size(); ++i) {
      const Tensor<double> alone = subject.run(collate({examples[i]}, subject.shape));
      const double* row = together.data() + i * (together.size() / examples.size());
      ASSERT_EQ(alone.size(), subject.outputs_of(examples[i]));
      for (std::size_t j = 0; j < alone.size(); ++j) {
        ASSERT_NEAR(row[j], alone.data()[j], 1e-12) << "example " << i << ", output " << j;
      }
    }
    const std::vector<Tensor<double>> sum = subject.gradients();
    for (std::size_t i = 0; i < sum.size(); ++i) {
      EXPECT_TENSOR_NEAR(sum[i], expected[i], 1e-12 * largest(expected)) << i;
    }
  }
}

TEST(Padding, S4_1_AMaskOfOnesIsNone) {
  for (const Variant& variant : variants()) {
    SCOPED_TRACE(title(variant));
    const Subject subject(variant);
    const std::size_t length = length_of(subject.data->get(0, 0), subject.shape);
    std::vector<Example> examples;
    for (std::size_t i = 0; examples.size() < 3; ++i) {
      const Example example = subject.data->get(0, i);
      if (length_of(example, subject.shape) == length) examples.push_back(example);
    }
    Batch batch = collate(examples, subject.shape);
    ASSERT_FALSE(batch.mask);
    const Tensor<double> plain = subject.run(batch);
    const std::vector<Tensor<double>> expected = subject.gradients();
    batch.mask = std::make_shared<Mask>(full<std::uint8_t>({3, length}, 1));
    EXPECT_TRUE(test::same_bits(subject.run(batch), plain));
    const std::vector<Tensor<double>> masked = subject.gradients();
    for (std::size_t i = 0; i < masked.size(); ++i) {
      EXPECT_TRUE(test::same_bits(masked[i], expected[i])) << i;
    }
  }
}

}  // namespace xgrad
