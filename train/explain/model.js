// The whole model: computes logits from an input, for one example at a time.
//
// Many functions have the names of the C++ sources in layers/ and compute the same, with the same
// weights. Weights are float32; sums are JavaScript numbers, which are doubles. A matrix has a row
// for each token and a column for each feature; `data` holds its numbers row by row.
//
// g is the state of one forward pass: g.config (the keys of [model]), g.shape (of the task),
// g.weights (by name), and g.take(name, x). The pass gives every activation x to g.take() and
// continues with the value that it returns. This one hook captures activations, silences heads and
// patches. A decoder reads token after token: g.first is the number of earlier tokens, and g.cache
// has their keys and values.

export const matrix = (rows, cols) => ({ rows, cols, data: new Float64Array(rows * cols) });

export function each(x, f) {
  const y = matrix(x.rows, x.cols);
  for (let i = 0; i < y.data.length; ++i) y.data[i] = f(x.data[i], i % x.cols, Math.floor(i / x.cols));
  return y;
}

const add = (x, y) => ({ ...x, data: x.data.map((value, i) => value + y.data[i]) });

const columns = (x, from, to) => {
  const y = matrix(x.rows, to - from);
  for (let n = 0; n < x.rows; ++n) y.data.set(x.data.subarray(n * x.cols + from, n * x.cols + to), n * y.cols);
  return y;
};

const stack = (...parts) => {
  const y = matrix(parts.reduce((rows, x) => rows + x.rows, 0), parts[0].cols);
  let at = 0;
  for (const x of parts) y.data.set(x.data, at), at += x.data.length;
  return y;
};

// ---- layers -----------------------------------------------------------------------------------

// The sum of x[i + k] y[j + k] over k = 0 ... count - 1.
function dot(x, i, y, j, count) {
  let sum = 0;
  for (let k = 0; k < count; ++k) sum += x[i + k] * y[j + k];
  return sum;
}

// x W^T + b, with the rows of W from `first` on
function linear(g, x, path, first = 0, outs = 0, join = ".") {
  const W = g.weights[`${path}${join}weight`], b = g.weights[`${path}${join}bias`];
  const y = matrix(x.rows, outs || W.shape[0]);
  for (let n = 0; n < x.rows; ++n) {
    for (let o = 0; o < y.cols; ++o) {
      y.data[n * y.cols + o] = dot(x.data, n * x.cols, W.data, (first + o) * x.cols, x.cols) + (b ? b.data[first + o] : 0);
    }
  }
  return y;
}

// 2/sqrt(pi) e^(-x^2) (x + 2 x^3 / 3 + 4 x^5 / 15 + ...): all terms have the same sign
function erf(x) {
  if (Math.abs(x) > 6) return Math.sign(x);
  let term = x, sum = x;
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); ++n) sum += term *= 2 * x * x / (2 * n + 1);
  return 2 / Math.sqrt(Math.PI) * Math.exp(-x * x) * sum;
}

const sigmoid = (x) => 1 / (1 + Math.exp(-x));

const ACTIVATIONS = {
  gelu: (x) => x / 2 * (1 + erf(x / Math.SQRT2)),
  gelu_tanh: (x) => x / 2 * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  relu: (x) => Math.max(x, 0),
  silu: (x) => x * sigmoid(x),
};

const activated = (g, x) => each(x, ACTIVATIONS[g.config.activation]);

