
// ==== The page around the model: its contents, and its reactions to the reader. ====

const $ = (id) => document.getElementById(id);
const data = JSON.parse($("data").textContent);
const { name, task, version, config, shape, tensors, left_out, curve, examples } = data;
const checkpoints = [...document.querySelectorAll("script[data-step]")].map((script) => ({ step: Number(script.dataset.step), script }));
const floats = (base64) => new Float32Array(Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)).buffer);
for (const example of examples) if (example.features) example.features = floats(example.features);

const { tokenName, className, lengthOf, unknown, textOf, parse, letters } = texts(data);
const generated = shape.output === "generated", perToken = shape.output === "tokens", image = shape.input === "image";
const classes = shape.target === "classes", kIgnore = -100;
const state = {
  checkpoint: checkpoints.length - 1,
  example: -1,             // of the test split; -1: typed or drawn
  input: null,
  other: null,             // the second input
  silenced: new Set(),     // "encoder.layers.0.self_attn 1"
  patch: null,             // {site, place}
  amount: 1,
  looked: null,            // {path, head}: the map in full size
  token: null,             // {side: "in" or "out", n}: under the pointer
  pass: null,              // what run() returned for the input
};

// ---- elements; all text from outside goes in as textContent, never as HTML ----------------------

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "style") for (const [property, text] of Object.entries(value)) element.style.setProperty(property, text);
    else if (value !== false && value != null) element.setAttribute(key, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child != null));
  return element;
}
const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

const percent = (p) => `${p >= 0.9995 ? "100" : p < 0.0995 ? (100 * p).toFixed(1) : Math.round(100 * p)}\u00a0%`;
const isDark = matchMedia("(prefers-color-scheme: dark)");
const shade = (p) => ({ "--a": Math.min(1, Math.abs(p)).toFixed(3) });
const strong = (p) => Math.abs(p) > (isDark.matches ? 0.62 : 0.85) ? "strong" : "";  // text of the other brightness

// ---- the model with the reader's changes -------------------------------------------------------

function modelAt(index) {
  const checkpoint = checkpoints[index];
  checkpoint.weights ??= unpack(tensors, checkpoint.script.textContent);
  return { config, shape, weights: checkpoint.weights };
}

// Zeros the features of the silenced heads in the outputs of all heads.
function silence(path, x) {
  if (!path.endsWith(".head_outputs") || !state.silenced.size) return x;
  const size = x.cols / config.heads, module = path.slice(0, -".head_outputs".length);
  return each(x, (value, d) => state.silenced.has(`${module} ${Math.floor(d / size)}`) ? 0 : value);
}

// Logits and activations of an input; `change` replaces activations beside the silenced heads.
function run(input, change = (_, x) => x) {
  const model = modelAt(state.checkpoint), seen = {};
  const take = (path, x) => change(path, silence(path, x));
  const outputs = generated ? generate(model, input, { take }) : [];
  const logits = forward(model, input, { outputs: outputs.slice(0, -1), take: (path, x) => (seen[path] = take(path, x)) });
  return { input, outputs, logits, seen };
}

// Copies the row `place` of an activation from the second input to the first.
function patchedBy(site, place, amount, from) {
  return (path, x) => path !== site ? x :
    each(x, (value, d, n) => n === place ? value + amount * (from[site].data[n * x.cols + d] - value) : value);
}

// The answers of a pass: for each output its class, or its numbers.
function answersOf(logits, outputs = []) {
  return Array.from({ length: logits.rows }, (_, n) => {
    const values = row(logits, n);
    if (!classes) return shape.target === "binary" ? values.map((x) => Number(x > 0)) : values;
    return generated ? outputs[n] : largest(values);
  });
}

const numberText = (x, k) => short(shape.value_mean.length ? x * shape.value_deviation[k] + shape.value_mean[k] : x);

// ---- names of tokens, by the side of a map ------------------------------------------------------

const classToken = () => tensors.some(([path]) => path === "embedding.class_token") ? 1 : 0;

function inputNames(input) {
  if (input.ids) return input.ids.map(tokenName);
  const count = image ? shape.height / config.patch * shape.width / config.patch : lengthOf(input);
  return Array.from({ length: count }, (_, n) => String(n));
}

// The names at the rows and columns of a map, with the side ("in" or "out") that they are on, and
// the place of the first name.
function sidesOf(path, pass) {
  const read = { names: [...Array(classToken()).fill("[class]"), ...inputNames(pass.input)], side: "in", first: classToken() };
  if (!path.startsWith("decoder.")) return [read, read];
  const written = { names: pass.outputs.map(className), side: "out", first: 0 };
  const before = { names: ["[begin]", ...written.names.slice(0, -1)], side: "out", first: 1 };
  return [written, path.includes("self_attn") ? before : read];
}

const mapsOf = (pass) => Object.keys(pass.seen).filter((path) => path.endsWith(".weights")).map((path) => path.slice(0, -".weights".length));
const titleOf = (path) => {
  const [part, , layer, module] = path.split(".");
  return `${generated ? part[0].toUpperCase() + part.slice(1) + ", layer" : "Layer"} ${layer}${module === "multihead_attn" ? ", cross-attention" : ""}`;
};

// The weights (N, M) of one head. `most` is the weight with the full colour: the largest one, at
// least 0.1.
function mapOf(pass, path, number) {
  const all = pass.seen[`${path}.weights`], rows = all.rows / config.heads;
  const data = all.data.subarray(number * rows * all.cols, (number + 1) * rows * all.cols);
  return { rows, cols: all.cols, data, most: data.reduce((most, p) => Math.max(most, p), 0.1) };
}

// The head to show first: its tokens look at few others, and not all at the same ones. For a
// decoder, only cross-attention counts.
function clearestHead(pass) {
  let best = null;
  for (const path of mapsOf(pass).filter((path) => !generated || path.includes("multihead_attn"))) {
    for (let head = 0; head < config.heads; ++head) {
      const map = mapOf(pass, path, head), means = new Float64Array(map.cols);
      let sharp = 0;
      for (let n = 0; n < map.rows; ++n) {
        const weights = row(map, n);
        sharp += Math.max(...weights) / map.rows;
        weights.forEach((p, m) => (means[m] += p / map.rows));
      }
      const clear = (sharp - Math.max(...means)) / map.most;
      if (!best || clear > best.clear) best = { path, head, clear };
    }
  }
  return best;
}

