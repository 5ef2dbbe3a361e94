/** Packages in tests, and small graphs of random weights for those whose weights npm has not. */

import type { Any } from "../script/helpers.ts";
import { uniform } from "../../bench/random.ts";

/** A package, and something to ask of it. */
export interface Case {
  /** A file of it that says where the rest lies, and which loads nothing else: one must not load TensorFlow.js's engine here. */
  readonly found: string;
  /** The file that a bundler would begin with, from there. */
  readonly entry: string;
  /** Makes it ready. The function gives its report, as numbers. */
  open(pkg: Any, tf: Any, folder: URL): Promise<() => Promise<ArrayLike<number>>>;
}

/** Random numbers around zero. */
export const random = (seed: number, size: number, scale: number): Float32Array => {
  const next = uniform(seed);
  return Float32Array.from({ length: size }, () => (next() - 0.5) * scale);
};

/** An image with whole numbers from 0 to 255, smooth so that what is found in it does not hang on rounding. */
export function picture(tf: Any, height: number, width: number = height): Any {
  const values = Float32Array.from(
    { length: height * width * 3 },
    (_, i) => Math.round(127 + 120 * Math.sin(i / 97 + (i % 3)) * Math.cos(i / (31 * width))),
  );
  return tf.tensor3d(values, [height, width, 3], "int32");
}

/** An attribute that names a dtype. */
export const type = (name: string): { type: string } => ({ type: name });
const ints = (...values: number[]) => ({ list: { i: values.map(String) } });
const convolution = (name: string, input: string, stride: number) => ({
  name,
  op: "Conv2D",
  input: [input, `${name}/filter`],
  attr: {
    T: type("DT_FLOAT"),
    strides: ints(1, stride, stride, 1),
    dilations: ints(1, 1, 1, 1),
    padding: { s: btoa("SAME") },
    data_format: { s: btoa("NHWC") },
  },
});
/** A constant of a graph. */
export const constant = (name: string, dtype = "DT_FLOAT"): Any => ({
  name,
  op: "Const",
  attr: { dtype: type(dtype) },
});

/** Options of a graph. */
interface GraphOptions {
  /** Size of a step over the image. */
  readonly stride?: number;
  /** True where an output is the mean of a head's maps, false where it is the maps. */
  readonly mean?: boolean;
  /** True where the maps' numbers become the number of the largest. */
  readonly largest?: boolean;
  /** Dtype of the image. Default: float32. */
  readonly dtype?: string;
}

/** A graph of one convolution, and a head for each output: its maps. As a handler that loads it. */
export async function imageGraph(
  tf: Any,
  heads: Readonly<Record<string, number>>,
  { stride = 16, mean = false, largest = false, dtype = "DT_FLOAT" }: GraphOptions = {},
): Promise<Any> {
  const weights: Record<string, Any> = {
    "features/filter": tf.tensor(random(1, 7 * 7 * 3 * 8, 0.6), [7, 7, 3, 8]),
  };
  const dim = [-1, -1, -1, 3].map((size) => ({ size: `${size}` }));
  const node: Any[] = [
    {
      name: "image",
      op: "Placeholder",
      attr: { dtype: type(dtype), shape: { shape: { dim } } },
    },
    {
      name: "floats",
      op: "Cast",
      input: ["image"],
      attr: { SrcT: type(dtype), DstT: type("DT_FLOAT") },
    },
    constant("features/filter"),
    convolution("features", "floats", stride),
    { name: "active", op: "Relu6", input: ["features"], attr: { T: type("DT_FLOAT") } },
  ];
  if (largest) {
    weights.channels = tf.scalar(3, "int32");
    node.push(constant("channels", "DT_INT32"));
  }
  if (mean) {
    weights.axes = tf.tensor1d([1, 2], "int32");
    node.push(constant("axes", "DT_INT32"));
  }
  for (const [i, [name, maps]] of Object.entries(heads).entries()) {
    const maybe = mean || largest ? `${name}/maps` : name;
    weights[`${maybe}/filter`] = tf.tensor(random(i + 2, 8 * maps, 1.5), [1, 1, 8, maps]);
    node.push(constant(`${maybe}/filter`), convolution(maybe, "active", 1));
    if (largest) node.push({ name, op: "ArgMax", input: [maybe, "channels"] });
    if (mean) {
      node.push({ name, op: "Mean", input: [maybe, "axes"], attr: { keep_dims: { b: false } } });
    }
  }
  return tf.io.fromMemory(await artifactsOf(tf, { node, weights, outputs: Object.keys(heads) }));
}

