
// ==== Text: inputs as `xgrad predict` reads them, and the names of tokens and classes. ====

const single = (text) => [...text].length === 1;
const special = (text) => /^(<.+>|\[.+\]|\\x\d+)$/.test(text);
export const short = (x) => Number(x.toPrecision(4)).toString();

// As plain_text() in text/text.cpp: lower case, without punctuation.
const plainText = (text) => text.replace(/'/g, "").replace(/[\x00-\x7f]/g, (c) => /[a-z0-9]/i.test(c) ? c.toLowerCase() : " ");

// Converts text to inputs and back, for the shape of a task. `tokens` is the value of task.tokens,
// if the task has this key.
export function texts({ shape, tokens }) {
  const { token_names: names, class_names, features } = shape, usual = names.filter((name) => !special(name));
  // Whether tokens are characters, written without spaces between them.
  const letters = names[0] === "<unk>" && usual.length > 0 && usual.every(single);
  const pairs = tokens === "word_pairs" && !letters, plain = pairs || tokens === "plain_words" && !letters;

  // How the task scales numbers in inputs; 0 and 1 if it does not.
  const mean = shape.input_mean.length ? shape.input_mean : [0];
  const deviation = shape.input_deviation.length ? shape.input_deviation : [1];
  const scaled = (x, i) => (x - mean[i % mean.length]) / deviation[i % mean.length];
  const original = (x, i) => x * deviation[i % mean.length] + mean[i % mean.length];

  const tokenName = (id) => names[id] ?? String(id);
  const className = (id) => class_names[id] ?? String(id);
  const lengthOf = (input) => input.ids ? input.ids.length : shape.input === "image" ? 1 : input.features.length / features;
  const unknown = (input) => names[0] === "<unk>" && input.ids ? input.ids.filter((id) => id === 0).length : 0;

  function textOf(input) {
    if (input.features) {
      const last = input.features.length - 1, end = (i) => features > 1 && (i + 1) % features === 0 && i < last ? "," : "";
      return Array.from(input.features, (x, i) => Number(original(x, i).toPrecision(6)) + end(i)).join(" ");
    }
    const ids = shape.next && input.ids[0] === 1 ? input.ids.slice(1) : input.ids.filter((_, i) => !pairs || i % 2 === 0);  // without the begin of a text
    const edges = (input.edges ?? []).map((edge) => edge.join("-"));
    return letters ? ids.map((id) => tokenName(id).replace("␣", " ")).join("") : [...ids.map(tokenName), ...edges].join(" ");
  }

  function tokenId(text, place) {
    const number = /^\d+$/.test(text) && Number(text) < shape.vocabulary ? Number(text) : -1;
    const found = names.length ? names.indexOf(text) : number, lower = names.indexOf(text.toLowerCase());
    if (found >= 0) return found;
    if (lower >= 0) return lower;
    if (names[0] === "<unk>") return 0;
    const known = names.length ? usual.slice(0, 20).join(" ") + (usual.length > 20 ? " …" : "") : `0 to ${shape.vocabulary - 1}`;
    throw new Error(`Token ${place + 1} is “${text}”; the model knows ${known}.`);
  }

  function limited(input) {
    const length = lengthOf(input);
    if (!length) throw new Error("Type something for the model to read.");
    if (length > shape.max_length) throw new Error(`There are ${length} ${input.ids ? "tokens" : "vectors"}; the model reads at most ${shape.max_length}.`);
    return input;
  }

  function vectors(words) {
    const numbers = words.map((word) => Number(word.replace(/,$/, ""))), bad = numbers.findIndex((x) => !Number.isFinite(x));
    if (bad >= 0) throw new Error(`Number ${bad + 1}, “${words[bad]}”, is not a number.`);
    if (numbers.length % features) throw new Error(`There are ${numbers.length} numbers; each vector has ${features}.`);
    return limited({ features: Float32Array.from(numbers, scaled) });
  }

  // Throws an Error that says what is wrong with the text.
  function parse(text) {
    const all = (plain ? plainText(text) : text).split(/\s+/).filter(Boolean);
    const words = pairs ? all.flatMap((word, i) => i ? [`${all[i - 1]}_${word}`, word] : word) : all, edges = [], parts = letters ? text.match(/<\w+>|[^]/gu) ?? [] : [];
    if (shape.input === "vectors") return vectors(words);
    for (const word of letters ? [] : words) {
      const edge = shape.graph && word.match(/^(\d+)-(\d+)$/), apart = [...word].every((c) => usual.includes(c));
      if (edge) edges.push([Number(edge[1]), Number(edge[2])]);
      else parts.push(...(names.includes(word) || !apart ? [word] : word));
    }
    const ids = parts.map((part, i) => tokenId(letters && part === " " ? "␣" : part, i));
    const bad = edges.find((edge) => edge.some((node) => node >= ids.length));
    if (bad) throw new Error(`The edge ${bad.join("-")} must join two of the ${ids.length} tokens, counted from 0.`);
    return limited({ ids: shape.next ? [1, ...ids] : ids, ...(shape.graph ? { edges } : {}) });
  }

  return { tokenName, className, lengthOf, unknown, textOf, parse, letters };
}
