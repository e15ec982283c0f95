#include "autograd/op_table.hpp"

namespace xgrad::test {

namespace {

using V = Variable<double>;

struct Kind {
  const char* variant;
  bool masked = false;
  double dropout = 0;
  double range = 1;
  bool wide = false;  // n is the width of a head; otherwise the number of keys
  bool full = false, causal = false, exclude_self = false, bias = false;

  bool hides() const { return full || causal || exclude_self; }
};

// Sample 0 lets query 1 see its first and last key; any other query may lose all.
std::shared_ptr<const Mask> random_full_mask(const Shape& shape, const Rng& rng) {
  auto mask = std::make_shared<Mask>(random_mask(shape, rng, 0.5));
  const std::size_t keys = shape[2];
  for (std::size_t row = 0; row < shape[0] * shape[1]; ++row) {
    if (rng.uniform(1000 + row) < 0.3) std::fill_n(mask->data() + row * keys, keys, 0);
  }
  (*mask)(0, 1, 0) = (*mask)(0, 1, keys - 1) = 1;
  return mask;
}

// Of a shape that broadcasts to (B, H, N, M). Equal for all keys it would not matter.
Shape random_bias_shape(const Rng& rng, const Shape& scores) {
  Shape shape = scores;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (rng.uniform(axis) < 0.4) shape[axis] = 1;
  }
  if (rng.uniform(3) < 0.3) shape.erase(shape.begin());
  return shape;
}

// Sample 0 keeps its first key; any other may lose all.
std::shared_ptr<const Mask> random_key_mask(const Shape& shape, const Rng& rng) {
  auto mask = std::make_shared<Mask>(random_mask(shape, rng, 0.5));
  for (std::size_t b = 1; b < shape[0]; ++b) {
    if (rng.uniform(1000 + b) < 0.3) std::fill_n(mask->data() + b * shape[1], shape[1], 0);
  }
  (*mask)(0, 0) = (*mask)(0, shape[1] - 1) = 1;  // two: with one key the scores do not matter
  return mask;
}

AttentionOptions random_options(const Kind& kind, const Rng& rng, std::size_t batch,
                                std::size_t queries, std::size_t keys) {
  AttentionOptions options;
  options.heads = random_size(rng / "H", 1, 3);
  if (rng.uniform(0) < 0.3) options.scale = 0.5 + rng.uniform(1);
  if (kind.masked) options.masks.key_mask = random_key_mask({batch, keys}, rng / "keys");
  if (kind.full) options.masks.mask = random_full_mask({batch, queries, keys}, rng / "full");
  options.causal = kind.causal, options.exclude_self = kind.exclude_self;
  options.dropout = {.p = kind.dropout, .rng = rng / "mask", .first_sample = 3};
  for (double factor = 0; kind.dropout > 0 && factor == 0;) {  // the first key has to pass
    ++options.dropout.first_sample;
    dropout_factors(*options.dropout.rng, kind.dropout, options.dropout.first_sample, 0, 0, 1,
                    &factor);
  }
  return options;
}

Sample attention_sample(const Kind& kind, const Rng& rng, std::size_t n) {
  const std::size_t batch = random_size(rng / "B", 1, 3),
                    queries = random_size(rng / "N", kind.hides() ? 3 : 1, 3);
  const std::size_t keys =
      kind.wide ? random_size(rng / "M", 2, 4) : n + 1 + (kind.exclude_self ? 1 : 0);
  const AttentionOptions options = random_options(kind, rng, batch, queries, keys);
  const std::size_t d_k = options.heads * (kind.wide ? n : random_size(rng / "d_k", 1, 3));
  const std::size_t d_v = options.heads * (kind.wide ? n : random_size(rng / "d_v", 1, 3));
  std::vector<Tensor<double>> inputs{
      random_tensor({batch, queries, d_k}, rng / "q", -kind.range, kind.range),
      random_tensor({batch, keys, d_k}, rng / "k", -kind.range, kind.range),
      random_tensor({batch, keys, d_v}, rng / "v")};
  if (!kind.bias) {
    return Sample([options](const auto& in) { return attention(in[0], in[1], in[2], options); },
                  inputs);
  }
  inputs.push_back(random_tensor(
      random_bias_shape(rng / "shape", {batch, options.heads, queries, keys}), rng / "bias"));
  return Sample(
      [options](const auto& in) { return attention(in[0], in[1], in[2], options, in[3]); }, inputs);
}

// Under masks.
Sample attention_without(std::size_t batch, std::size_t queries, std::size_t keys) {
  const auto ones = [](const Shape& shape) {
    return std::make_shared<const Mask>(full<std::uint8_t>(shape, 1));
  };
  const AttentionOptions options{
      .heads = 2, .masks = {.key_mask = ones({batch, keys}), .mask = ones({batch, queries, keys})}};
  return Sample(
      [options](const auto& x) { return attention(x[0], x[1], x[2], options); },
      {full({batch, queries, 4}, 1.0), full({batch, keys, 4}, 1.0), full({batch, keys, 4}, 1.0)});
}

OpCase attention_case(const Kind& kind) {
  const V x(full({1, 2, 4}, 1.0));
  const AttentionOptions two{.heads = 2};
  return {
      .op = "attention",
      .variant = kind.variant,
      .sample = [kind](const Rng& rng, std::size_t n) { return attention_sample(kind, rng, n); },
      .wrong_calls = {
          [=] {
            attention(V(full({2, 4}, 1.0)), x, x, two);
          },
          [=] {
            attention(V(full({2, 2, 4}, 1.0)), x, x, two);
          },
          [=] {
            attention(x, V(full({1, 3, 4}, 1.0)), x, two);
          },
          [=] {
            attention(x, V(full({1, 2, 6}, 1.0)), x, two);
          },
          [=] {
            attention(x, x, V(full({1, 2, 3}, 1.0)), two);
          },
          [=] { attention(x, x, x, {.heads = 3}); },
          [=] { attention(x, x, x, {.heads = 0}); },
          [=] {
            attention(
                x, x, x,
                {.masks = {.key_mask = std::make_shared<Mask>(full<std::uint8_t>({1, 3}, 1))}});
          },
          [=] {
            attention(
                x, x, x,
                {.masks = {.mask = std::make_shared<Mask>(full<std::uint8_t>({1, 2, 3}, 1))}});
          },
          [=] { attention(x, x, x, {.dropout = {.p = 1}}); },
          [=] {
            attention(x, x, x, {}, ones({1, 1, 2, 3}));
          },
          [=] {
            attention(x, x, x, {}, ones({2, 1, 2, 2}));
          },
          [=] {
            attention(x, x, x, {}, ones({1, 1, 1, 2, 2}));
          },
      },
      .zero_extents = {attention_without(0, 2, 3), attention_without(2, 0, 3),
                       attention_without(2, 3, 0)},
      .large = 5003};
}

OpCase self_attention_case(const Kind& kind) {
  const V x(full({1, 2, 12}, 1.0));
  return {
      .op = "self_attention",
      .variant = kind.variant,
      .sample =
          [kind](const Rng& rng, std::size_t n) {
            const std::size_t batch = random_size(rng / "B", 1, 3),
                              tokens = kind.wide ? 3 : n + (kind.exclude_self ? 2 : 1);
            const AttentionOptions options = random_options(kind, rng, batch, tokens, tokens);
            const std::size_t d = kind.wide ? n : random_size(rng / "d", 1, 3);
            const Tensor<double> qkv = random_tensor({batch, tokens, 3 * options.heads * d},
                                                     rng / "qkv", -kind.range, kind.range);
            if (!kind.bias) {
              return Sample([options](const auto& in) { return self_attention(in[0], options); },
                            {qkv});
            }
            const Shape shape =
                random_bias_shape(rng / "shape", {batch, options.heads, tokens, tokens});
            return Sample(
                [options](const auto& in) { return self_attention(in[0], options, in[1]); },
                {qkv, random_tensor(shape, rng / "bias")});
          },
      .wrong_calls = {
          [=] {
            self_attention(V(full({2, 12}, 1.0)), {});
          },
          [=] {
            self_attention(V(full({1, 2, 8}, 1.0)), {});
          },
          [=] { self_attention(x, {.heads = 3}); },
          [=] { self_attention(x, {.heads = 0}); },
          [=] {
            self_attention(
                x, {.masks = {.key_mask = std::make_shared<Mask>(full<std::uint8_t>({2, 2}, 1))}});
          },
          [=] {
            self_attention(
                x, {.masks = {.mask = std::make_shared<Mask>(full<std::uint8_t>({2, 2, 2}, 1))}});
          },
          [=] { self_attention(x, {.dropout = {.p = -0.5}}); },
          [=] {
            self_attention(x, {}, ones({3, 2}));
          },
      },
      .large = kind.wide ? 5003u : 300u};
}

}  // namespace

std::vector<OpCase> attention_cases() {
  std::vector<OpCase> cases;
  for (const Kind& kind :
       {Kind{.variant = ""}, Kind{.variant = "wide", .wide = true},
        Kind{.variant = "masked", .masked = true}, Kind{.variant = "dropout", .dropout = 0.3},
        Kind{.variant = "all", .masked = true, .dropout = 0.3, .wide = true},
        Kind{.variant = "sharp", .range = 5}, Kind{.variant = "full_mask", .full = true},
        Kind{.variant = "causal", .causal = true},
        Kind{.variant = "exclude_self", .exclude_self = true},
        Kind{.variant = "bias", .dropout = 0.3, .bias = true},
        Kind{.variant = "bias_and_masks",
        .masked = true,
        .wide = true,
        .full = true,
        .bias = true}}) {
    cases.push_back(attention_case(kind));
    cases.push_back(self_attention_case(kind));
  }
  return cases;
}

}  // namespace xgrad::test