// ---- drawing --------------------------------------------------------------------------------------

let heat, cold;
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).split(",").map(Number);
const readColours = () => ([heat, cold] = ["--heat", "--cold"].map(colour));

function paint(canvas, rows, cols, alpha, colour = () => heat) {
  canvas.width = cols;
  canvas.height = rows;
  const pixels = new ImageData(cols, rows);
  for (let i = 0; i < rows * cols; ++i) pixels.data.set([...colour(i), 255 * Math.min(1, alpha(i))], 4 * i);
  canvas.getContext("2d").putImageData(pixels, 0, 0);
}

// Draws the vectors of an input, one column each, or one row each if `turned`. A few very large
// numbers do not make the others pale.
function paintFrames(canvas, { features }, turned = false) {
  const width = shape.features, count = features.length / width;
  const sizes = features.map(Math.abs).sort(), most = sizes[Math.floor(0.98 * (sizes.length - 1))] || 1;
  const at = (i) => features[turned ? i : i % count * width + Math.floor(i / count)] / most;
  paint(canvas, turned ? count : width, turned ? width : count, (i) => Math.abs(at(i)), (i) => at(i) < 0 ? cold : heat);
  return canvas;
}

function markFrame() {
  const [canvas, mark] = $("frames").children, picked = state.token?.side === "in";
  mark.hidden = !picked;
  if (!picked) return;
  mark.style.left = `${100 * state.token.n / canvas.width}%`;
  mark.style.width = `${100 / canvas.width}%`;
}

const across = () => shape.width / config.patch;

// The weights of the patch under the pointer, as a picture. If the pointer is on no patch, the
// average over all patches.
function lookedAt(map) {
  const first = classToken(), picked = state.token && state.token.n + first;
  return Float64Array.from({ length: map.cols - first }, (_, m) => {
    if (picked != null) return map.data[picked * map.cols + m + first];
    let sum = 0;
    for (let n = 0; n < map.rows; ++n) sum += map.data[n * map.cols + m + first] / map.rows;
    return sum;
  });
}

function paintMap(canvas, pass, path, number) {
  const map = mapOf(pass, path, number);
  if (!image || path.startsWith("decoder.")) return paint(canvas, map.rows, map.cols, (i) => map.data[i] / map.most);
  const values = lookedAt(map), most = Math.max(...values, 1e-9);
  paint(canvas, values.length / across(), across(), (i) => values[i] / most);
}

// Frames around the row and the column of the token under the pointer.
function marksOf(path, pass) {
  if (!state.token || image) return [];
  const [rows, cols] = sidesOf(path, pass), frame = (kind, side, from, extent) => {
    const at = (state.token.n + side.first) / side.names.length, size = 1 / side.names.length;
    return h("span", { class: kind, style: { [from]: `${100 * at}%`, [extent]: `${100 * size}%` } });
  };
  return [rows.side === state.token.side ? frame("across", rows, "top", "height") : null,
    cols.side === state.token.side && state.token.n + cols.first < cols.names.length ? frame("down", cols, "left", "width") : null];
}

let buttons = [];  // {path, number, button, canvas, plot} of each head

function drawHeads() {
  const pass = state.pass, paths = mapsOf(pass);
  $("attention").hidden = !paths.length;
  if (!paths.includes(state.looked?.path)) state.looked = image ? { path: paths.at(-1), head: 0 } : clearestHead(pass);
  if (buttons.map((b) => b.path).filter((path, i) => i % config.heads === 0).join() !== paths.join()) {
    buttons = [];
    $("heads").replaceChildren(...paths.map((path) => h("div", { class: "layer" }, h("h3", {}, titleOf(path)),
      h("div", { class: "maps" }, Array.from({ length: config.heads }, (_, number) => headButton(path, number))))));
  }
  for (const { path, number, button, canvas, plot } of buttons) {
    const off = state.silenced.has(`${path} ${number}`), looked = state.looked?.path === path && state.looked.head === number;
    paintMap(canvas, pass, path, number);
    plot.replaceChildren(canvas, ...marksOf(path, pass).filter(Boolean));
    button.setAttribute("aria-pressed", off);
    button.classList.toggle("looked", looked);
  }
  $("attention-hint").textContent = (image
    ? "Each picture shows which patches a head looks at; point at a patch of the large picture to see where this patch looks. "
    : "A map shows attention weights: the token of a row looks at (attends to) the tokens of the columns. The largest weight of each map has the full colour. Point at a token to see where it looks and which tokens look at it. ") +
    "Click a head to silence it, which sets its outputs to 0; click it again to restore it.";
}

function headButton(path, number) {
  const canvas = h("canvas"), plot = h("span", { class: "plot" }, canvas);
  const look = () => {
    if (state.looked?.path === path && state.looked.head === number) return;
    state.looked = { path, head: number };
    drawHeads();
    drawFocus();
  };
  const button = h("button", { class: "map", "aria-label": `${titleOf(path)}, head ${number}: silence`, onpointerenter: look, onfocus: look,
    onclick: () => {
      const key = `${path} ${number}`;
      if (!state.silenced.delete(key)) state.silenced.add(key);
      update();
    } }, plot, h("span", { class: "name" }, `head ${number}`));
  buttons.push({ path, number, button, canvas, plot });
  return button;
}

const kMostNamed = 48;  // tokens that a map in full size has room to name

