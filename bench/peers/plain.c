/* The model of train_step.cpp without dropout, written by hand in plain C for nothing else: loops over arrays that are allocated
   once, on one thread, in float32, with Adam. It answers the commands `save`, `check`, `step` and `memory` of worker.py.
   bench/plain_c.py compiles it with optimisation, and measures it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { LAYERS = 8, PER_LAYER = 11, PARAMETERS = LAYERS * PER_LAYER + 6, ID = 96 };

typedef struct {
  char name[ID];
  size_t size;
  float *value, *gradient, *first, *second; /* the moments of Adam */
} Parameter;

/* What the forward pass of a layer keeps for the backward pass. */
typedef struct {
  Parameter *in, *out_w, *out_b, *up_w, *up_b, *down_w, *down_b, *norm1_w, *norm1_b, *norm2_w, *norm2_b;
  float *x, *normed1, *scale1, *qkv, *p, *heads, *middle, *normed2, *scale2, *up, *gelu;
} Layer;

static int batch = 1, tokens = 16, width = 16, heads = 4, layers = 1, vocabulary = 27, steps;
static Parameter parameters[PARAMETERS], *token, *position, *norm_w, *norm_b, *head_w, *head_b, *order[PARAMETERS];
static int count, ordered;
static Layer layer[LAYERS];
static float *x, *normed, *scale, *logits, *dx, *dnormed, *dwide, *dqkv, *dheads, *row;
static int *ids, *targets;

static float *floats(size_t n) {
  return calloc(n, sizeof(float));
}

static float uniform(void) {
  return (float)rand() / (float)RAND_MAX - 0.5f;
}

/* A parameter with values uniform in [at - spread / 2, at + spread / 2). */
static Parameter *made(const char *prefix, const char *name, size_t size, float at, float spread) {
  Parameter *p = &parameters[count++];
  snprintf(p->name, ID, "%s%s", prefix, name);
  p->size = size;
  p->value = floats(size), p->gradient = floats(size), p->first = floats(size), p->second = floats(size);
  for (size_t i = 0; i < size; ++i) p->value[i] = at + spread * uniform();
  return p;
}

/* Y (rows, out) = X (rows, in) W^T + b; b may be null. */
static void linear(int rows, int in, int out, const float *x, const Parameter *w, const Parameter *b, float *y) {
  for (int r = 0; r < rows; ++r)
    for (int o = 0; o < out; ++o) {
      float sum = b ? b->value[o] : 0;
      for (int i = 0; i < in; ++i) sum += x[r * in + i] * w->value[o * in + i];
      y[r * out + o] = sum;
    }
}

/* dW += dY^T X, db += the sum of the rows of dY, dX = dY W. */
static void linear_backward(int rows, int in, int out, const float *x, const float *dy, Parameter *w, Parameter *b, float *dx) {
  memset(dx, 0, sizeof(float) * (size_t)(rows * in));
  for (int r = 0; r < rows; ++r)
    for (int o = 0; o < out; ++o) {
      const float d = dy[r * out + o];
      if (b) b->gradient[o] += d;
      for (int i = 0; i < in; ++i) {
        w->gradient[o * in + i] += d * x[r * in + i];
        dx[r * in + i] += d * w->value[o * in + i];
      }
    }
}

/* y = normed * w + b, where normed = (x - mean) * scale, and scale = 1 / sqrt(variance + 1e-5), for each row. */
static void norm(int rows, const float *x, const Parameter *w, const Parameter *b, float *normed, float *scale, float *y) {
  for (int r = 0; r < rows; ++r, x += width, normed += width, y += width) {
    float mean = 0, variance = 0;
    for (int i = 0; i < width; ++i) mean += x[i];
    mean /= width;
    for (int i = 0; i < width; ++i) variance += (x[i] - mean) * (x[i] - mean);
    scale[r] = 1 / sqrtf(variance / width + 1e-5f);
    for (int i = 0; i < width; ++i) {
      normed[i] = (x[i] - mean) * scale[r];
      y[i] = normed[i] * w->value[i] + b->value[i];
    }
  }
}

/* Adds to dx: dx += scale * (g - mean(g) - normed * mean(g * normed)), where g = dy * w. */
static void norm_backward(int rows, const float *normed, const float *scale, const float *dy, Parameter *w, Parameter *b, float *dx) {
  for (int r = 0; r < rows; ++r, normed += width, dy += width, dx += width) {
    float mean = 0, along = 0;
    for (int i = 0; i < width; ++i) {
      w->gradient[i] += dy[i] * normed[i];
      b->gradient[i] += dy[i];
      mean += dy[i] * w->value[i];
      along += dy[i] * w->value[i] * normed[i];
    }
    mean /= width, along /= width;
    for (int i = 0; i < width; ++i) dx[i] += scale[r] * (dy[i] * w->value[i] - mean - normed[i] * along);
  }
}

