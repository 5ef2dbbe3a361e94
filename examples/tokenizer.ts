/**
 * A tokeniser in a data pipeline, one line at a time and a batch at a time. Strings come in, any number of integers comes out.
 *
 * `deno run examples/tokenizer.ts`
 *
 * @module
 */

import * as tf from "@weft/weft";

const PAD = 0, UNKNOWN = 1;
const PIECES = "the a cat dog bird sees hears read write run jump ##s ##ing ##er ##ed small large"
  .split(
    " ",
  );
/** The bodies below use it where it is: a script is a function like any other. */
const VOCABULARY = new Map(PIECES.map((piece, i) => [piece, i + 2]));

/** The pieces of a word by the longest match first, as BERT's WordPiece has them. */
function piecesOf(word: string): number[] {
  const ids: number[] = [];
  for (let from = 0; from < word.length;) {
    let to = word.length, id: number | undefined;
    for (; to > from; to--) {
      id = VOCABULARY.get((from > 0 ? "##" : "") + word.slice(from, to));
      if (id !== undefined) break;
    }
    if (id === undefined) return [UNKNOWN];
    ids.push(id);
    from = to;
  }
  return ids;
}

/** The ids of a line. */
export const tokenize = (line: string): number[] =>
  line.toLowerCase().split(/\W+/).filter(Boolean).flatMap(piecesOf);

/** A line as its ids: their number is known only when it runs. */
export function oneByOne(lines: readonly string[], batch: number): tf.data.Dataset<tf.Tensor> {
  return tf.data.fromTensorSlices(lines)
    .map((line) =>
      tf.numpyFunction((x: tf.NdArray) => Int32Array.from(tokenize(x.text())), [line], IDS, PURE)
    )
    .paddedBatch(batch, { paddingValues: PAD });
}

/** A batch of lines as one array: the body is called once for all of them, and pads them itself. */
export function inBatches(lines: readonly string[], batch: number): tf.data.Dataset<tf.Tensor> {
  const body = (x: tf.NdArray, ctx: tf.ScriptContext): tf.NdArray => {
    const rows = x.strings().map(tokenize);
    const width = Math.max(...rows.map((row) => row.length));
    const ids = new Int32Array(rows.length * width).fill(PAD);
    rows.forEach((row, i) => ids.set(row, i * width));
    return ctx.array([rows.length, width], ids);
  };
  return tf.data.fromTensorSlices(lines).batch(batch)
    .map((lines) => tf.numpyFunction(body, [lines], tf.TensorSpec([null, null], "int32"), PURE));
}

const IDS = tf.TensorSpec([null], "int32");
/** The same line always has the same ids: calls need not wait for each other, and their order does not matter. */
const PURE = { stateful: false } as const;

function makeLines(count: number): string[] {
  const words = [
    "The",
    "cat",
    "dogs",
    "reading",
    "a",
    "writer",
    "jumped",
    "small",
    "birds",
    "Zürich",
  ];
  let state = 1;
  const random = (n: number): number => (state = state * 48271 % 0x7fffffff) % n;
  return Array.from(
    { length: count },
    () => Array.from({ length: 4 + random(9) }, () => words[random(words.length)]).join(" ") + ".",
  );
}

/** Goes through a dataset; returns how many tokens there were and how many lines a second. */
async function measure(
  dataset: tf.data.Dataset<tf.Tensor>,
  lines: number,
): Promise<[number, number]> {
  const began = performance.now();
  let tokens = 0;
  for await (const batch of dataset.asNumpyIterator()) {
    tokens += (batch.data as Int32Array).reduce((n, id) => n + Number(id !== PAD), 0);
  }
  return [tokens, Math.round(lines / (performance.now() - began) * 1000)];
}

async function main(): Promise<void> {
  console.log("The readers jumped, unseen:", tokenize("The readers jumped, unseen").join(" "));
  const lines = makeLines(4000);
  for (const [name, make] of Object.entries({ "one by one": oneByOne, "in batches": inBatches })) {
    const dataset = make(lines, 100);
    await measure(dataset, lines.length);
    const [tokens, speed] = await measure(dataset, lines.length);
    console.log(`${name}: ${dataset.elementSpec}, ${tokens} tokens, ${speed} lines a second`);
  }
  // What is not text, or not what was declared, is named.
  const wrong = tf.data.fromTensorSlices([1, 2]).map((x) =>
    tf.numpyFunction((x: tf.NdArray) => tokenize(x.text()), [x], IDS)
  );
  try {
    await Array.fromAsync(wrong.asNumpyIterator());
  } catch (error) {
    if (!(error instanceof tf.errors.InvalidArgumentError)) throw error;
    console.log("Numbers:", /TypeError: .*/.exec(error.message)?.[0]);
  }
}

if (import.meta.main) await main();