function drawFocus() {
  const pass = state.pass, paths = mapsOf(pass);
  if (!paths.length) return;
  const { path, head: number } = state.looked, map = mapOf(pass, path, number);
  const title = h("h3", {}, `${titleOf(path)}, head ${number}`);
  if (image && !path.startsWith("decoder.")) {
    $("focus").replaceChildren(title, h("div", {}, overlay(pass, map)), h("p", { class: "soft" }, state.token ? "Where this patch looks." :
      "The average over all patches. Point at a patch, or choose one with the arrow keys, to see where it looks."));
    return;
  }
  const [rows, cols] = sidesOf(path, pass);
  title.append(lookText(map, rows, cols));
  if (Math.max(map.rows, map.cols) > kMostNamed) {
    const canvas = h("canvas", { class: "overlay", role: "img", "aria-label": `${title.textContent}, all weights` });
    paint(canvas, map.rows, map.cols, (i) => map.data[i] / map.most);
    $("focus").replaceChildren(title, canvas);
    return;
  }
  $("focus").replaceChildren(title, namedMap(map, rows, cols), lines(map, rows, cols));
}

// Where the token under the pointer looks most.
function lookText(map, rows, cols) {
  const { side, n } = state.token ?? {}, at = n + rows.first;
  if (side !== rows.side || !(at < map.rows)) return "";
  const best = largest(row(map, at));
  return `: “${rows.names[at]}” looks most at “${cols.names[best]}”, ${percent(map.data[at * map.cols + best])}`;
}

const clipped = (text) => [...text].length > 9 ? [...text].slice(0, 8).join("") + "…" : text;
const isPicked = (side, i) => state.token?.side === side.side && state.token.n + side.first === i;

function nameText(side, i, attributes) {
  return svg("text", { ...attributes, class: isPicked(side, i) ? "picked" : "named" }, clipped(side.names[i]));
}

// Points at token i of a side, with the pointer.
const pointing = (side, i) => ({ onpointerenter: () => i >= side.first && point({ side: side.side, n: i - side.first }), onpointerleave: () => point(null) });

function namedMap(map, rows, cols) {
  const long = (side) => 7 * Math.max(...side.names.map((text) => [...clipped(text)].length)) + 10;
  const size = 360 / Math.max(map.cols, 8), fits = (text) => 6.5 * [...clipped(text)].length < size;
  const deep = (side) => shape.input === "vectors" && side.side === "in" ? Math.min(3 * shape.features, 48) + 4 : 0;  // pictures of vectors
  const parts = [], left = long(rows) + deep(rows), top = (cols.names.every(fits) ? 18 : long(cols)) + deep(cols);
  const picture = (turned, place) => svg("image", { ...place, href: paintFrames(h("canvas"), state.pass.input, turned).toDataURL(), preserveAspectRatio: "none" });
  if (deep(rows)) parts.push(picture(true, { x: left - deep(rows), y: top + rows.first * size, width: deep(rows) - 4, height: (map.rows - rows.first) * size }));
  if (deep(cols)) parts.push(picture(false, { x: left + cols.first * size, y: top - deep(cols), width: (map.cols - cols.first) * size, height: deep(cols) - 4 }));
  for (let m = 0; m < map.cols; ++m) {
    const x = left + (m + 0.5) * size;
    parts.push(nameText(cols, m, fits(cols.names[m]) ? { x, y: top - deep(cols) - 6, "text-anchor": "middle" } : { transform: `translate(${x + 3.5} ${top - deep(cols) - 5}) rotate(-90)` }));
  }
  for (let n = 0; n < map.rows; ++n) {
    parts.push(nameText(rows, n, { x: left - deep(rows) - 6, y: top + (n + 0.5) * size + 4, "text-anchor": "end" }));
    for (let m = 0; m < map.cols; ++m) {
      const p = map.data[n * map.cols + m];
      if (p > 0.003 * map.most) parts.push(svg("rect", { class: "cell", x: left + m * size, y: top + n * size, width: size - 0.6, height: size - 0.6, style: shade(p / map.most) }));
    }
  }
  parts.push(svg("rect", { class: "plot-frame", x: left, y: top, width: map.cols * size, height: map.rows * size }));
  if (state.token) {
    for (let n = 0; n < map.rows; ++n) if (isPicked(rows, n)) parts.push(svg("rect", { class: "here", fill: "none", x: left, y: top + n * size, width: map.cols * size, height: size }));
    for (let m = 0; m < map.cols; ++m) if (isPicked(cols, m)) parts.push(svg("rect", { class: "here", fill: "none", "stroke-dasharray": "3 3", x: left + m * size, y: top, width: size, height: map.rows * size }));
  }
  const width = left + map.cols * size + 2, title = svg("title", {}, "Weights of this head: the token of a row looks at the tokens of the columns");
  return svg("svg", { viewBox: `0 0 ${width} ${top + map.rows * size + 2}`, role: "img", onpointerleave: () => point(null), onpointermove: (event) => {
    const box = event.currentTarget.getBoundingClientRect(), scale = width / box.width;
    const m = Math.floor(((event.clientX - box.left) * scale - left) / size), n = Math.floor(((event.clientY - box.top) * scale - top) / size);
    if (m < 0 || n < rows.first || m >= map.cols || n >= map.rows) return;
    title.textContent = `${rows.names[n]} → ${cols.names[m]}: ${map.data[n * map.cols + m].toFixed(3)}`;
    point({ side: rows.side, n: n - rows.first });
  } }, title, parts);
}

function lines(map, rows, cols) {
  const step = Math.min(Math.max(14, 330 / Math.max(map.rows, map.cols)), 26), left = 90, right = 300, height = step * Math.max(map.rows, map.cols) + 22;
  const y = (i, count) => 22 + (i + 0.5) * (height - 22) / count, parts = [];
  const among = state.token && [rows, cols].some((side) => side.side === state.token.side);
  for (let n = 0; n < map.rows; ++n) {
    for (let m = 0; m < map.cols; ++m) {
      const p = map.data[n * map.cols + m], on = !among || isPicked(rows, n) || (isPicked(cols, m) && rows.side !== cols.side);
      if (p < (among ? 0.02 : Math.min(0.3, Math.max(0.02, 2 / map.cols))) || !on) continue;
      const a = y(n, map.rows), b = y(m, map.cols), middle = (left + right) / 2;
      parts.push(svg("path", { class: "line", d: `M${left} ${a}C${middle} ${a} ${middle} ${b} ${right} ${b}`, "stroke-opacity": p / map.most, "stroke-width": 0.7 + 2.6 * Math.min(1, p) }));
    }
  }
  const nameAll = (side, count, x, anchor, from) => {
    for (let i = 0; i < count; ++i) {
      parts.push(nameText(side, i, { x, y: y(i, count) + 4, "text-anchor": anchor }),
        svg("rect", { class: "pick", x: from, y: y(i, count) - step / 2, width: 90, height: step, ...pointing(side, i) }));
    }
  };
  nameAll(rows, map.rows, left - 6, "end", 0);
  nameAll(cols, map.cols, right + 6, "start", right);
  parts.push(svg("text", { x: left - 6, y: 12, "text-anchor": "end" }, "looks"), svg("text", { x: right + 6, y: 12 }, "is looked at"));
  return svg("svg", { viewBox: `0 0 390 ${height}`, role: "img", "aria-label": "The same weights as lines, from each token to the tokens that it looks at" }, parts);
}