static void softmax(float *s, int n) {
  float most = s[0], sum = 0;
  for (int i = 1; i < n; ++i) most = s[i] > most ? s[i] : most;
  for (int i = 0; i < n; ++i) sum += s[i] = expf(s[i] - most);
  for (int i = 0; i < n; ++i) s[i] /= sum;
}

/* P = softmax(Q K^T / sqrt(features)) and P V, for each example and head. */
static void attention(Layer *l) {
  const int features = width / heads, wide = 3 * width;
  const float by = 1 / sqrtf((float)features);
  memset(l->heads, 0, sizeof(float) * (size_t)(batch * tokens * width));
  for (int e = 0; e < batch * heads; ++e) {
    const int at = e / heads * tokens, column = e % heads * features;
    for (int i = 0; i < tokens; ++i) {
      const float *q = l->qkv + (at + i) * wide + column;
      float *p = l->p + (e * tokens + i) * tokens, *y = l->heads + (at + i) * width + column;
      for (int j = 0; j < tokens; ++j) {
        const float *k = l->qkv + (at + j) * wide + width + column;
        p[j] = 0;
        for (int f = 0; f < features; ++f) p[j] += by * q[f] * k[f];
      }
      softmax(p, tokens);
      for (int j = 0; j < tokens; ++j) {
        const float *v = l->qkv + (at + j) * wide + 2 * width + column;
        for (int f = 0; f < features; ++f) y[f] += p[j] * v[f];
      }
    }
  }
}

static void attention_backward(const Layer *l, const float *dheads, float *dqkv) {
  const int features = width / heads, wide = 3 * width;
  const float by = 1 / sqrtf((float)features);
  memset(dqkv, 0, sizeof(float) * (size_t)(batch * tokens * wide));
  for (int e = 0; e < batch * heads; ++e) {
    const int at = e / heads * tokens, column = e % heads * features;
    for (int i = 0; i < tokens; ++i) {
      const float *q = l->qkv + (at + i) * wide + column, *dy = dheads + (at + i) * width + column;
      const float *p = l->p + (e * tokens + i) * tokens;
      float *dq = dqkv + (at + i) * wide + column, along = 0;
      for (int j = 0; j < tokens; ++j) {
        const float *v = l->qkv + (at + j) * wide + 2 * width + column;
        float *dv = dqkv + (at + j) * wide + 2 * width + column, dp = 0;
        for (int f = 0; f < features; ++f) {
          dp += dy[f] * v[f];
          dv[f] += p[j] * dy[f];
        }
        row[j] = dp;
        along += dp * p[j];
      }
      for (int j = 0; j < tokens; ++j) {
        const float ds = by * p[j] * (row[j] - along), *k = l->qkv + (at + j) * wide + width + column;
        float *dk = dqkv + (at + j) * wide + width + column;
        for (int f = 0; f < features; ++f) {
          dq[f] += ds * k[f];
          dk[f] += ds * q[f];
        }
      }
    }
  }
}

/* Forward and backward pass. Returns the mean cross-entropy. */
static float gradients(void) {
  const int rows = batch * tokens, wide = 4 * width;
  float loss = 0;
  for (int i = 0; i < count; ++i) memset(parameters[i].gradient, 0, sizeof(float) * parameters[i].size);
  for (int r = 0; r < rows; ++r)
    for (int i = 0; i < width; ++i) x[r * width + i] = token->value[ids[r] * width + i] + position->value[r % tokens * width + i];
  for (Layer *l = layer; l < layer + layers; ++l) {
    float *y = dnormed; /* a buffer that the forward pass may use */
    norm(rows, x, l->norm1_w, l->norm1_b, l->normed1, l->scale1, l->x);
    linear(rows, width, 3 * width, l->x, l->in, NULL, l->qkv);
    attention(l);
    linear(rows, width, width, l->heads, l->out_w, l->out_b, y);
    for (int i = 0; i < rows * width; ++i) x[i] += y[i];
    norm(rows, x, l->norm2_w, l->norm2_b, l->normed2, l->scale2, l->middle);
    linear(rows, width, wide, l->middle, l->up_w, l->up_b, l->up);
    for (int i = 0; i < rows * wide; ++i) l->gelu[i] = 0.5f * l->up[i] * (1 + erff(0.70710678f * l->up[i]));
    linear(rows, wide, width, l->gelu, l->down_w, l->down_b, y);
    for (int i = 0; i < rows * width; ++i) x[i] += y[i];
  }
  norm(rows, x, norm_w, norm_b, normed, scale, x);
  linear(rows, width, vocabulary, x, head_w, head_b, logits);
  for (int r = 0; r < rows; ++r) {
    float *p = logits + r * vocabulary;
    softmax(p, vocabulary);
    loss -= logf(p[targets[r]]) / rows;
    p[targets[r]] -= 1;
    for (int i = 0; i < vocabulary; ++i) p[i] /= rows;
  }
  linear_backward(rows, width, vocabulary, x, logits, head_w, head_b, dnormed);
  memset(dx, 0, sizeof(float) * (size_t)(rows * width));
  norm_backward(rows, normed, scale, dnormed, norm_w, norm_b, dx);
  for (int k = layers; k-- > 0;) {
    Layer *l = &layer[k];
    linear_backward(rows, wide, width, l->gelu, dx, l->down_w, l->down_b, dwide);
    for (int i = 0; i < rows * wide; ++i) {
      const float u = l->up[i];
      dwide[i] *= 0.5f * (1 + erff(0.70710678f * u)) + 0.39894228f * u * expf(-0.5f * u * u);
    }
    linear_backward(rows, width, wide, l->middle, dwide, l->up_w, l->up_b, dnormed);
    norm_backward(rows, l->normed2, l->scale2, dnormed, l->norm2_w, l->norm2_b, dx);
    linear_backward(rows, width, width, l->heads, dx, l->out_w, l->out_b, dheads);
    attention_backward(l, dheads, dqkv);
    linear_backward(rows, width, 3 * width, l->x, dqkv, l->in, NULL, dnormed);
    norm_backward(rows, l->normed1, l->scale1, dnormed, l->norm1_w, l->norm1_b, dx);
  }
  for (int r = 0; r < rows; ++r)
    for (int i = 0; i < width; ++i) {
      token->gradient[ids[r] * width + i] += dx[r * width + i];
      position->gradient[r % tokens * width + i] += dx[r * width + i];
    }
  return loss;
}