/** Nodes of a graph, with the values of its constants and its outputs. */
interface Made {
  readonly node: readonly Any[];
  readonly weights: Readonly<Record<string, Any>>;
  readonly outputs: readonly string[];
}

/** Returns a graph as TensorFlow.js loads it. */
export async function artifactsOf(tf: Any, { node, weights, outputs }: Made): Promise<Any> {
  const { data: weightData, specs: weightSpecs } = await tf.io.encodeWeights(weights);
  return {
    modelTopology: { node, library: {}, versions: {} },
    weightSpecs,
    weightData,
    signature: { outputs: Object.fromEntries(outputs.map((name) => [name, { name }])) },
  };
}

/** An output that follows from the mean colour of an image. */
interface Head {
  readonly shape: readonly number[];
  /** Size of the weights. */
  readonly scale?: number;
  /** Number added to each element. */
  readonly bias?: number;
}

/** Returns a graph whose outputs follow from the mean colour of an image, of any size. */
export function meanGraph(
  tf: Any,
  heads: Readonly<Record<string, Head>>,
  { dtype = "DT_FLOAT", seed = 1 }: { readonly dtype?: string; readonly seed?: number } = {},
): Promise<Any> {
  const dim = [-1, -1, -1, 3].map((size) => ({ size: `${size}` }));
  const float = { T: type("DT_FLOAT") };
  const weights: Record<string, Any> = { axes: tf.tensor1d([1, 2], "int32") };
  const node: Any[] = [
    { name: "image", op: "Placeholder", attr: { dtype: type(dtype), shape: { shape: { dim } } } },
    {
      name: "floats",
      op: "Cast",
      input: ["image"],
      attr: { SrcT: type(dtype), DstT: type("DT_FLOAT") },
    },
    constant("axes", "DT_INT32"),
    { name: "mean", op: "Mean", input: ["floats", "axes"], attr: { keep_dims: { b: false } } },
  ];
  for (const [i, [name, { shape, scale = 1, bias = 0 }]] of Object.entries(heads).entries()) {
    const size = shape.reduce((a, b) => a * b);
    weights[`${name}/weights`] = tf.tensor(random(seed + i, 3 * size, scale), [3, size]);
    weights[`${name}/bias`] = tf.scalar(bias);
    weights[`${name}/shape`] = tf.tensor1d([...shape], "int32");
    node.push(
      constant(`${name}/weights`),
      constant(`${name}/bias`),
      constant(`${name}/shape`, "DT_INT32"),
      { name: `${name}/product`, op: "MatMul", input: ["mean", `${name}/weights`], attr: float },
      { name: `${name}/sum`, op: "AddV2", input: [`${name}/product`, `${name}/bias`], attr: float },
      { name, op: "Reshape", input: [`${name}/sum`, `${name}/shape`], attr: float },
    );
  }
  return artifactsOf(tf, { node, weights, outputs: Object.keys(heads) });
}

/** Does something while what a package fetches from fixed addresses is at hand: values as JSON, graphs as files. */
export async function served<T>(
  tf: Any,
  files: Readonly<Record<string, unknown>>,
  work: () => Promise<T>,
): Promise<T> {
  const answers = new Map<string, () => Response>();
  for (const [url, file] of Object.entries(files)) {
    const { modelTopology, weightSpecs, weightData, signature } = file as Any;
    if (modelTopology === undefined) {
      answers.set(url, () => Response.json(file));
      continue;
    }
    const weightsManifest = [{ paths: ["weights.bin"], weights: weightSpecs }];
    answers.set(
      `${url}/model.json`,
      () => Response.json({ format: "graph-model", modelTopology, signature, weightsManifest }),
    );
    answers.set(
      `${url}/weights.bin`,
      () => new Response(weightData, { headers: { "content-type": "application/octet-stream" } }),
    );
  }
  const { platform, platformName } = tf.env();
  const fetch = (address: unknown) => {
    const answer = answers.get(`${address}`.replace(/\?.*/, ""));
    return answer ? Promise.resolve(answer()) : Promise.reject(new Error(`No file ${address}`));
  };
  tf.env().setPlatform(
    platformName,
    Object.assign(Object.create(platform), { fetch }),
  );
  try {
    return await work();
  } finally {
    tf.env().setPlatform(platformName, platform);
  }
}

/** Throws where a package does not find what is there: assertions of the tests are not at hand in benches. */
export function check(isFound: boolean, found: string): void {
  if (!isFound) throw new Error(`Found ${found}`);
}

/** All numbers in a value, in order. */
export function numbers(value: unknown): number[] {
  if (typeof value === "number") return [value];
  if (ArrayBuffer.isView(value)) return [...value as Float32Array];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(numbers);
}