// The picture with the weights of a head on its patches.
function overlay(pass, map) {
  const canvas = h("canvas", { class: "overlay", tabindex: 0, role: "application", "aria-label": "The picture with the weights of this head. The arrow keys choose a patch.", width: 280, height: 280 * shape.height / shape.width });
  const context = canvas.getContext("2d"), picture = h("canvas");
  paintPicture(picture, pass.input.features);
  context.imageSmoothingEnabled = false;
  context.drawImage(picture, 0, 0, canvas.width, canvas.height);
  const values = lookedAt(map), most = Math.max(...values, 1e-9), side = canvas.width / across(), wide = across();
  values.forEach((p, i) => {
    context.fillStyle = `rgba(86,180,233,${0.7 * p / most})`;
    context.fillRect(i % wide * side, Math.floor(i / wide) * side, side - 1, side - 1);
  });
  if (state.token) {
    context.strokeStyle = "#fff";
    context.lineWidth = 2;
    context.strokeRect(state.token.n % wide * side, Math.floor(state.token.n / wide) * side, side, side);
  }
  return pointedAt(canvas, () => wide, () => values.length, () => $("focus").querySelector("canvas").focus());
}

// Lets the pointer and the arrow keys choose one of `count()` tokens of the input, which are laid
// out in lines of `wide()` tokens.
function pointedAt(canvas, wide, count, moved = () => {}) {
  const move = (n) => point(n == null ? null : { side: "in", n });
  canvas.addEventListener("pointermove", (event) => {
    const lines = count() / wide(), place = Math.floor(event.offsetX / canvas.clientWidth * wide()) + wide() * Math.floor(event.offsetY / canvas.clientHeight * lines);
    if (place >= 0 && place < count()) move(place);
  });
  canvas.addEventListener("pointerleave", () => move(null));
  canvas.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -wide(), ArrowDown: wide() }[event.key];
    if (event.key === "Escape") move(null);
    if (!by) return;
    event.preventDefault();
    move(Math.min(Math.max((state.token?.n ?? 0) + by, 0), count() - 1));
    moved();
  });
  return canvas;
}

// ---- keys -------------------------------------------------------------------------------------------

// The tab key stops once at a group of buttons; the arrow keys move between them.
function oneStop(container) {
  for (const [i, button] of container.querySelectorAll("button").entries()) button.tabIndex = i ? -1 : 0;
}

function moveByArrows(container) {
  container.addEventListener("keydown", (event) => {
    const all = [...container.querySelectorAll("button")], line = event.target.closest("tr")?.querySelectorAll("button").length ?? 1;
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -line, ArrowDown: line }[event.key], to = all[all.indexOf(event.target) + by];
    if (!to) return;
    event.preventDefault();
    event.target.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
  });
}

// ---- the answer -------------------------------------------------------------------------------------

let written = Infinity, writing = null;  // outputs of a decoder that are shown so far

function tokenButton(side, n, parts, title, extra = "") {
  const here = { side, n };
  return h("button", { class: `token ${extra}`, "data-side": side, "data-n": n, "aria-label": title, title,
    onpointerenter: () => point(here), onpointerleave: () => point(null), onfocus: () => point(here), onblur: () => point(null) }, parts);
}

function answerToken(n, from, pass, target) {
  const p = probabilities(row(pass.logits, n)), answer = generated ? pass.outputs[n] : largest(p), text = className(answer);
  const wrong = target != null && target !== kIgnore && target !== answer;
  const title = `${from == null ? "" : `${from}: `}${text}, ${percent(p[answer])}${wrong ? `; correct is ${className(target)}` : ""}`;
  return tokenButton(generated ? "out" : "in", n, [
    from == null ? null : h("span", { class: "from" }, from),
    target === kIgnore ? h("span", { class: "from" }, "·") :
      h("span", { class: `to ${strong(p[answer])}`, style: shade(p[answer]) }, wrong ? h("span", { class: "wrong" }, text) : text),
    wrong ? h("span", { class: "target" }, className(target)) : null], title, generated && n >= written ? "unwritten" : "");
}

// The likeliest classes as bars; or yes-or-no labels; or numbers.
function bars(logits, targets, values) {
  if (shape.target === "numbers") {
    return h("p", { class: "number" }, Array.from(logits, numberText).join("  "),
      values ? h("span", { class: "soft" }, ` correct: ${values.map((x, k) => x == null ? "." : numberText(x, k)).join("  ")}`) : null);
  }
  const binary = shape.target === "binary", p = binary ? Array.from(logits, (x) => 1 / (1 + Math.exp(-x))) : probabilities(logits);
  const order = [...p.keys()].sort((a, b) => p[b] - p[a]).slice(0, binary ? 12 : 6), best = largest(p);
  const isTarget = (k) => binary ? values?.[k] > 0.5 : targets?.[0] === k;
  return h("div", { class: "bars" }, order.map((k) => [
    h("span", { class: (binary ? p[k] > 0.5 : k === best) ? "best" : "" }, binary && !shape.class_names.length ? "yes" : className(k), isTarget(k) ? h("span", { class: "right", "aria-label": "right" }, " ✓") : null),
    h("span", { class: "track" }, h("span", { class: "fill", style: { width: `${100 * p[k]}%`, display: "block" } })), h("span", {}, percent(p[k]))]));
}

