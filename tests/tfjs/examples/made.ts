/** Made data: numbers, images, tables and models in the place of what examples fetch. */
import type { Any, Stage } from "./types.ts";

/** `count` numbers between 0 and 1 that look random and are always the same. */
export function numbers(count: number, seed = 1): Float32Array {
  return Float32Array.from({ length: count }, (_, i) => {
    const x = Math.sin((i + 1) * 12.9898 + seed * 78.233) * 43758.5453;
    return x - Math.floor(x);
  });
}

/** Waits until `isDone()`, for as many frames as it may take. Throws where that is not enough. */
export async function until(tf: Any, isDone: () => boolean | Promise<boolean>): Promise<void> {
  for (let frames = 0; !await isDone(); frames++) {
    if (frames > 2000) throw new Error("The example did not get ready");
    await tf.nextFrame();
  }
}

/** A table as CSV: columns of numbers, the last a rule of the others. */
export function csv(
  columns: readonly string[],
  rows: number,
  target: (row: readonly number[]) => number,
): string {
  const width = columns.length - 1, values = numbers(rows * width);
  const lines = Array.from({ length: rows }, (_, i) => {
    const row = [...values.subarray(i * width, (i + 1) * width)];
    return [...row, target(row)].join(",");
  });
  return [columns.join(","), ...lines].join("\n") + "\n";
}

/** Images in which the class is the brightest row, and their classes one-hot. */
export function images(
  tf: Any,
  count: number,
  { size = 28, classes = 10 }: { size?: number; classes?: number } = {},
): { xs: Any; labels: Any } {
  const pixels = numbers(count * size * size).map((x) => x * 0.3), labels = [];
  for (let i = 0; i < count; i++) {
    const label = i % classes, row = 2 * label + 2;
    pixels.fill(1, (i * size + row) * size, (i * size + row + 1) * size);
    labels.push(label);
  }
  return {
    xs: tf.tensor4d(pixels, [count, size, size, 1]),
    labels: tf.cast(tf.oneHot(tf.tensor1d(labels, "int32"), classes), "float32"),
  };
}

/** Serves a model of layers where an example loads a trained one. */
export async function serveLayers(stage: Stage, name: string, model: Any): Promise<void> {
  const { tf } = stage;
  let artifacts: Any;
  await model.save(tf.io.withSaveHandler((saved: Any) => {
    artifacts = saved;
    return Promise.resolve({ modelArtifactsInfo: tf.io.getModelArtifactsInfoForJSON(saved) });
  }));
  serveArtifacts(stage, name, artifacts);
}

function serveArtifacts(stage: Stage, name: string, artifacts: Any): void {
  const { modelTopology, weightSpecs, weightData } = artifacts;
  const bin = `${name.replaceAll(/\W/g, "_")}.bin`;
  const weightsManifest = [{ paths: [bin], weights: weightSpecs }];
  stage.serve(name, JSON.stringify({ modelTopology, weightsManifest, format: "layers-model" }));
  stage.serve(bin, Array.isArray(weightData) ? new Blob(weightData) : weightData);
}

/** A node of a graph as the converter writes it; attributes are of floats unless said. */
export function node(name: string, op: string, input: string[], attr: object = {}): object {
  return { name, op, input, attr: { T: { type: "DT_FLOAT" }, ...attr } };
}

/** An input of a graph, as the converter writes it; -1 stands for any size. */
export function placeholder(name: string, shape: readonly number[], type = "DT_FLOAT"): object {
  const dim = shape.map((size) => ({ size: String(size) }));
  return node(name, "Placeholder", [], { dtype: { type }, shape: { shape: { dim } } });
}

/** Serves a graph where an example loads a trained one; `weights` become its constants. */
export async function serveGraph(
  stage: Stage,
  name: string,
  { nodes, weights }: { nodes: readonly object[]; weights: Record<string, Any> },
): Promise<void> {
  const { io } = stage.tf;
  const constants = Object.entries(weights).map(([name, { dtype }]) => {
    const type = dtype === "int32" ? "DT_INT32" : "DT_FLOAT";
    return { name, op: "Const", attr: { dtype: { type } } };
  });
  const modelTopology = { node: [...constants, ...nodes], library: {}, versions: {} };
  const { data, specs } = await io.encodeWeights(weights);
  serveArtifacts(stage, name, { modelTopology, weightSpecs: specs, weightData: data });
}
