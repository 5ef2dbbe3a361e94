/**
 * Mean average precision over classes and images, a metric that people write as a script: it keeps state on the host over a whole
 * evaluation, and is part of a graph that is exported, imported and still computes. `deno run examples/average_precision.ts`
 *
 * @module
 */

import * as tf from "@weft/weft";

const CLASSES = ["cat", "dog", "bird"], SCALE = [1, 1, 100, 100, 100, 100, 1];
/** Intersections over union at which a box counts as found, as COCO has them: 0.5, 0.55, … 0.95. */
const THRESHOLDS = Array.from({ length: 10 }, (_, i) => 0.5 + 0.05 * i);

/** Image, class, top, left, bottom, right; what a detector found has a score behind. */
type Row = readonly number[];

/** All boxes and detections of an evaluation so far. */
export class Evaluation {
  readonly #boxes: Row[] = [];
  readonly #found: Row[] = [];

  /** Adds images. Gives for each class its average precision at 0.5 and over all thresholds, `[classes, 2]`; NaN for one without boxes. */
  add(boxes: readonly Row[], found: readonly Row[]): number[][] {
    this.#boxes.push(...boxes);
    this.#found.push(...found);
    return CLASSES.map((_, c) => {
      const all = THRESHOLDS.map((least) => this.#precision(c, least));
      return [all[0], all.reduce((a, b) => a + b) / all.length];
    });
  }

  /** The area under precision over recall, precision made to fall (PASCAL VOC 2010). */
  #precision(c: number, least: number): number {
    const boxes = this.#boxes.filter((row) => row[1] === c);
    const found = this.#found.filter((row) => row[1] === c).sort((a, b) => b[6] - a[6]);
    const taken = new Set<Row>();
    let hits = 0;
    // How much of what was found is right each time that another box is.
    const precision = found.flatMap((row, i) => {
      // The best box of its image that no surer detection has.
      const free = boxes.filter((box) => box[0] === row[0] && !taken.has(box));
      const best = free.sort((a, b) => overlap(b, row) - overlap(a, row)).at(0);
      if (!best || overlap(best, row) < least) return [];
      taken.add(best);
      return [++hits / (i + 1)];
    });
    for (let i = hits - 2; i >= 0; i--) precision[i] = Math.max(precision[i], precision[i + 1]);
    return boxes.length === 0 ? NaN : precision.reduce((a, b) => a + b, 0) / boxes.length;
  }
}

/** Intersection over union. */
function overlap(a: Row, b: Row): number {
  const side = (k: number): number => Math.min(a[k + 2], b[k + 2]) - Math.max(a[k], b[k]);
  const area = (row: Row): number => (row[4] - row[2]) * (row[5] - row[3]);
  const both = Math.max(0, side(2)) * Math.max(0, side(3));
  return both / (area(a) + area(b) - both);
}

// Registered under a name, a graph that uses it can be written down and read in another process that registers it too.
let evaluation = new Evaluation();
const averagePrecision = tf.registerScript(
  "example.averagePrecision@1",
  (boxes: tf.NdArray, found: tf.NdArray) =>
    evaluation.add(boxes.toArray() as Row[], found.toArray() as Row[]),
);

/** A graph: what a detector's head gives in parts of an image becomes pixels, and is measured; then the mean over classes. */
function build(): tf.Graph {
  const graph = new tf.Graph();
  graph.asDefault(() => {
    const boxes = tf.placeholder("float32", [null, 6], "boxes");
    const pixels = tf.mul(tf.placeholder("float32", [null, 7], "found"), SCALE);
    const Tout = tf.TensorSpec([CLASSES.length, 2]), name = "precision";
    const precision = tf.numpyFunction(averagePrecision, [boxes, pixels], Tout, { name });
    const isSeen = tf.logicalNot(tf.isNaN(precision));
    tf.nameScope("mean", () => {
      const total = tf.sum(tf.where(isSeen, precision, 0), 0);
      return tf.divNoNan(total, tf.sum(tf.cast(isSeen, "float32"), 0));
    });
  });
  return graph;
}

/**
 * Two batches of images: two cats and a dog, of which one cat is found twice and the dog badly; then a bird that is not
 * found.
 */
const BATCHES = [{
  boxes: [[0, 0, 0, 0, 40, 40], [0, 0, 50, 50, 90, 90], [1, 1, 10, 10, 60, 60]],
  found: [[0, 0, 0, 0, .4, .4, .9], [0, 0, .02, 0, .4, .4, .8], [1, 1, .1, .2, .6, .7, .7]],
}, { boxes: [[2, 2, 0, 0, 30, 30]], found: [] }];

/** The metric after each batch. */
async function evaluate(graph: tf.Graph): Promise<string> {
  evaluation = new Evaluation();
  await using session = new tf.Session({ graph });
  const seen: string[] = [];
  for (const { boxes, found } of BATCHES) {
    const feeds = { "boxes:0": boxes, "found:0": found };
    const { data } = await session.run("mean/DivNoNan:0", { feeds }) as tf.NdArray;
    seen.push(Array.from(data as Float32Array, (v) => v.toFixed(3)).join(" / "));
  }
  return seen.join(", then ");
}

const before = await evaluate(build());
console.log(`Mean average precision at 0.5 / over all thresholds: ${before}`);

// The same graph as TensorFlow's GraphDef in JSON, read back.
const text = JSON.stringify(build().toGraphDef());
const copy = new tf.Graph();
copy.asDefault(() => tf.importGraphDef(JSON.parse(text), { prefix: "" }));
console.log(`After an export of ${copy.operations.length} operations: ${await evaluate(copy)}`);

// Without a registered script the error tells what is missing; a map binds another function in its place.
tf.unregisterScript("example.averagePrecision@1");
try {
  new tf.Graph().asDefault(() => tf.importGraphDef(JSON.parse(text), { prefix: "" }));
} catch (error) {
  console.log(`Elsewhere: ${(error as Error).message.split("\n")[0]}`);
}
