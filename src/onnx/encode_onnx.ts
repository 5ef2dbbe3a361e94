/** encodeOnnx: writes a function or a model as a file of ONNX. */
import { create, toBinary } from "@bufbuild/protobuf";
import { optionCheck } from "../engine/core/arguments.ts";
import { DTYPES, makeData } from "../engine/core/dtype.ts";
import { ResourceExhaustedError, UnimplementedError, ValueError } from "../engine/core/errors.ts";
import { describe } from "../engine/core/convert.ts";
import { NdArray } from "../engine/core/nd_array.ts";
import { shapeText } from "../engine/core/shape.ts";
import type { Tensor } from "../engine/core/tensor.ts";
import { type Exportable, type Exported, exported } from "./exported.ts";
import { ModelSchema } from "./proto/onnx_pb.ts";
import { GraphBuilder, type GraphInput } from "./write/builder.ts";
import { TABLES } from "./write/ops/table.ts";
import { bytesOf, tensorMessage } from "./write/tensors.ts";
import { Ref } from "./write/ref.ts";
import { ModelWriter, type UnportableOnnxNode } from "./write/writer.ts";

/** Options of {@linkcode encodeOnnx}. */
export interface EncodeOnnxOptions {
  /** Version of ONNX's operator set, from 17 to 21. Default 18. */
  readonly opset?: number;
  /** Names of the inputs. Default: those of the signature. */
  readonly inputNames?: readonly string[];
  /** Names of the outputs. Default: the keys of the result, or `output`, or `output_0`, `output_1` and so on. */
  readonly outputNames?: readonly string[];
  /** Names of open extents by input, such as `{ x: ["batch", null] }`. Default: the input's name and the axis. */
  readonly dimensions?: Readonly<Record<string, readonly (string | null)[]>>;
  /** Domain of the nodes of script ops, by the names that they are registered under. Default: they are refused. */
  readonly scripts?: string;
  /** True: gives the files `model.onnx` and `model.onnx_data`, with large constants in the second. */
  readonly externalData?: boolean;
}

const checkOptions = optionCheck<EncodeOnnxOptions>("encodeOnnx", {
  opset: true,
  inputNames: true,
  outputNames: true,
  dimensions: true,
  scripts: true,
  externalData: true,
});

/** Versions of the file's form by version of the operator set. */
const FORMS: Readonly<Record<number, bigint>> = { 17: 8n, 18: 8n, 19: 9n, 20: 9n, 21: 10n };
/** Protobuf's messages have at most so many bytes. */
const MOST_BYTES = 2 ** 31 - 1;
/** Constants of fewer bytes stay in the model's own file. */
const LEAST_EXTERNAL = 1024;

/**
 * Writes a function as a file of ONNX that onnxruntime and other programs run: a `tf.function` with an `inputSignature` of
 * named specs, or a model (`loadOnnx`, `loadGraphModel`, tfjs-layers, a SavedModel's method). Variables are initialisers by
 * their names. Ops that ONNX has not are written as their parts. Throws `UnimplementedError` that lists all nodes
 * without a counterpart, `ValueError` for inputs without names and options that do not fit, `ResourceExhaustedError` for
 * more than 2 GB without `externalData`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { encodeOnnx, loadOnnx } from "@weft/weft/onnx";
 * const w = tf.variable([[2], [3]], true, "w");
 * const f = tf.function((x: tf.Tensor) => ({ y: tf.relu(tf.matMul(x, w)) }), {
 *   inputSignature: [tf.TensorSpec([null, 2], "float32", "x")],
 * });
 * const model = await loadOnnx(encodeOnnx(f));
 * const { y } = await model.run({ x: [[1, 1], [-1, 0]] });
 * console.log(await (y as tf.Tensor).array()); // [[5], [0]]
 * console.log(Object.keys(model.variables)); // ["w"]
 * ```
 */
export function encodeOnnx(
  f: Exportable,
  options: EncodeOnnxOptions & { readonly externalData: true },
): Record<string, Uint8Array>;
/** Writes one file. */
export function encodeOnnx(f: Exportable, options?: EncodeOnnxOptions): Uint8Array;
export function encodeOnnx(
  f: Exportable,
  options: EncodeOnnxOptions = {},
): Uint8Array | Record<string, Uint8Array> {
  return fileOf(written(f, options, "encodeOnnx", (t) => t.ndarraySync()), options, "encodeOnnx");
}