static float step(void) {
  const float loss = gradients();
  const float unbias1 = 1 - powf(0.9f, (float)++steps), unbias2 = 1 - powf(0.999f, (float)steps);
  for (Parameter *p = parameters; p < parameters + count; ++p)
    for (size_t i = 0; i < p->size; ++i) {
      const float g = p->gradient[i];
      p->first[i] = 0.9f * p->first[i] + 0.1f * g;
      p->second[i] = 0.999f * p->second[i] + 0.001f * g * g;
      p->value[i] -= 1e-3f * (p->first[i] / unbias1) / (sqrtf(p->second[i] / unbias2) + 1e-8f);
    }
  return loss;
}

static void make_model(void) {
  const size_t d = (size_t)width, v = (size_t)vocabulary, rows = (size_t)(batch * tokens);
  const float w = 2 / sqrtf((float)width);
  token = made("", "embedding.token.weight", v * d, 0, 0.1f);
  position = made("", "embedding.position.weight", (size_t)tokens * d, 0, 0.1f);
  for (int i = 0; i < layers; ++i) {
    Layer *l = &layer[i];
    char prefix[ID];
    snprintf(prefix, ID, "encoder.layers.%d.", i);
    l->in = made(prefix, "self_attn.in_proj_weight", 3 * d * d, 0, w);
    l->out_w = made(prefix, "self_attn.out_proj.weight", d * d, 0, w), l->out_b = made(prefix, "self_attn.out_proj.bias", d, 0, w);
    l->up_w = made(prefix, "linear1.weight", 4 * d * d, 0, w), l->up_b = made(prefix, "linear1.bias", 4 * d, 0, w);
    l->down_w = made(prefix, "linear2.weight", 4 * d * d, 0, w), l->down_b = made(prefix, "linear2.bias", d, 0, w);
    l->norm1_w = made(prefix, "norm1.weight", d, 1, 0.1f), l->norm1_b = made(prefix, "norm1.bias", d, 0, 0.1f);
    l->norm2_w = made(prefix, "norm2.weight", d, 1, 0.1f), l->norm2_b = made(prefix, "norm2.bias", d, 0, 0.1f);
    l->x = floats(rows * d), l->normed1 = floats(rows * d), l->scale1 = floats(rows), l->qkv = floats(3 * rows * d);
    l->p = floats(rows * (size_t)(heads * tokens)), l->heads = floats(rows * d), l->middle = floats(rows * d);
    l->normed2 = floats(rows * d), l->scale2 = floats(rows), l->up = floats(4 * rows * d), l->gelu = floats(4 * rows * d);
  }
  norm_w = made("", "encoder.norm.weight", d, 1, 0.1f), norm_b = made("", "encoder.norm.bias", d, 0, 0.1f);
  head_w = made("", "head.weight", v * d, 0, w), head_b = made("", "head.bias", v, 0, w);
  x = floats(rows * d), normed = floats(rows * d), scale = floats(rows), logits = floats(rows * v);
  dx = floats(rows * d), dnormed = floats(rows * d), dwide = floats(4 * rows * d), dqkv = floats(3 * rows * d);
  dheads = floats(rows * d), row = floats((size_t)tokens);
  ids = malloc(rows * sizeof(int)), targets = malloc(rows * sizeof(int));
  for (size_t r = 0; r < rows; ++r) ids[r] = rand() % vocabulary, targets[r] = rand() % vocabulary;
}