function drawAnswer() {
  const { logits, input, outputs } = state.pass, example = examples[state.example], parts = [];
  const names = inputNames(input);
  if (generated) {
    parts.push(readTokens(names), h("p", { class: "soft" }, "The decoder writes:"),
      h("div", { class: "tokens" }, outputs.map((_, n) => answerToken(n, null, state.pass, example?.targets && (example.targets[n] ?? outputs.length)))));
  } else if (!perToken) {
    if (!image && input.ids) parts.push(readTokens(names));
    parts.push(bars(row(logits, 0), example?.targets, example?.values));
  } else if (classes) {
    parts.push(h("div", { class: "tokens" }, names.map((text, n) => answerToken(n, text, state.pass, example?.targets?.[n]))));
  } else {
    const of = (values, n) => values?.slice(n * shape.classes, (n + 1) * shape.classes);
    const text = (x, k) => shape.target === "binary" ? (x > 0 ? shape.class_names[k] ?? "1" : shape.class_names[k] ? "-" : "0") : numberText(x, k);
    parts.push(h("div", { class: "tokens" }, names.map((from, n) => {
      const found = Array.from(row(logits, n), text).join(" "), right = of(example?.values, n)?.map((x, k) => x == null ? "." : text(shape.target === "binary" ? x - 0.5 : x, k)).join(" ");
      return tokenButton("in", n, [h("span", { class: "from" }, from), h("span", { class: "to", style: shade(0.15) }, found), right != null && right !== found ? h("span", { class: "target" }, right) : null], `${from}: ${found}`);
    })));
  }
  $("answer").replaceChildren(...parts);
  oneStop($("answer"));
  markTokens();
}

const readTokens = (names) => h("div", { class: "tokens", style: { "margin-bottom": ".5rem" } },
  names.map((text, n) => tokenButton("in", n, [h("span", { class: "from" }, text)], text)));

function markTokens() {
  for (const button of document.querySelectorAll(".token")) {
    button.classList.toggle("marked", state.token?.side === button.dataset.side && state.token.n === Number(button.dataset.n));
  }
  if (shape.input === "vectors") markFrame();
}

function point(token) {
  if (token?.side === state.token?.side && token?.n === state.token?.n) return;
  state.token = token;
  markTokens();
  drawHeads();
  // A map under the pointer must not be replaced by the same one, or it would get no more events.
  requestAnimationFrame(drawFocus);
}

function drawChanges() {
  const chips = [...state.silenced].map((key) => {
    const [path, number] = key.split(" ");
    return h("button", { class: "chip", onclick: () => (state.silenced.delete(key), update()) }, `${titleOf(path)}, head ${number} silenced ✕`);
  });
  if (state.patch) chips.push(h("button", { class: "chip", onclick: () => (state.patch = null, update()) }, `${siteName(state.patch.site)} patched at place ${state.patch.place} ✕`));
  $("changes").replaceChildren(...chips);
  for (const cell of cells.flat()) cell.mark();
}

// ---- all test examples, in the background -----------------------------------------------------------

let turn = 0;  // counts changes; a change ends the work in the background

// Calls f(i) for i in [0, count) in short slices, until something changes, and then done().
function inBackground(count, f, done = () => {}) {
  const mine = turn;
  let i = 0;
  const slice = () => {
    if (mine !== turn) return;
    for (const end = performance.now() + 12; i < count && performance.now() < end;) f(i++);
    if (i < count) setTimeout(slice, 4);
    else done();
  };
  slice();
}

function exampleText(i) {
  const { features, targets } = examples[i];
  if (!features) return `${i + 1} ${textOf(examples[i])}`.slice(0, 60);
  return `${i + 1}${targets && !perToken ? ` ${className(targets[0])}` : ""}${image ? "" : `, ${lengthOf(examples[i])} vectors`}`;
}

// Whether the answer to each target of an example is right. Skips places without a target.
function rights(example, pass) {
  if (!classes || !example.targets) return [];
  if (generated) return [example.targets.join() === pass.outputs.join()];
  const answers = answersOf(pass.logits);
  return example.targets.map((target, n) => target === kIgnore ? null : target === answers[n]).filter((right) => right !== null);
}

function scoreExamples(done) {
  let right = 0, all = 0;
  inBackground(examples.length, (i) => {
    const found = rights(examples[i], generated ? { outputs: generate(modelAt(state.checkpoint), examples[i], { take: silence }) } : run(examples[i]));
    if (!found.length) return;
    right += found.filter(Boolean).length;
    all += found.length;
    $("example").options[i + 1].textContent = `${found.every(Boolean) ? "✓" : "✗"} ${exampleText(i)}`;
  }, () => {
    const lost = unknown(state.input), of = perToken ? `tokens of ${examples.length} test examples` : "test examples";
    $("summary").textContent = (all ? `Right on ${right} of ${all} ${of}${state.silenced.size ? " with these heads silenced" : ""}.` : "") +
      (lost ? ` ${lost} of ${state.input.ids.length} tokens are not in the vocabulary.` : "");
    done();
  });
}

// ---- what each layer alone would answer ----------------------------------------------------------------

function drawLens() {
  const pass = state.pass, stack = generated ? "decoder" : "encoder", g = modelAt(state.checkpoint);
  const sites = Array.from({ length: config.layers }, (_, i) => [`${stack}.layers.${i}.residual_before`, i ? `after layer ${i - 1}` : "embedding"])
    .concat([[`${stack}.layers.${config.layers - 1}.residual_after`, `after layer ${config.layers - 1}`]]).filter(([site]) => pass.seen[site]);
  $("lens-section").hidden = !sites.length || !classes;
  if ($("lens-section").hidden) return;
  const names = generated ? pass.outputs.map((_, n) => String(n + 1)) : perToken ? inputNames(pass.input) : [""];
  const rows = sites.map(([site, title]) => {
    const logits = answerAt(g, pass.seen[site], stack);
    return h("tr", {}, h("th", { scope: "row" }, title), Array.from({ length: logits.rows }, (_, n) => {
      const p = probabilities(row(logits, n)), best = largest(p);
      return h("td", { class: strong(p[best]), style: shade(p[best]), title: `${className(best)}, ${percent(p[best])}` }, h("span", {}, className(best)));
    }));
  });
  const heads = names.some(Boolean) ? h("tr", {}, h("td", {}), names.map((text) => h("th", { scope: "col" }, text))) : null;
  $("lens").replaceChildren(h("table", { class: "cells" }, heads, rows));
}