/**
 * Is {@linkcode encodeOnnx} where a device's memory is only read asynchronously, as in pages on a GPU. Rejects as it
 * throws.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { encodeOnnxAsync, loadOnnx } from "@weft/weft/onnx";
 * const f = tf.function((x: tf.Tensor) => ({ y: tf.relu(x) }), {
 *   inputSignature: [tf.TensorSpec([null], "float32", "x")],
 * });
 * const model = await loadOnnx(await encodeOnnxAsync(f) as Uint8Array);
 * const { y } = await model.run({ x: [-1, 2] });
 * console.log(await (y as tf.Tensor).array()); // [0, 2]
 * ```
 */
export async function encodeOnnxAsync(
  f: Exportable,
  options: EncodeOnnxOptions = {},
): Promise<Uint8Array | Record<string, Uint8Array>> {
  const known = new Map<Tensor, NdArray>();
  for (;;) {
    const missing = new Set<Tensor>();
    const read = (t: Tensor): NdArray => known.get(t) ?? (missing.add(t), zerosOf(t));
    let made: Written | null = null;
    try {
      made = written(f, options, "encodeOnnxAsync", read);
    } catch (e) {
      // Elements that are not there yet may be the cause.
      if (missing.size === 0) throw e;
    }
    if (missing.size === 0) return fileOf(made!, options, "encodeOnnxAsync");
    for (const t of missing) known.set(t, await t.ndarray());
  }
}

/**
 * Lists the nodes of a function that ONNX has no counterpart of, each with the reason; empty where {@linkcode encodeOnnx}
 * writes it.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { onnxPortability } from "@weft/weft/onnx";
 * const f = tf.function((x: tf.Tensor) => tf.linalg.inv(tf.gelu(x)), {
 *   inputSignature: [tf.TensorSpec([2, 2], "float32", "x")],
 * });
 * console.log(onnxPortability(f).map(({ op, reason }) => [op, reason])); // [["MatrixInverse", "ONNX has no counterpart of it"]]
 * ```
 */
export function onnxPortability(
  f: Exportable,
  options: EncodeOnnxOptions = {},
): UnportableOnnxNode[] {
  return written(f, options, "onnxPortability", (t) => t.ndarraySync()).writer.unportable;
}

/** A model that is written, but for its bytes. */
interface Written {
  readonly writer: ModelWriter;
  readonly graph: GraphBuilder;
  /** Values of the file's graph that are its outputs, with the names of these. */
  readonly renamed: ReadonlyMap<string, string>;
}

function written(
  f: Exportable,
  options: EncodeOnnxOptions,
  fn: string,
  read: (t: Tensor) => NdArray,
): Written {
  checkOptions(options);
  const { opset = 18, scripts = null, dimensions = {} } = options;
  if (!Object.hasOwn(FORMS, opset)) {
    throw new ValueError(`Cannot ${fn}: opset is ${describe(opset)}, wanted 17 to 21`);
  }
  if (scripts !== null && !/^[A-Za-z_][\w.]*$/.test(scripts)) {
    throw new ValueError(
      `Cannot ${fn}: scripts is ${describe(scripts)}, wanted a domain as "acme"`,
    );
  }
  const source = exported(f, options, fn), { variableNames } = source;
  const writer = new ModelWriter({ tables: TABLES, opset, scripts, variableNames, read });
  const graph = new GraphBuilder("model"), { names } = writer;
  const inputs = source.inputs.map((input) => graph.addInput(fileInput(input, dimensions, fn)));
  for (const { name } of inputs) names.fresh(name);
  for (const name of source.outputNames) {
    if (names.fresh(name) === name) continue;
    throw new ValueError(`Cannot ${fn}: an input and an output are named "${name}"`);
  }
  const renamed = new Map<string, string>();
  writer.function(source.graph, inputs, graph).forEach((ref, k) => {
    const name = source.outputNames[k];
    if (DTYPES[ref.dtype].kind === "complex") {
      throw new UnimplementedError(
        `Cannot ${fn}: output "${name}" is ${ref.dtype}, ONNX's ops give none`,
      );
    }
    if (ref.name === "") return;
    if (graph.makes(ref.name) && !renamed.has(ref.name)) renamed.set(ref.name, name);
    else graph.addNode({ ...IDENTITY, name, inputs: [ref.name], outputs: [name] });
    graph.outputs.push(renamed.get(ref.name) === name ? ref : new Ref(name, ref.dtype, ref.shape));
  });
  return { writer, graph, renamed };
}

