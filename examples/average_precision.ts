/**
 * Mean average precision, a metric that TensorFlow users write as a script: it keeps state on the host over a whole evaluation, and is
 * part of a graph that is exported, imported and still computes.
 * `deno run examples/average_precision.ts` runs it.
 *
 * @module
 */

import * as tf from "@weft/weft";

/** A detection of one class: how sure the detector is, and whether it hit a box that no surer one hit. */
interface Detection {
  readonly score: number;
  readonly isHit: boolean;
}

/** Detections and boxes seen so far. */
class Evaluation {
  detections: Detection[] = [];
  boxes = 0;

  /** Adds an image: boxes `[n, 4]` as y1, x1, y2, x2, detections `[m, 5]` with a score behind. Gives the average precision so far. */
  add(truth: tf.NdArray, found: tf.NdArray): number {
    const boxes = truth.toArray() as number[][];
    const taken = new Set<number>();
    const rows = (found.toArray() as number[][]).sort((a, b) => b[4] - a[4]);
    for (const row of rows) {
      const overlaps = boxes.map((box, i) => (taken.has(i) ? 0 : overlap(box, row)));
      const best = overlaps.indexOf(Math.max(...overlaps));
      const isHit = best >= 0 && overlaps[best] >= 0.5;
      if (isHit) taken.add(best);
      this.detections.push({ score: row[4], isHit });
    }
    this.boxes += boxes.length;
    return this.average();
  }

  /** The area under precision over recall, precision made to fall (PASCAL VOC 2010). */
  average(): number {
    const sorted = this.detections.toSorted((a, b) => b.score - a.score);
    const precision: number[] = [];
    let hits = 0;
    sorted.forEach(({ isHit }, i) => precision.push((hits += Number(isHit)) / (i + 1)));
    for (let i = precision.length - 2; i >= 0; i--) {
      precision[i] = Math.max(precision[i], precision[i + 1]);
    }
    const area = sorted.reduce((sum, { isHit }, i) => sum + (isHit ? precision[i] : 0), 0);
    return this.boxes === 0 ? 0 : area / this.boxes;
  }
}

/** Intersection over union. */
function overlap(a: readonly number[], b: readonly number[]): number {
  const side = (k: number): number => Math.min(a[k + 2], b[k + 2]) - Math.max(a[k], b[k]);
  const shared = Math.max(0, side(0)) * Math.max(0, side(1));
  const area = (r: readonly number[]): number => (r[2] - r[0]) * (r[3] - r[1]);
  return shared / (area(a) + area(b) - shared);
}

// Registered under a name, a graph that uses it can be written down and read in another process that registers it too.
let evaluation = new Evaluation();
const averagePrecision = tf.registerScript(
  "example.averagePrecision@1",
  (truth: tf.NdArray, found: tf.NdArray) => evaluation.add(truth, found),
);

/** A graph: detections are moved as a detector's head would move them, then measured. */
function build(): tf.Graph {
  const graph = new tf.Graph();
  graph.asDefault(() => {
    const truth = tf.placeholder("float32", [null, 4], "truth");
    const found = tf.placeholder("float32", [null, 5], "found");
    const moved = tf.add(found, tf.constant([0.5, 0, 0.5, 0, 0]));
    tf.numpyFunction(averagePrecision, [truth, moved], tf.TensorSpec([]), { name: "metric" });
  });
  return graph;
}

const IMAGES = [
  { truth: [[0, 0, 10, 10], [20, 20, 30, 30]], found: [[0, 0, 10, 10, 0.9], [0, 1, 10, 11, 0.8]] },
  { truth: [[5, 5, 15, 15]], found: [[5, 6, 15, 16, 0.7], [40, 40, 50, 50, 0.95]] },
  { truth: [[0, 0, 8, 8]], found: new tf.NdArray("float32", [0, 5], new Float32Array()) },
] as const;

/** The metric after each image. */
async function evaluate(graph: tf.Graph): Promise<string> {
  evaluation = new Evaluation();
  await using session = new tf.Session({ graph });
  const seen: string[] = [];
  for (const { truth, found } of IMAGES) {
    const feeds = {
      "truth:0": truth as unknown as tf.TensorLike,
      "found:0": found as unknown as tf.TensorLike,
    };
    seen.push(Number(await session.run("metric:0", { feeds })).toFixed(3));
  }
  return seen.join(", ");
}

const before = await evaluate(build());
console.log(`Average precision after each image: ${before}`);

// The same graph as TensorFlow's GraphDef in JSON, read back.
const text = JSON.stringify(build().toGraphDef());
const copy = new tf.Graph();
copy.asDefault(() => tf.importGraphDef(JSON.parse(text), { prefix: "" }));
console.log(`After an export of ${copy.operations.length} operations: ${await evaluate(copy)}`);

// Where nobody registered the script, the error says what is missing; a map binds another function in its place.
tf.unregisterScript("example.averagePrecision@1");
const other = new tf.Graph();
try {
  other.asDefault(() => tf.importGraphDef(JSON.parse(text), { prefix: "" }));
} catch (error) {
  console.log(`Elsewhere: ${(error as Error).message.split("\n")[0]}`);
}