// ---- patching between two inputs ------------------------------------------------------------------------

const siteName = (site) => site.replace(/^encoder\.layers\.(\d+)\.residual_/, "layer $1, ").replace("before", "before").replace("middle", "between").replace("after", "after");

// The number that patching compares, as in `xgrad patch`: at an output with different answers, the
// logit of the second answer minus the logit of the first; for numbers, the output that differs
// most.
function measureOf(from, to) {
  if (classes) {
    for (let n = from.logits.rows - 1; n >= 0; --n) {
      if (examples[state.example]?.targets?.[n] === kIgnore) continue;
      const a = largest(row(from.logits, n)), b = largest(row(to.logits, n));
      if (a !== b) return { text: `The numbers compare output ${n}: ${className(a)} for the first input, ${className(b)} for the second.`, of: (x) => row(x, n)[b] - row(x, n)[a] };
    }
    return null;
  }
  const i = largest(from.logits.data.map((x, k) => Math.abs(x - to.logits.data[k])));
  return from.logits.data[i] === to.logits.data[i] ? null : { text: `The numbers compare output number ${i}: ${short(from.logits.data[i])} for the first input, ${short(to.logits.data[i])} for the second.`, of: (x) => x.data[i] };
}

let cells = [];  // of the grid, a row for each activation

function drawPatching() {
  if ($("patching").hidden) return;
  $("grid").replaceChildren();
  const say = (text) => ($("measure").textContent = text);
  if (!state.other) return say("Choose or type a second input of the same length.");
  if (lengthOf(state.other) !== lengthOf(state.input)) return say(`The second input has ${lengthOf(state.other)} tokens, the first has ${lengthOf(state.input)}; they must have the same length.`);
  const from = run(state.input), to = run(state.other), measure = measureOf(from, to);
  if (!measure) return say("The answers to both inputs are the same.");
  say(measure.text);
  const low = measure.of(from.logits), high = measure.of(to.logits);
  const sites = Object.keys(from.seen).filter((site) => /^encoder\.layers\.\d+\.residual_/.test(site) && (!site.endsWith("before") || site.includes(".0.")));
  const [side] = sidesOf("encoder.", from), others = sidesOf("encoder.", to)[0].names, places = from.seen[sites[0]].rows;
  cells = sites.map((site) => Array.from({ length: places }, (_, place) => patchCell(site, place)));
  const title = (n) => side.names[n] === others[n] || image ? side.names[n] : `${side.names[n]}›${others[n]}`;
  for (const cell of cells.flat()) cell.mark();
  $("grid").replaceChildren(image ? pictures(cells) : h("table", { class: "cells" },
    h("tr", {}, h("td", {}), Array.from({ length: places }, (_, n) => h("th", { scope: "col" }, title(n)))),
    cells.map((line) => h("tr", {}, h("th", { scope: "row" }, siteName(line[0].site)), line.map((cell) => cell.td)))));
  oneStop($("grid"));
  inBackground(cells.flat().length, (i) => {
    const cell = cells.flat()[i];
    cell.show((measure.of(run(state.input, patchedBy(cell.site, cell.place, 1, to.seen)).logits) - low) / (high - low));
  });
}

// The cells of each activation, laid out as the patches of the picture, after a cell for the class
// token.
const pictures = (cells) => h("div", { class: "pictures" }, cells.map((line) => h("table", { class: "cells small" }, h("caption", {}, siteName(line[0].site)),
  line.slice(0, classToken()).map((cell) => h("tr", {}, cell.td)),
  Array.from({ length: (line.length - classToken()) / across() }, (_, r) =>
    h("tr", {}, line.slice(classToken() + r * across(), classToken() + (r + 1) * across()).map((cell) => cell.td))))));

// A cell of the grid. A click keeps its patch for the first input; a second click removes it.
function patchCell(site, place) {
  const kept = () => state.patch?.site === site && state.patch.place === place;
  const button = h("button", { "aria-label": `${siteName(site)}, place ${place}`, onclick: () => {
    state.patch = kept() ? null : { site, place };
    update({ patching: false });
  } }, image ? "" : "·");
  const td = h("td", { style: shade(0) }, button);
  const mark = () => {
    td.classList.toggle("kept", kept());
    button.setAttribute("aria-pressed", kept());
  };
  const show = (restored) => {
    const text = restored.toFixed(2).replace(/^-?0\.00$/, "0");
    td.style.setProperty("--a", Math.min(1, Math.abs(restored)).toFixed(3));
    td.className = `${strong(restored)} ${restored < 0 ? "cold" : ""}`;
    button.textContent = image ? "" : text;
    button.title = text;
    button.setAttribute("aria-label", `${siteName(site)}, place ${place}: ${text}`);
    mark();
  };
  return { site, place, td, button, mark, show };
}

// ---- the checkpoints --------------------------------------------------------------------------------------