function mlp(g, x, path) {
  const hidden = g.take(`${path}.mlp_hidden`, activated(g, linear(g, x, `${path}.linear1`)));
  return linear(g, hidden, `${path}.linear2`);
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

// (x - mean) / sqrt(variance + eps) over the features of a token, over all tokens with batch norm;
// RMS norm does not subtract the mean.
function norm(g, x, path) {
  const kind = g.config.normalization, batch = kind === "batch";
  const weight = g.weights[`${path}.weight`].data, bias = g.weights[`${path}.bias`]?.data;
  const groups = Array.from({ length: batch ? x.cols : x.rows }, (_, i) => {
    const values = batch ? columns(x, i, i + 1).data : x.data.subarray(i * x.cols, (i + 1) * x.cols);
    const centre = kind === "rms" ? 0 : mean(values);
    return [centre, 1 / Math.sqrt(mean(values.map((value) => (value - centre) ** 2)) + g.config.norm_eps)];
  });
  return each(x, (value, d, n) => {
    const [centre, factor] = groups[batch ? d : n];
    return (value - centre) * factor * weight[d] + (bias ? bias[d] : 0);
  });
}

// ---- positions --------------------------------------------------------------------------------

// Adds to each token the vector of its place.
function withPositions(g, x, path, kind) {
  const table = g.weights[`${path}.weight`];
  if (kind === "learned") return each(x, (value, d, n) => value + table.data[(g.first + n) * x.cols + d]);
  if (kind === "sinusoidal") {
    return each(x, (value, d, n) => {
      const angle = (g.first + n) / 10000 ** ((d - d % 2) / x.cols);
      return value + (d % 2 ? Math.cos(angle) : Math.sin(angle));
    });
  }
  if (kind === "relative_index") {  // its place as a fraction, and whether it is odd
    const places = matrix(x.rows, 2);
    for (let n = 0; n < x.rows; ++n) places.data.set([n / x.rows, n % 2 ? -1 : 1], 2 * n);
    return add(x, linear(g, places, path));
  }
  if (kind === "learned_2d") {  // a vector for the row of a patch and one for its column
    const rows = g.weights[`${path}.row_weight`], cols = g.weights[`${path}.column_weight`];
    const across = cols.shape[0], first = x.rows - rows.shape[0] * across;  // 1 after a class token
    return each(x, (value, d, n) => n < first ? value : value +
      rows.data[Math.floor((n - first) / across) * x.cols + d] + cols.data[(n - first) % across * x.cols + d]);
  }
  return x;  // the others act in attention
}

// Turns each pair of features (2i, 2i + 1) of a head by an angle that grows with the place.
function rotary(x, size, first) {
  return each(x, (value, d, n) => {
    const even = d - d % 2, angle = (first + n) * 10000 ** (-(even % size) / size), at = n * x.cols + even;
    const a = x.data[at], b = x.data[at + 1];
    return d % 2 ? a * Math.sin(angle) + b * Math.cos(angle) : a * Math.cos(angle) - b * Math.sin(angle);
  });
}

function alibiSlopes(heads) {
  const power = 2 ** Math.floor(Math.log2(heads)), slopes = [];
  for (let h = 1; h <= power; ++h) slopes.push(2 ** (-8 * h / power));
  for (let h = 1; slopes.length < heads; h += 2) slopes.push(2 ** (-8 * h / (2 * power)));
  return slopes;
}

// The bias that is added to the score of query n and key m.
function positionBias(g, path) {
  const { positions, heads, max_distance: most } = g.config;
  if (positions === "alibi") {
    const slopes = alibiSlopes(heads);
    return (h, n, m) => -slopes[h] * Math.abs(m - n);
  }
  if (positions !== "relative_bias") return () => 0;
  const table = g.weights[`${path}.relative_position_bias_table`].data;
  return (h, n, m) => table[(Math.min(Math.max(m - n, -most), most) + most) * heads + h];
}

// ---- attention --------------------------------------------------------------------------------

// The score of query n and key m, from the features of one head.
const SCORES = {
  dot: (q, k) => dot(q, 0, k, 0, q.length),
  cosine: (q, k) => {
    const length = (x) => Math.sqrt(SCORES.dot(x, x) / x.length + 1e-24);
    return SCORES.dot(q, k) / (length(q) * length(k));
  },
  additive: (q, k, w) => q.reduce((sum, value, i) => sum + w[i] * Math.tanh(value + k[i]), 0),
};

function scoreFactor({ score, scale, temperature }, size) {
  const usual = { dot: 1 / Math.sqrt(size), cosine: Math.sqrt(size), additive: 1 }[score];
  return (scale > 0 ? scale : usual) / (score === "cosine" ? size : 1) / temperature;
}

// Computes the weights of the keys that a query sees from their scores.
const WEIGHTS = {
  softmax: (scores) => {
    const largest = Math.max(...scores), powers = scores.map((s) => Math.exp(s - largest));
    const sum = powers.reduce((a, b) => a + b, 0);
    return powers.map((p) => p / sum);
  },
  relu: (scores) => scores.map((s) => Math.max(s, 0)),
  squared_relu: (scores) => scores.map((s) => Math.max(s, 0) ** 2),
  sigmoid: (scores) => scores.map(sigmoid),
  sparsemax: (scores) => {  // max(s - tau, 0), with the tau for which they sum to 1
    let sum = 0, tau = 0;
    [...scores].sort((a, b) => b - a).forEach((s, i) => {
      sum += s;
      if (1 + (i + 1) * s > sum) tau = (sum - 1) / (i + 1);
    });
    return scores.map((s) => Math.max(s - tau, 0));
  },
};

// Whether token n may look at token m of the same sequence.
function sees(g, causal) {
  const { exclude_self: others } = g.config;
  return (n, m) => (!causal || m <= n) && (!others || m !== n) && (!g.adjacency || g.adjacency(n, m));
}

const headSize = ({ head_dim, width, heads }) => head_dim || width / heads;

// The queries (part 0), keys (1) or values (2) of x.
function project(g, x, path, part) {
  const inner = g.config.heads * headSize(g.config);
  return g.take(`${path}.${["queries", "keys", "values"][part]}`, linear(g, x, `${path}.in_proj`, part * inner, inner, "_"));
}

function rotated(g, x, self) {
  return g.config.positions === "rotary" && (self || g.config.cross_positions) ? rotary(x, headSize(g.config), g.first) : x;
}

// The keys and values of all tokens so far; x has the newest tokens. In cross-attention, x is the encoder's outputs;
// their keys and values never change, so they are computed once.
function keysAndValues(g, x, path, self) {
  const before = g.cache?.[path];
  if (before && !self) return before;
  const keys = rotated(g, project(g, x, path, 1), self), values = project(g, x, path, 2);
  const all = before ? { keys: stack(before.keys, keys), values: stack(before.values, values) } : { keys, values };
  if (g.cache) g.cache[path] = all;
  return all;
}

// Multi-head attention. Scores and weights have the rows of head 0, then the rows of head 1, ...
function attention(g, query, memory, path, { self = true, causal = false } = {}) {
  const { heads, score, log_scale, attention_activation, attention_mean } = g.config;
  const size = headSize(g.config), inner = heads * size;
  const q = rotated(g, project(g, query, path, 0), self), { keys: k, values: v } = keysAndValues(g, memory, path, self);

  const of = (x, h, n) => x.data.subarray(n * inner + h * size, n * inner + (h + 1) * size);
  const may = self ? sees(g, causal) : () => true, bias = self ? positionBias(g, path) : () => 0;
  const seen = Array.from({ length: q.rows }, (_, n) => [...Array(k.rows).keys()].filter((m) => may(g.first + n, m)));
  const count = (n) => Math.max(seen[n].length, 1);
  const factor = scoreFactor(g.config, size);
  const w = Array.from({ length: heads }, (_, h) => g.weights[`${path}.score_weight`]?.data.subarray(h * size, (h + 1) * size));

  const scores = g.take(`${path}.scores`, each(matrix(heads * q.rows, k.rows), (_, m, row) => {
    const h = Math.floor(row / q.rows), n = row % q.rows;
    const s = factor * SCORES[score](of(q, h, n), of(k, h, m), w[h]);
    return (log_scale ? s * Math.log(count(n)) : s) + bias(h, g.first + n, m);
  }));
  const weights = matrix(scores.rows, scores.cols);  // 0 for keys that are not seen
  for (let row = 0; row < weights.rows; ++row) {
    const keys = seen[row % q.rows], at = row * k.rows;
    WEIGHTS[attention_activation](keys.map((m) => scores.data[at + m])).forEach((p, i) => {
      weights.data[at + keys[i]] = attention_mean ? p / count(row % q.rows) : p;
    });
  }
  const p = g.take(`${path}.weights`, weights);
  const outputs = matrix(q.rows, inner);  // the sum of the values by their weights
  for (let row = 0; row < p.rows; ++row) {
    const h = Math.floor(row / q.rows), to = of(outputs, h, row % q.rows);
    for (let m = 0; m < k.rows; ++m) {
      const weight = p.data[row * k.rows + m], value = of(v, h, m);
      if (weight) for (let d = 0; d < size; ++d) to[d] += weight * value[d];
    }
  }
  const joined = g.take(`${path}.head_outputs`, outputs);
  return g.config.out_proj ? linear(g, joined, `${path}.out_proj`) : joined;
}

// ---- blocks -----------------------------------------------------------------------------------

// x + f(x), with norms where the config wants them.
function residual(g, x, path, number, f) {
  const order = g.config.norm, at = `${path}.norm${number}`;
  let y = f(order === "pre" || order === "sandwich" ? norm(g, x, at) : x);
  if (order === "sandwich") y = norm(g, y, `${at}_post`);
  y = add(x, y);
  return order === "post" ? norm(g, y, at) : y;
}

// The blocks of an encoder; with a memory, of a decoder.
function blocks(g, x, path, memory) {
  for (let i = 0; i < g.config.layers; ++i) {
    const at = `${path}.layers.${i}`, causal = Boolean(memory) || g.config.mask === "causal";
    x = g.take(`${at}.residual_before`, x);
    x = residual(g, x, at, 1, (y) => attention(g, y, y, `${at}.self_attn`, { causal }));
    x = g.take(`${at}.residual_middle`, x);
    if (memory) {
      x = residual(g, x, at, 2, (y) => attention(g, y, memory, `${at}.multihead_attn`, { self: false }));
      x = g.take(`${at}.residual_cross`, x);
    }
    x = residual(g, x, at, memory ? 3 : 2, (y) => mlp(g, y, at));
    x = g.take(`${at}.residual_after`, x);
  }
  return x;
}

const finalNorm = (g, x, path) => g.config.final_norm ? norm(g, x, `${path}.norm`) : x;

// ---- from the input, to the output -------------------------------------------------------------

// The square patches of an image (H, W, C), row by row, each with `overlap` pixels around it.
function patches(g, pixels) {
  const { height, width, channels } = g.shape, { patch, patch_overlap: overlap } = g.config;
  const across = width / patch, side = patch + 2 * overlap;
  return each(matrix(height / patch * across, side * side * channels), (_, i, n) => {
    const c = i % channels, place = Math.floor(i / channels);
    const row = Math.floor(n / across) * patch + Math.floor(place / side) - overlap;
    const col = n % across * patch + place % side - overlap;
    const inside = row >= 0 && row < height && col >= 0 && col < width;
    return inside ? pixels[(row * width + col) * channels + c] : 0;
  });
}

function rowsOf(g, ids, path) {
  const oneHot = g.weights[`${path}.one_hot.weight`], table = oneHot ?? g.weights[`${path}.token.weight`];
  const width = oneHot ? table.shape[0] : table.shape[1], bias = g.weights[`${path}.one_hot.bias`]?.data;
  return each(matrix(ids.length, width), (_, d, n) =>
    oneHot ? table.data[d * table.shape[1] + ids[n]] + bias[d] : table.data[ids[n] * width + d]);
}

function embedding(g, { ids, features }, path, kind) {
  let x;
  if (ids) x = rowsOf(g, ids, path);
  else if (g.shape.input === "image") x = linear(g, patches(g, features), `${path}.patch`);
  else x = linear(g, { rows: features.length / g.shape.features, cols: g.shape.features, data: features }, `${path}.vector`);
  const token = g.weights[`${path}.class_token`];
  if (token) x = stack({ rows: 1, cols: x.cols, data: token.data }, x);
  x = withPositions(g, x, `${path}.position`, kind);
  return g.config.embedding_norm ? norm(g, x, `${path}.norm`) : x;
}

// One vector for the sequence.
const POOLS = {
  cls: (x) => x.data.subarray(0, x.cols),
  mean: (x) => Float64Array.from({ length: x.cols }, (_, d) => mean(columns(x, d, d + 1).data)),
  max: (x) => Float64Array.from({ length: x.cols }, (_, d) => Math.max(...columns(x, d, d + 1).data)),
  attention: (x, query) => {
    const row = (n) => x.data.subarray(n * x.cols, (n + 1) * x.cols);
    const scores = Array.from({ length: x.rows }, (_, n) => SCORES.dot(row(n), query.data) / Math.sqrt(x.cols));
    const p = WEIGHTS.softmax(scores);
    return Float64Array.from({ length: x.cols }, (_, d) => p.reduce((sum, weight, n) => sum + weight * row(n)[d], 0));
  },
};

const symlog = (x) => Math.sign(x) * Math.log1p(Math.abs(x));

function head(g, x) {
  if (g.shape.output === "sequence") x = { rows: 1, cols: x.cols, data: POOLS[g.config.pool](x, g.weights["pool.query"]) };
  const y = linear(g, x, "head");
  return g.config.stablemax ? each(y, symlog) : y;
}

// The features of each token and of its neighbours side by side, 0 beyond both ends.
function windows(g, x) {
  const window = g.config.kind === "mlp" ? 1 : g.config.window;
  return each(matrix(x.rows, window * x.cols), (_, i, n) => {
    const from = n + Math.floor(i / x.cols) - Math.floor(window / 2);
    return from < 0 || from >= x.rows ? 0 : x.data[from * x.cols + i % x.cols];
  });
}

function windowMlp(g, x) {
  x = windows(g, x);
  for (let i = 0; i < g.config.layers; ++i) x = g.take(`layers.${i}.mlp_hidden`, activated(g, linear(g, x, `layers.${i}`)));
  return x;
}

// The pairs of tokens that may look at each other: edges of the graph, and each token with itself.
// A class token looks at all tokens; none looks at it.
function neighbours(edges, first) {
  const pairs = new Set(edges.flatMap(([a, b]) => [`${a} ${b}`, `${b} ${a}`]));
  return (n, m) => n < first || n === m || pairs.has(`${n - first} ${m - first}`);
}

const encode = (g, input) => finalNorm(g, blocks(g, embedding(g, input, "embedding", g.config.positions), "encoder"), "encoder");

// Row i of the logits predicts the token after ids[i]. An output starts with the class that marks its begin.
function decoder(g, ids, memory) {
  const { positions } = g.config;
  const y = embedding(g, { ids }, "output_embedding", positions === "learned_2d" ? "learned" : positions);
  return head(g, finalNorm(g, blocks(g, y, "decoder", memory), "decoder"));
}

const passOf = (model, take = (_, x) => x, cache = null) => ({ ...model, take, cache, first: 0 });

function answer(g, input) {
  const { kind, positions } = g.config;
  if (kind === "mlp" || kind === "window_mlp") return head(g, windowMlp(g, embedding(g, input, "embedding", positions)));
  if (g.config.mask === "adjacency") g.adjacency = neighbours(input.edges ?? [], g.weights["embedding.class_token"] ? 1 : 0);
  return head(g, encode(g, input));
}

// The logits of an input {ids or features, edges}: a row for each output. An encoder_decoder reads the classes `outputs`.
// Its row i predicts output i from the outputs before it; the last row predicts the output after all of them.
export function forward(model, input, { take, outputs = [] } = {}) {
  const g = passOf(model, take);
  return model.config.kind === "encoder_decoder" ? decoder(g, [model.shape.classes, ...outputs], encode(g, input)) : answer(g, input);
}

// Reads one token after the other. `logits` predict the token after the newest one; append() reads more tokens. The cache
// keeps the keys and values of earlier tokens and of the decoder's memory, so that each token is computed once.
export function decode(model, input, { take } = {}) {
  const g = passOf(model, take, {}), writes = model.config.kind === "encoder_decoder";
  const memory = writes && encode(passOf(model, take), input);
  const decoding = { append(ids) {
    const logits = writes ? decoder(g, ids, memory) : answer(g, { ids });
    g.first += ids.length;
    decoding.logits = row(logits, logits.rows - 1);
  } };
  decoding.append(writes ? [model.shape.classes] : input.ids);
  return decoding;
}

// The logits of the model if `x`, a residual stream of `path`, were the last one.
export const answerAt = (g, x, path) => head(g, finalNorm(g, x, path));

export const row = (x, n) => x.data.subarray(n * x.cols, (n + 1) * x.cols);
export const largest = (values) => values.reduce((best, value, i) => value > values[best] ? i : best, 0);
export const probabilities = (logits) => WEIGHTS.softmax([...logits]);

// The outputs of an encoder_decoder: the most probable class at each step, up to the end class.
export function generate(model, input, options) {
  const decoding = decode(model, input, options), outputs = [];
  for (;;) {
    outputs.push(largest(decoding.logits));
    if (outputs.at(-1) === model.shape.classes - 1 || outputs.length === model.shape.max_outputs) return outputs;
    decoding.append(outputs.slice(-1));
  }
}

// The weights of a checkpoint: {name: {shape, data}} from base64 of float32, tensor by tensor.
export function unpack(tensors, base64) {
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)), weights = {};
  let at = 0;
  for (const [name, shape] of tensors) {
    const size = shape.reduce((product, extent) => product * extent, 1);
    weights[name] = { shape, data: new Float32Array(bytes.buffer, at, size) };
    at += 4 * size;
  }
  return weights;
}