static FILE *opened(const char *path, const char *mode) {
  FILE *file = fopen(path, mode);
  if (!file) perror(path), exit(1);
  return file;
}

/* Writes the parameters in the order of a JSON list of [name, shape], then ids and targets. */
static void save(const char *path, const char *names_path) {
  FILE *names = opened(names_path, "r"), *file = opened(path, "w");
  char name[ID];
  for (ordered = 0; fscanf(names, "%*[^\"]\"%95[^\"]\"", name) == 1; ++ordered) {
    Parameter *p = parameters;
    while (p < parameters + count && strcmp(p->name, name) != 0) ++p;
    if (p == parameters + count || ordered == count) fprintf(stderr, "no parameter %s\n", name), exit(1);
    fwrite((order[ordered] = p)->value, sizeof(float), p->size, file);
  }
  if (ordered != count) fprintf(stderr, "%d parameters, not %d\n", ordered, count), exit(1);
  fwrite(ids, sizeof(int), (size_t)(batch * tokens), file);
  fwrite(targets, sizeof(int), (size_t)(batch * tokens), file);
  fclose(names), fclose(file);
}

/* Tests the bits, because -ffast-math lets the compiler take isnan(x) for false. */
static int is_nan(float x) {
  unsigned bits;
  memcpy(&bits, &x, sizeof bits);
  return (bits & 0x7fffffffu) > 0x7f800000u;
}

/* The larger number; NaN if one of them is NaN, unlike fmaxf(). */
static float larger(float a, float b) {
  return is_nan(a) || (!is_nan(b) && a > b) ? a : b;
}

/* The largest difference from this loss, and from the gradients in the file, relative to the largest entry of each tensor. */
static float check(const char *path, float their_loss) {
  FILE *file = opened(path, "r");
  float worst = fabsf(gradients() / their_loss - 1), theirs;
  for (int k = 0; k < ordered; ++k) {
    float most = 0, off = 0;
    for (size_t i = 0; i < order[k]->size; ++i) {
      if (fread(&theirs, sizeof theirs, 1, file) != 1) fprintf(stderr, "%s ends early\n", path), exit(1);
      most = larger(most, fabsf(theirs)), off = larger(off, fabsf(order[k]->gradient[i] - theirs));
    }
    worst = larger(worst, most > 0 ? off / most : off);
  }
  if (fread(&theirs, sizeof theirs, 1, file) != 0) fprintf(stderr, "%s has more numbers\n", path), exit(1);
  if (is_nan(worst)) fprintf(stderr, "a gradient or the loss is NaN\n"), exit(1);
  fclose(file);
  return worst;
}

static void answer_steps(int number) {
  float loss = 0;
  printf("{\"seconds\": [");
  for (int i = 0; i < number; ++i) {
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    loss = step();
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%s%.9f", i ? ", " : "", (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec));
  }
  printf("], \"last\": %g}\n", (double)loss);
}

int main(int argc, char **argv) {
  const struct {
    const char *name;
    int *value;
  } options[] = {{"--batch", &batch}, {"--tokens", &tokens}, {"--width", &width}, {"--heads", &heads}, {"--layers", &layers},
                 {"--vocabulary", &vocabulary}};
  for (int i = 1; i + 1 < argc; i += 2) {
    for (size_t k = 0; k < sizeof options / sizeof *options; ++k)
      if (strcmp(argv[i], options[k].name) == 0) *options[k].value = atoi(argv[i + 1]);
    if (strcmp(argv[i], "--dropout") == 0 && atof(argv[i + 1]) > 0) fprintf(stderr, "this program has no dropout\n"), exit(1);
  }
  if (layers > LAYERS) fprintf(stderr, "at most %d layers\n", LAYERS), exit(1);
  make_model();
  char line[1024], first[512], second[512];
  while (fgets(line, sizeof line, stdin)) {
    struct rusage used;
    float loss;
    if (sscanf(line, "save %511s %511s", first, second) == 2) {
      save(first, second);
      printf("{}\n");
    } else if (sscanf(line, "check %511s %f", first, &loss) == 2) {
      printf("%g\n", (double)check(first, loss));
    } else if (sscanf(line, "step %511s", first) == 1) {
      answer_steps(atoi(first));
    } else if (strcmp(line, "memory\n") == 0) {
      getrusage(RUSAGE_SELF, &used);
      printf("[%ld, 0]\n", used.ru_maxrss * 1024);
    } else {
      fprintf(stderr, "unknown command: %s", line), exit(1);
    }
    fflush(stdout);
  }
}