function drawCurve() {
  const now = checkpoints[state.checkpoint].step, text = `Step ${now}`;
  $("step").value = state.checkpoint;
  $("step").setAttribute("aria-valuetext", text);
  const points = curve?.points ?? [], steps = [...points.map(([step]) => step), ...checkpoints.map((c) => c.step)];
  const value = (step) => {  // of the curve at a step, interpolated between its points
    const after = points.findIndex(([s]) => s >= step);
    if (after <= 0) return points[after]?.[0] === step ? points[after][1] : undefined;
    const [[s0, v0], [s1, v1]] = [points[after - 1], points[after]];
    return v0 + (v1 - v0) * (step - s0) / (s1 - s0);
  };
  const measured = points.find(([step]) => step === now)?.[1];
  $("step-text").textContent = text + (measured === undefined ? "" : `, validation ${curve.metric} ${short(measured)}`) +
    (left_out.length ? `. This page leaves out the checkpoints of ${left_out.length === 1 ? "step" : "the steps"} ${left_out.slice(0, 12).join(", ")}${left_out.length > 12 ? " and others" : ""}.` : ".");
  if (points.length < 2) return;
  const first = Math.min(...steps), last = Math.max(...steps), values = points.map((p) => p[1]);
  const low = curve.metric === "loss" || curve.metric === "accuracy" ? 0 : Math.min(0, ...values), high = curve.metric === "loss" ? Math.max(...values) : 1;
  const x = (step) => 40 + 350 * (step - first) / (last - first || 1), y = (v) => 100 - 88 * (Math.max(v, low) - low) / (high - low || 1);
  $("curve").replaceChildren(svg("svg", { viewBox: "0 0 400 122", role: "img", "aria-label": `Validation ${curve.metric} by step` },
    [low, (low + high) / 2, high].map((v) => [svg("line", { class: "gridline", x1: 34, x2: 390, y1: y(v), y2: y(v) }), svg("text", { x: 29, y: y(v) + 4, "text-anchor": "end" }, short(v))]),
    svg("text", { x: 40, y: 117, "text-anchor": "middle" }, String(first)), svg("text", { x: 390, y: 117, "text-anchor": "end" }, `step ${last}`),
    svg("polyline", { class: "curve", points: points.map(([s, v]) => `${x(s)},${y(v)}`).join(" ") }),
    svg("line", { class: "here", x1: x(now), x2: x(now), y1: 8, y2: 100 }),
    checkpoints.map((c, i) => svg("circle", { class: `dot ${i === state.checkpoint ? "now" : ""}`, cx: x(c.step), cy: y(value(c.step) ?? points[0][1]), r: i === state.checkpoint ? 5 : checkpoints.length > 40 ? 2 : 3.5, onclick: () => show(i) }))));
}

function show(index) {
  state.checkpoint = index;
  update();
}

let playing = null;
function play() {
  if (playing) return stop();
  if (state.checkpoint === checkpoints.length - 1) show(0);
  $("play").textContent = "Stop";
  playing = setInterval(() => state.checkpoint < checkpoints.length - 1 ? show(state.checkpoint + 1) : stop(), 350);
}
function stop() {
  clearInterval(playing);
  playing = null;
  $("play").textContent = "Play";
}

// ---- pictures -------------------------------------------------------------------------------------------------

const range = examples.reduce(([low, high], { features }) => [Math.min(low, ...features ?? []), Math.max(high, ...features ?? [])], [Infinity, -Infinity]);
const [dark, bright] = Number.isFinite(range[0]) ? range : [0, 1];
let brush = null;  // the pixel that the keyboard draws with

function paintPicture(canvas, features) {
  const { width, height, channels } = shape, pixels = new ImageData(width, height);
  canvas.width = width;
  canvas.height = height;
  for (let i = 0; i < width * height; ++i) {
    const level = (c) => 255 * (features[i * channels + Math.min(c, channels - 1)] - dark) / (bright - dark);
    pixels.data.set([level(0), level(1), level(2), 255], 4 * i);
  }
  if (brush) pixels.data.set([...heat, 255], 4 * (brush.y * width + brush.x));
  canvas.getContext("2d").putImageData(pixels, 0, 0);
}

function drawAt(x, y) {
  const { width, height, channels } = shape, features = Float32Array.from(state.input.features);
  for (let row = 0; row < height; ++row) {
    for (let col = 0; col < width; ++col) {
      const near = Math.max(0, Math.min(1, 1.7 - Math.hypot(col + 0.5 - x, row + 0.5 - y)));
      for (let c = 0; c < channels; ++c) {
        const i = (row * width + col) * channels + c;
        features[i] = Math.max(features[i], dark + near * (bright - dark));
      }
    }
  }
  enter({ features });
}

function listenToDrawing() {
  const canvas = $("drawing"), at = (event) => [event.offsetX / canvas.clientWidth * shape.width, event.offsetY / canvas.clientHeight * shape.height];
  canvas.addEventListener("pointerdown", (event) => (canvas.setPointerCapture(event.pointerId), drawAt(...at(event))));
  canvas.addEventListener("pointermove", (event) => event.buttons && drawAt(...at(event)));
  canvas.addEventListener("blur", () => (brush = null, paintPicture(canvas, state.input.features)));
  canvas.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], " ": [0, 0] }[event.key];
    if (!by) return;
    event.preventDefault();
    brush ??= { x: Math.floor(shape.width / 2), y: Math.floor(shape.height / 2) };
    brush = { x: Math.min(Math.max(brush.x + by[0], 0), shape.width - 1), y: Math.min(Math.max(brush.y + by[1], 0), shape.height - 1) };
    if (event.key === " ") drawAt(brush.x + 0.5, brush.y + 0.5);
    else paintPicture(canvas, state.input.features);
  });
  $("clear").addEventListener("click", () => enter({ features: new Float32Array(shape.height * shape.width * shape.channels).fill(dark) }));
}

// ---- everything together -----------------------------------------------------------------------------------------

function update({ patching = true } = {}) {
  turn += 1;
  const { patch, other } = state;
  const usable = patch && other && lengthOf(other) === lengthOf(state.input);
  state.pass = run(state.input, usable ? patchedBy(patch.site, patch.place, state.amount, run(other).seen) : undefined);
  if (image) paintPicture($("drawing"), state.input.features);
  if (shape.input === "vectors") paintFrames($("frames").firstElementChild, state.input);
  drawCurve();
  drawAnswer();
  drawChanges();
  drawHeads();
  drawFocus();
  drawLens();
  const mine = turn;  // the rest can wait until nobody types or draws
  setTimeout(() => {
    if (mine !== turn) return;
    $("spoken").textContent = `Answer: ${answersOf(state.pass.logits, state.pass.outputs).slice(0, 100).map((answer) => classes ? className(answer) : [...answer].map(short).join(" ")).join(" ")}`;
    scoreExamples(patching ? drawPatching : () => {});
  }, 120);
}

// Takes an input that was typed or drawn.
function enter(input) {
  state.input = input;
  state.example = -1;
  $("example").selectedIndex = 0;
  update();
}

