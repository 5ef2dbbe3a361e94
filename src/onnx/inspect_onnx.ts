/** inspectOnnx: describes a model's file without running it. */
import { optionCheck } from "../engine/core/arguments.ts";
import type { FileSource } from "../library/io/source.ts";
import { missingOps } from "./build/walk.ts";
import { allNodes, opName } from "./file/graph.ts";
import { type OnnxFile, readModel, type ReadOptions } from "./file/read_model.ts";
import type { ValueType } from "./file/types.ts";
import { lookupOp } from "./ops/table.ts";

const checkOptions = optionCheck<ReadOptions>("inspectOnnx", {
  externalData: true,
  onProgress: true,
  signal: true,
});

/** The description of a model's file. */
export interface OnnxInspection {
  /** The program that wrote it. */
  readonly producer: string;
  /** Versions of operator sets by domain; ONNX's own is `ai.onnx`. */
  readonly opsets: Readonly<Record<string, number>>;
  /** Names and types of its inputs, in the form `float32[batch, 3]`. */
  readonly inputs: Readonly<Record<string, string>>;
  /** Names and types of its outputs. */
  readonly outputs: Readonly<Record<string, string>>;
  /** Number of nodes by op, inner graphs included, with calls of functions replaced. */
  readonly ops: Readonly<Record<string, number>>;
  /** Unsupported ops, with the names of their nodes. */
  readonly missing: Readonly<Record<string, readonly string[]>>;
  /** Bytes of its initialisers. */
  readonly bytes: number;
  /** Names of its functions. */
  readonly functions: readonly string[];
  /** Its metadata by key. */
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * Reads a model and describes it. Rejects as {@linkcode loadOnnx} does for invalid files; unsupported ops are listed.
 *
 * @example
 * ```ts
 * import { inspectOnnx } from "@weft/weft/onnx";
 * // y = MatMul(x, w), as a file of ONNX has it
 * const file = "CAoSADpXChEKAXgKAXcSAXkiBk1hdE11bBIBZyoTCAIIARABQgF3SggAAABAAABAQFoUCgF4Eg8KDQgBEgkKAxIBbgoCCAJiFAoBeRIPCg0IARIJCgMSAW4KAggBQgQKABAV";
 * const { inputs, ops, opsets } = await inspectOnnx(Uint8Array.from(atob(file), (c) => c.charCodeAt(0)));
 * console.log([inputs, ops, opsets]); // [{ x: "float32[n, 2]" }, { MatMul: 1 }, { "ai.onnx": 21 }]
 * ```
 */
export async function inspectOnnx(
  source: FileSource,
  options: ReadOptions = {},
): Promise<OnnxInspection> {
  checkOptions(options);
  return inspect(await readModel(source, options));
}

function inspect(file: OnnxFile): OnnxInspection {
  const { graph, versions, producer, functions, metadata } = file;
  const counts = new Map<string, number>();
  for (const node of allNodes(graph)) {
    counts.set(opName(node), (counts.get(opName(node)) ?? 0) + 1);
  }
  const missing = missingOps(graph, { lookup: lookupOp, scripts: new Map() });
  const named = (values: typeof graph.inputs) =>
    Object.fromEntries(values.map(({ name, type }) => [name, typeText(type)]));
  let bytes = 0;
  for (const data of graph.initialisers.values()) {
    bytes += data.packed?.length ?? (data.array.data as { byteLength?: number }).byteLength ?? 0;
  }
  return {
    producer,
    opsets: Object.fromEntries([...versions].map(([d, v]) => [d === "" ? "ai.onnx" : d, v])),
    inputs: named(graph.inputs),
    outputs: named(graph.outputs),
    ops: Object.fromEntries([...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1))),
    missing: Object.fromEntries([...missing].map(([op, { nodes }]) => [op, nodes])),
    bytes,
    functions,
    metadata,
  };
}

function typeText(type: ValueType | null): string {
  if (type === null) return "unknown";
  if (type.kind === "map") return "map";
  if (type.kind !== "tensor") return `${type.kind}(${typeText(type.of)})`;
  return `${type.dtype}${
    type.shape === null ? "" : `[${type.shape.map((d) => d ?? "?").join(", ")}]`
  }`;
}

export function inspectionLines(found: OnnxInspection): string[] {
  const list = (what: string, values: Readonly<Record<string, unknown>>) =>
    Object.entries(values).map(([name, value]) => `${what} ${name}: ${value}`);
  const nodes = Object.values(found.ops).reduce((a, b) => a + b, 0);
  const missing = Object.entries(found.missing);
  return [
    `ONNX model${found.producer === "" ? "" : ` by ${found.producer}`}, ${nodes} nodes, ${
      Object.keys(found.ops).length
    } ops, initialisers of ${found.bytes} bytes`,
    ...list("opset", found.opsets),
    ...list("input", found.inputs),
    ...list("output", found.outputs),
    ...found.functions.map((f) => `function ${f}`),
    ...Object.entries(found.ops).map(([op, n]) => `${String(n).padStart(6)} ${op}`),
    ...missing.map(([op, places]) => `missing ${op} at ${places.join(", ")}`),
    missing.length === 0 ? "nothing is missing" : `${missing.length} ops are missing`,
  ];
}
