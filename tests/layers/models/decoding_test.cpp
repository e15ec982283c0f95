// Decoding with kept keys and values: the bits of a pass over all tokens, at a cost that grows by
// the same amount with each token.
#include <xgrad/layers/models/generate.hpp>

#include <gtest/gtest.h>

#include <xgrad/autograd/memory/memory.hpp>
#include <xgrad/layers/models/models.hpp>

#include "layers/models.hpp"
#include "support/gradients.hpp"

namespace xgrad {
namespace {

using test::random_ids;

const Rng kRng = Rng(21) / "decoding";
constexpr std::size_t kClasses = 6, kLongest = 9;

// Every way in which a token's attention can depend on where it stands, or on how many it sees.
std::vector<std::pair<std::string, MultiHeadAttentionOptions>> attentions() {
  std::vector<std::pair<std::string, MultiHeadAttentionOptions>> all;
  const auto add = [&](const std::string& name, const auto& change) {
    MultiHeadAttentionOptions options{.width = 12, .heads = 2, .qkv_bias = true};
    change(options);
    all.emplace_back(name, options);
  };
  using O = MultiHeadAttentionOptions;
  const auto positions = [&](const std::string& name, PositionKind kind) {
    add(name, [kind](O& o) { o.positions = kind, o.max_distance = 3; });
  };
  positions("none", PositionKind::none);
  positions("learned", PositionKind::learned);
  positions("sinusoidal", PositionKind::sinusoidal);
  positions("rotary", PositionKind::rotary);
  add("rotary, also between outputs and inputs", [](O& o) {
    o.positions = PositionKind::rotary;
    o.cross_positions = true;
  });
  positions("alibi", PositionKind::alibi);
  positions("relative_bias", PositionKind::relative_bias);
  add("exclude_self", [](O& o) { o.exclude_self = true; });
  add("value_dim", [](O& o) { o.value_dim = 5; });
  add("cosine", [](O& o) { o.weights.score = Score::cosine; });
  add("additive", [](O& o) { o.weights.score = Score::additive; });
  add("log_scale", [](O& o) { o.weights.log_scale = true; });
  add("log_scale and exclude_self", [](O& o) { o.weights.log_scale = o.exclude_self = true; });
  add("sparsemax", [](O& o) { o.weights.activation = AttentionActivation::sparsemax; });
  add("mean of relu", [](O& o) {
    o.weights.activation = AttentionActivation::relu;
    o.weights.mean = true;
    o.positions = PositionKind::rotary;
  });
  return all;
}

template <class T>
void draw_weights(const Parameters<T>& parameters) {
  for (const Parameter<T>& p : parameters) {
    p.variable.mutable_value() +=
        cast<T>(test::random_tensor(p.variable.shape(), kRng / p.name, -0.5, 0.5));
  }
}

std::vector<std::int32_t> draw_classes(std::size_t rows, std::size_t step) {
  std::vector<std::int32_t> classes;
  for (std::size_t b = 0; b < rows; ++b) {
    classes.push_back(std::int32_t((kRng / "classes" / step).below(kClasses, std::uint32_t(b))));
  }
  return classes;
}

template <class T>
void expect_outputs_with_the_same_bits(const MultiHeadAttentionOptions& attention, NormOrder norm) {
  EncoderDecoderOptions options;
  options.input = {.vocabulary = 7, .max_length = 5, .positions = attention.positions};
  options.encoder.layers = 2;
  options.encoder.attention = attention;
  options.encoder.norm = norm;
  options.classes = kClasses;
  options.max_outputs = kLongest;
  options.stablemax = norm == NormOrder::post;
  Parameters<T> parameters(1);
  const EncoderDecoderModel<T> model(parameters.root(), options);
  draw_weights(parameters);
  const Ids ids = random_ids({3, 5}, kRng, 7);
  ModelInput<T> input;
  input.ids = &ids;
  input.mask = test::lengths({5, 2, 4}, 5);
  const auto kept = model.decode(input), anew = without_cache<T>(model, input);
  for (std::size_t step = 0; step < kLongest; ++step) {
    ASSERT_TRUE(test::same_bits(kept->logits(), anew->logits())) << "step " << step;
    if (step + 1 == kLongest) break;
    if (step == 2 || step == 5) {  // some twice, some not at all, in another order
      const auto rows =
          step == 2 ? std::vector<std::size_t>{2, 0, 2, 1} : std::vector<std::size_t>{3, 1};
      kept->select(rows);
      anew->select(rows);
      ASSERT_TRUE(test::same_bits(kept->logits(), anew->logits())) << "selected at " << step;
    }
    const auto classes = draw_classes(kept->rows(), step);
    kept->append(classes);
    anew->append(classes);
  }
}

TEST(Decoding, OutputsHaveTheBitsOfAPassOverAllOfThem) {
  for (const auto& [name, attention] : attentions()) {
    SCOPED_TRACE(name);
    expect_outputs_with_the_same_bits<float>(attention, NormOrder::pre);
    expect_outputs_with_the_same_bits<double>(attention, NormOrder::post);
  }
}

EncoderModelOptions language_model(const MultiHeadAttentionOptions& attention) {
  EncoderModelOptions options;
  options.input = {.vocabulary = kClasses, .max_length = 40, .positions = attention.positions};
  options.encoder.layers = 2;
  options.encoder.attention = attention;
  options.encoder.attention.causal = true;
  options.classes = kClasses;
  options.stablemax = attention.exclude_self;
  return options;
}

// The logits of the last token of a pass over all tokens.
template <class T>
Tensor<T> last_logits(const EncoderModel<T>& model, const Ids& ids, std::size_t tokens) {
  Ids some = empty<std::int32_t>({ids.shape()[0], tokens});
  for (std::size_t b = 0; b < ids.shape()[0]; ++b) {
    std::copy_n(ids.data() + b * ids.shape()[1], tokens, some.data() + b * tokens);
  }
  ModelInput<T> input;
  input.ids = &some;
  const Tensor<T> logits = model(input, {}).value();
  Tensor<T> last = empty<T>({ids.shape()[0], kClasses});
  for (std::size_t b = 0; b < ids.shape()[0]; ++b) {
    std::copy_n(logits.data() + ((b + 1) * tokens - 1) * kClasses, kClasses,
                last.data() + b * kClasses);
  }
  return last;
}

TEST(Decoding, AContinuationHasTheBitsOfAPassOverAllTokens) {
  const Ids ids = random_ids({2, 40}, kRng / "text", kClasses);
  for (const auto& [name, attention] : attentions()) {
    SCOPED_TRACE(name);
    Parameters<float> parameters(1);
    const EncoderModel<float> model(parameters.root(), language_model(attention));
    draw_weights(parameters);
    for (const std::size_t prompt : {1, 7}) {
      Ids first = empty<std::int32_t>({2, prompt});
      for (std::size_t b = 0; b < 2; ++b) {
        for (std::size_t n = 0; n < prompt; ++n) first(b, n) = ids(b, n);
      }
      ModelInput<float> input;
      input.ids = &first;
      const auto text = model.decode(input);
      for (std::size_t n = prompt; n < 40; ++n) {
        ASSERT_TRUE(test::same_bits(text->logits(), last_logits(model, ids, n))) << n;
        text->append({ids(0, n), ids(1, n)});
      }
      EXPECT_TRUE(test::same_bits(text->logits(), last_logits(model, ids, 40)));
      if (attention.positions == PositionKind::learned) {
        EXPECT_TRUE(test::throws_with<ShapeError>(
            [&] {
              text->append({1, 1});
            },
            "expected at most 40 tokens, got 41"));
      }
    }
  }
}

// The multiplications of each class: a constant, and a part that grows in proportion to the classes
// before it. A pass over all classes grows quadratically.
TEST(Decoding, TheWorkForATokenGrowsLinearly) {
  MultiHeadAttentionOptions attention{.width = 16, .heads = 2};
  EncoderDecoderOptions options;
  options.input = {.vocabulary = 7, .max_length = 5};
  options.encoder.layers = 2;
  options.encoder.attention = attention;
  options.classes = kClasses;
  options.max_outputs = 40;
  Parameters<float> parameters(1);
  const EncoderDecoderModel<float> model(parameters.root(), options);
  const EncoderModel<float> continues(parameters.root() / "lm", language_model(attention));
  const Ids ids = random_ids({1, 5}, kRng, kClasses);
  ModelInput<float> input;
  input.ids = &ids;
  const auto work = [](Decoding<float>& decoding) {
    std::vector<double> counts;
    for (std::size_t n = 0; n < 30; ++n) {
      const Counters counters;
      decoding.append({1});
      counts.push_back(double(counters.flops()));
    }
    return counts;
  };
  const auto second_difference = [](const std::vector<double>& x, std::size_t n) {
    return x[n + 1] - 2 * x[n] + x[n - 1];
  };
  // Of each layer: 2 products of a query with the keys, and of the weights with the values.
  const double each = 2 * 2 * 2 * 16;
  for (const auto& decoding : {model.decode(input), continues.decode(input)}) {
    const std::vector<double> counts = work(*decoding);
    for (std::size_t n = 1; n + 1 < counts.size(); ++n) {
      EXPECT_EQ(second_difference(counts, n), 0) << n;
      EXPECT_EQ(counts[n] - counts[n - 1], each) << n;
    }
  }
  const auto anew = without_cache<float>(model, input);
  const std::vector<double> counts = work(*anew);
  for (std::size_t n = 1; n + 1 < counts.size(); ++n) EXPECT_GT(second_difference(counts, n), 0);
}

TEST(Decoding, ModelsThatSeeWhatFollowsCannotContinueTheirInput) {
  const auto refuses = [](const auto& change, bool padded = false) {
    EncoderModelOptions options = language_model({.width = 12, .heads = 2});
    change(options);
    Parameters<float> parameters(1);
    const EncoderModel<float> model(parameters.root(), options);
    const Ids ids = random_ids({2, 3}, kRng, kClasses);
    ModelInput<float> input;
    input.ids = &ids;
    if (padded) input.mask = test::lengths({3, 2}, 3);
    return test::throws_with<ShapeError>(
        [&] { model.decode(input); },
        "to continue its input, each token must depend only on itself");
  };
  using O = EncoderModelOptions;
  EXPECT_FALSE(refuses([](O&) {}));
  EXPECT_TRUE(refuses([](O&) {}, true));
  EXPECT_TRUE(refuses([](O& o) { o.encoder.attention.causal = false; }));
  EXPECT_TRUE(refuses([](O& o) { o.pool = Pool::mean; }));
  EXPECT_TRUE(refuses([](O& o) { o.encoder.normalization = Normalization::batch; }));
  EXPECT_TRUE(refuses([](O& o) { o.input.positions = PositionKind::relative_index; }));
}

}  // namespace
}  // namespace xgrad