// Shows the outputs of a decoder one after the other, and marks the row of each.
function write() {
  clearInterval(writing);
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  written = 0;
  writing = setInterval(() => {
    written += 1;
    const done = written > state.pass.outputs.length;
    if (done) {
      clearInterval(writing);
      written = Infinity;
    }
    for (const button of document.querySelectorAll(".token[data-side=out]")) button.classList.toggle("unwritten", Number(button.dataset.n) >= written);
    point(done ? null : { side: "out", n: written - 1 });
  }, 260);
  drawAnswer();
}

// Adds the likeliest next token to a text, again and again, and shows the whole pass at the end.
function goOn() {
  if (generated) return write();
  if (writing) return stopWriting();
  const ids = [...state.input.ids], decoding = decode(modelAt(state.checkpoint), state.input, { take: silence }), mine = turn;
  stopWriting = () => {
    clearInterval(writing);
    writing = null;
    $("go-on").textContent = "Continue";
    if (turn === mine) enter({ ids });
  };
  $("go-on").textContent = "Stop";
  writing = setInterval(() => {
    const next = largest(decoding.logits);
    if (turn !== mine || next === 1 || ids.length >= shape.max_length) return stopWriting();
    ids.push(next);
    decoding.append([next]);
    $("text").value = textOf({ ids });
  }, 30);
}
let stopWriting;

function choose(index) {
  const count = examples.length;
  state.example = (index + count) % count;
  state.input = examples[state.example];
  $("example").selectedIndex = state.example + 1;
  $("error").textContent = "";
  if (!image) $("text").value = textOf(state.input);
  const differs = (example) => example && lengthOf(example) === lengthOf(state.input) && String(example.targets) !== String(state.input.targets);
  if (!differs(state.other)) setOther(examples.findIndex(differs));
  update();
  if (generated) write();
}

function setOther(index) {
  state.other = examples[index] ?? null;
  $("other-example").selectedIndex = index + 1;
  $("other").value = state.other && !image ? textOf(state.other) : "";
}

const reading = (element, take) => () => {
  try {
    $("error").textContent = "";
    take(parse(element.value));
  } catch (error) {
    $("error").textContent = error.message;
  }
};

function begin() {
  const count = tensors.reduce((sum, [, extents]) => sum + extents.reduce((a, b) => a * b, 1), 0);
  const { kind, layers, heads, width, mask } = config, attends = kind.startsWith("encoder");
  document.title = `${name}: ${task}, explained`;
  const title = task === "files" ? name : task;
  $("name").textContent = title;
  const what = `${mask === "causal" ? "causal " : ""}${kind.replace("_", "-")}`;
  $("facts").textContent = `${name === title ? what[0].toUpperCase() + what.slice(1) : `${name}: ${what}`} of ${layers} ${layers === 1 ? "layer" : "layers"}` +
    `${attends ? `, ${heads} ${heads === 1 ? "head" : "heads"}${layers === 1 ? "" : " each"}` : ""}, width ${width}; ${count.toLocaleString("en")} weights. The model runs here, in this page.`;
  $("made").textContent = `Made by xgrad ${version}. This file needs no network and sends nothing.`;
  $("source").textContent = $("code").textContent.split("// ==== Text")[0].trim();
  const options = () => examples.map((_, i) => h("option", {}, exampleText(i)));
  $("example").append(h("option", {}, image ? "drawn" : "typed"), ...options());
  $("other-example").append(h("option", {}, "typed"), ...options());
  $("examples").hidden = !examples.length;
  $("learning").hidden = checkpoints.length < 2;
  $("typed").hidden = image;
  $("drawn").hidden = !image;
  $("frames").hidden = shape.input !== "vectors";
  $("other").hidden = $("other-label").hidden = image;
  $("text-label").textContent = shape.input === "vectors" ? `Vectors of ${shape.features} numbers, separated by commas` : shape.graph ? "Tokens, then edges such as 0-1" : letters ? "Text" : "Tokens, separated by spaces";
  $("patching").hidden = generated || layers === 0 || kind !== "encoder";
  $("frames").style.setProperty("--features", shape.features);
  $("look").classList.toggle("few", heads < 3);
  $("look").style.setProperty("--heads", Math.min(heads, 4));
  $("go-on").hidden = !generated && !shape.next;
  $("go-on").textContent = generated ? "Write again" : "Continue";
  $("step").max = checkpoints.length - 1;

  $("step").addEventListener("input", () => show(Number($("step").value)));
  $("play").addEventListener("click", play);
  $("previous").addEventListener("click", () => choose(Math.max(state.example, 0) - 1));
  $("next").addEventListener("click", () => choose(state.example + 1));
  $("random").addEventListener("click", () => choose(Math.floor(Math.random() * examples.length)));
  $("example").addEventListener("change", () => $("example").selectedIndex && choose($("example").selectedIndex - 1));
  $("text").addEventListener("input", reading($("text"), enter));
  $("other").addEventListener("input", reading($("other"), (input) => (state.other = input, $("other-example").selectedIndex = 0, update())));
  $("other-example").addEventListener("change", () => (setOther($("other-example").selectedIndex - 1), update()));
  $("amount").addEventListener("input", () => {
    state.amount = Number($("amount").value) / 100;
    $("amount-text").textContent = `${$("amount").value} %`;
    update({ patching: false });
  });
  $("go-on").addEventListener("click", goOn);
  if (image) listenToDrawing();
  pointedAt($("frames").firstElementChild, () => lengthOf(state.input), () => lengthOf(state.input));
  moveByArrows($("answer"));
  moveByArrows($("grid"));
  isDark.addEventListener("change", () => (readColours(), update()));

  readColours();
  document.querySelector("main").hidden = false;
  if (examples.length) return choose(0);
  const length = Math.min(shape.max_length || 8, 8);
  enter(image ? { features: new Float32Array(shape.height * shape.width * shape.channels).fill(dark) } :
    shape.input === "vectors" ? { features: new Float32Array(length * shape.features) } :
      { ids: Array.from({ length }, (_, i) => i % shape.vocabulary) });
  if (!image) $("text").value = textOf(state.input);
}

begin();