const IDENTITY = { op: "Identity", domain: "", attributes: {} };

/** Returns an input with the names of its open extents. */
function fileInput(
  { name, dtype, shape }: Exported["inputs"][number],
  dimensions: Readonly<Record<string, readonly (string | null)[]>>,
  fn: string,
): GraphInput {
  const given = Object.hasOwn(dimensions, name) ? dimensions[name] : null;
  if (given !== null && given.length !== shape?.length) {
    throw new ValueError(
      `Cannot ${fn}: dimensions of "${name}" has ${given.length} names, its shape is ${
        shapeText(shape)
      }`,
    );
  }
  if (DTYPES[dtype].kind === "complex") {
    throw new UnimplementedError(`Cannot ${fn}: input "${name}" is ${dtype}, ONNX's ops take none`);
  }
  return { name, dtype, shape: shape?.map((d, i) => d ?? given?.[i] ?? `${name}_${i}`) ?? null };
}

function zerosOf({ dtype, staticShape }: Tensor): NdArray {
  const shape = staticShape as number[], size = shape.reduce((n, d) => n * d, 1);
  return new NdArray(dtype, shape, makeData(dtype, size));
}

function unportableError(nodes: readonly UnportableOnnxNode[], fn: string): UnimplementedError {
  const list = nodes.map((n) =>
    `"${n.node}" (${n.op}${
      n.function === undefined ? "" : `, in function ${n.function}`
    }): ${n.reason}`
  );
  const [{ op, node }] = nodes;
  return new UnimplementedError(
    `Cannot ${fn}: ONNX has no counterpart of ${
      nodes.length === 1 ? "one node" : `${nodes.length} nodes`
    }: ${list.join("; ")}`,
    { op, node },
  );
}

function fileOf(
  { writer, graph, renamed }: Written,
  { opset = 18, externalData = false }: EncodeOnnxOptions,
  fn: string,
): Uint8Array | Record<string, Uint8Array> {
  if (writer.unportable.length > 0) throw unportableError(writer.unportable, fn);
  const used = new Set<string>(), message = graph.message(used, renamed);
  const constants = [...writer.constants.all.values()].filter((c) => used.has(c.name));
  const bytes = constants.reduce((n, { array }) => n + array.size * DTYPES[array.dtype].bytes, 0);
  if (!externalData && bytes > MOST_BYTES) {
    throw new ResourceExhaustedError(
      `Cannot ${fn}: its constants have ${bytes} bytes, a file of ONNX at most ${MOST_BYTES}, pass { externalData: true }`,
    );
  }
  const parts: Uint8Array[] = [];
  let offset = 0;
  for (const { name, array } of constants) {
    const isApart = externalData && array.dtype !== "string" &&
      bytesOf(array).length >= LEAST_EXTERNAL;
    message.initializer.push(
      tensorMessage(name, array, isApart ? { location: DATA_FILE, offset } : null),
    );
    if (!isApart) continue;
    parts.push(bytesOf(array));
    offset += parts.at(-1)!.length;
  }
  const model = toBinary(
    ModelSchema,
    create(ModelSchema, {
      irVersion: FORMS[opset],
      producerName: "weft",
      graph: message,
      opsetImport: [
        { domain: "", version: BigInt(opset) },
        ...[...writer.target.domains].map((domain) => ({ domain, version: 1n })),
      ],
    }),
  );
  if (!externalData) return model;
  const data = new Uint8Array(offset);
  let at = 0;
  for (const part of parts) {
    data.set(part, at);
    at += part.length;
  }
  return { [MODEL_FILE]: model, [DATA_FILE]: data };
}

const MODEL_FILE = "model.onnx", DATA_FILE = "model.onnx_data";
