// What the scripts of pages compute: node forward.mjs, with JSON on standard input and output.
//
// Reads [[page, options...], ...]; an option is {} or {silence: [module, head]} or {patch: [site, place, example]}. Writes for
// each page its texts, as the page shows the examples, and for each option a list with the outputs and logits of each example;
// and the weights that no pass read.
import fs from 'node:fs';

const element = (page, start) => page.slice(page.indexOf(start) + start.length, page.indexOf('</script>', page.indexOf(start)));
const kMost = 32;  // examples of a page
const floats = (base64) => new Float32Array(Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)).buffer);

async function answer(file, options) {
  const page = fs.readFileSync(file, 'utf8'), code = element(page, 'id="code">').split('// ==== The page')[0];
  const { forward, decode, generate, row, each, unpack, texts } = await import(`data:text/javascript,${encodeURIComponent(code)}`);
  const data = JSON.parse(element(page, 'id="data">'));
  const { config, shape, tensors } = data, examples = data.examples.slice(0, kMost);
  const last = page.lastIndexOf('data-step='), unread = new Set(tensors.map(([name]) => name));
  const weights = new Proxy(unpack(tensors, element(page.slice(last), '>')), { get: (all, name) => (unread.delete(name), all[name]) });
  const model = { config, shape, weights }, { textOf, parse } = texts(data);
  for (const example of examples) if (example.features) example.features = floats(example.features);

  const run = (input, take) => {
    const outputs = shape.output === 'generated' ? generate(model, input, { take }) : [];
    return { outputs, logits: forward(model, input, { take, outputs: outputs.slice(0, -1) }) };
  };
  // The logits of an input when it, or its outputs, are read token by token, after the first three; nothing for other models.
  const decoded = (input, take, outputs) => {
    if (shape.output !== 'generated' && !shape.next) return null;
    const [start, rest] = shape.next ? [{ ids: input.ids.slice(0, 3) }, input.ids.slice(3)] : [input, outputs.slice(0, -1)];
    const decoding = decode(model, start, { take });
    return [decoding.logits, ...rest.map((id) => (decoding.append([id]), decoding.logits))].map((logits) => Array.from(logits));
  };
  const seenIn = (input) => {
    const seen = {};
    run(input, (path, x) => (seen[path] = x));
    return seen;
  };
  const changes = {
    silence: ([module, head]) => (path, x) => path !== `${module}.head_outputs` ? x :
      each(x, (value, d) => Math.floor(d / (x.cols / config.heads)) === head ? 0 : value),
    patch: ([site, place, other]) => {
      const from = seenIn(examples[other])[site].data;
      return (path, x) => path !== site ? x : each(x, (value, d, n) => n === place ? from[n * x.cols + d] : value);
    },
  };
  const passes = options.map((option) => {
    const [[kind, value] = []] = Object.entries(option);
    return examples.map((example) => {
      const { outputs, logits } = run(example, kind && changes[kind](value));
      // A patch is of one place, and a token that is read alone has another.
      return { outputs, logits: Array.from({ length: logits.rows }, (_, n) => Array.from(row(logits, n))),
        decoded: shape.next && kind === 'patch' ? null : decoded(example, kind && changes[kind](value), outputs) };
    });
  });
  const read = shape.input === 'image' ? [] : examples.map((example) => {
    const again = parse(textOf(example));
    const near = (x, i) => Math.abs(x - example.features[i]) < 1e-4 * Math.max(1, Math.abs(x));  // the text has six digits
    return { text: textOf(example), same: shape.input === 'vectors' ? again.features.every(near) : JSON.stringify(again.ids) === JSON.stringify(example.ids) };
  });
  return { shape, config, examples: examples.map(({ features, ...rest }) => ({ ...rest, features: features && Array.from(features) })), read, passes, unread: [...unread] };
}

const results = [];
for (const [file, ...options] of JSON.parse(fs.readFileSync(0, 'utf8'))) results.push(await answer(file, options));
fs.writeSync(1, JSON.stringify(results));
