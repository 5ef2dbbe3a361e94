/**
 * Models of ONNX with random mutations: they are loaded, traced, adapted, saved and loaded again, or refused; no byte outside of the
 * model's folder is read.
 */
import { fromBinary, fromJson, type JsonValue, toBinary, toJson } from "@bufbuild/protobuf";
import { AssertionError } from "@std/assert";
import { inspectOnnx, loadOnnx, lora } from "@weft/weft/onnx";
import { ModelSchema } from "../../src/onnx/proto/onnx_pb.ts";
import {
  floats,
  functionOf,
  int64s,
  model,
  node,
  referring,
  tensor,
  value,
} from "../onnx/make_model.ts";
import { type Json, mutateBytes, mutateJson, type Random } from "./mutate.ts";
import { outcome } from "./outcome.ts";

const X = value("x", "float32", ["n", 4]), Y = value("y", "float32", ["n", 4]);
const numbers = (n: number): Float32Array => Float32Array.from({ length: n }, (_, i) => i / 8 - 1);
const w = tensor("w", [4, 4], numbers(16));

/** Bytes that lie beside the model's folder: nothing may read them. */
export const SECRET: Uint8Array = new Uint8Array(
  floats(...new Array<number>(64).fill(7654321)).buffer,
);

/** Sound models, and a file of external data. */
export function soundModels(): Record<string, Uint8Array> {
  const external = tensor("w", [4, 4], { location: "weights.data", offset: 16, length: 64 });
  const body = {
    nodes: [
      node("Identity", ["go"], ["goes"]),
      node("MatMul", ["state", "w"], ["next"]),
      node("ReduceSum", ["next"], ["row"], { keepdims: 0n }),
    ],
    inputs: [value("i", "int64", []), value("go", "bool", []), value("state", "float32", ["n", 4])],
    outputs: [
      value("goes", "bool", []),
      value("next", "float32", ["n", 4]),
      value("row", "float32", []),
    ],
  };
  const branch = (name: string, op: string) => ({
    nodes: [node(op, ["x", "w"], [name])],
    inputs: [],
    outputs: [value(name, "float32", ["n", 4])],
  });
  return {
    "dense.onnx": model({
      nodes: [
        node("MatMul", ["x", "w"], ["a"]),
        node("BatchNormalization", ["a", "s", "s", "s", "s"], ["b"]),
        node("Dropout", ["b", "ratio"], ["c", ""]),
        node("Gemm", ["c", "w", "s"], ["y"], { transB: 1n, alpha: 0.5 }),
      ],
      inputs: [X],
      outputs: [Y],
      initialisers: [
        external,
        tensor("s", [4], floats(1, 2, 3, 4)),
        tensor("ratio", [], floats(0.5)),
      ],
    }),
    "control.onnx": model({
      nodes: [
        node("Loop", ["three", "", "x"], ["turned", "rows"], { body }),
        node("ReduceMax", ["turned"], ["most"], { keepdims: 0n }),
        node("Less", ["most", "limit"], ["is"]),
        node("If", ["is"], ["y"], {
          then_branch: branch("p", "MatMul"),
          else_branch: branch("q", "MatMul"),
        }),
      ],
      inputs: [X],
      outputs: [Y, value("rows", "float32", [3])],
      initialisers: [w, tensor("three", [], int64s(3)), tensor("limit", [], floats(100))],
    }),
    "shapes.onnx": model({
      functions: [
        functionOf("Scaled", ["a"], ["b"], [
          referring(node("LeakyRelu", ["a"], ["c"]), "alpha", "by"),
          node("Add", ["c", "c"], ["b"]),
        ], { by: 0.5 }),
      ],
      nodes: [
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "zero"], ["rows"]),
        node("Concat", ["rows", "two", "two"], ["to"], { axis: 0n }),
        node("Reshape", ["x", "to"], ["square"]),
        node("Transpose", ["square"], ["turned"], { perm: [0n, 2n, 1n] }),
        node("Reshape", ["turned", "flat"], ["back"]),
        node("Scaled", ["back"], ["scaled"], { by: 0.25 }, "acme"),
        node("MatMul", ["scaled", "w"], ["y"]),
      ],
      inputs: [X],
      outputs: [Y],
      initialisers: [
        w,
        tensor("zero", [1], int64s(0)),
        tensor("two", [1], int64s(2)),
        tensor("flat", [2], int64s(-1, 4)),
      ],
    }),
    "quantised.onnx": model({
      nodes: [
        node("DequantizeLinear", ["q", "s"], ["dq"], { axis: 0n }),
        node("MatMul", ["x", "dq"], ["a"]),
        node("MatMulNBits", ["a", "packed", "scales"], ["y"], {
          K: 4n,
          N: 4n,
          bits: 4n,
          block_size: 16n,
        }, "com.microsoft"),
      ],
      inputs: [X],
      outputs: [Y],
      initialisers: [
        tensor("q", [4, 4], Uint8Array.from({ length: 16 }, (_, i) => 16 * i)),
        tensor("s", [4], floats(0.1, 0.2, 0.3, 0.4)),
        tensor("packed", [4, 1, 8], Uint8Array.from({ length: 32 }, (_, i) => 9 * i)),
        tensor("scales", [4], floats(0.1, 0.2, 0.3, 0.4)),
      ],
      domains: ["com.microsoft"],
    }),
    "weights.data": new Uint8Array(numbers(24).buffer),
  };
}

/** Places of external data that are not in the model's folder. */
const OUTSIDE: readonly string[] = [
  "../secret",
  "./../secret",
  "sub/../../secret",
  "..\\secret",
  "/etc/hostname",
  "file:///etc/hostname",
  "weights.data/../../secret",
  "%2e%2e/secret",
  "..%2fsecret",
  "../secret\0",
  "link",
];

/** Mutates the bytes of a file. */
export function mutateOnnxBytes(
  files: Readonly<Record<string, Uint8Array>>,
  random: Random,
): [string, Uint8Array] {
  const name = random.of(Object.keys(files));
  return [name, mutateBytes(files[name]!, random, Object.values(files))];
}

/** Mutates what a model's messages say: the file remains one of messages. */
export function mutateOnnxMessages(
  files: Readonly<Record<string, Uint8Array>>,
  random: Random,
): [string, Uint8Array] {
  const name = random.of(Object.keys(files).filter((n) => n.endsWith(".onnx")));
  const json = toJson(ModelSchema, fromBinary(ModelSchema, files[name]!)) as Json;
  for (let tries = 0; tries < 200; tries++) {
    const changed = random.below(8) === 0 ? moved(json, random) : mutateJson(json, random);
    try {
      return [name, toBinary(ModelSchema, fromJson(ModelSchema, changed as JsonValue))];
    } catch {
      // It has no messages of that form: another one is tried.
    }
  }
  return [name, files[name]!];
}

/** Places an initialiser outside of the folder, or beyond its file. */
function moved(json: Json, random: Random): Json {
  const copy = structuredClone(json) as { graph: { initializer: Record<string, Json>[] } };
  const one = random.of(copy.graph.initializer);
  delete one.rawData;
  one.dataLocation = 1;
  one.externalData = [
    { key: "location", value: random.of([...OUTSIDE, "weights.data"]) },
    { key: "offset", value: random.of(["0", "16", "80", "99999999999", "-1", "x"]) },
  ];
  return copy as unknown as Json;
}

/** Loads a model, and tries all that can be done with it but running. */
export async function useModel(folder: string, path: string): Promise<void> {
  const file = path.endsWith(".onnx") ? path : "dense.onnx";
  await inspectOnnx(`${folder}/${file}`);
  const loaded = await loadOnnx(`${folder}/${file}`);
  try {
    for (const v of Object.values(loaded.variables)) {
      if ((await v.data()).includes(7654321 as never)) {
        throw new AssertionError("A file outside of the model's folder was read");
      }
    }
    await outcome(() => loaded.graph.operations.length, () => "the graph");
    const adapters = await outcome(() => lora(loaded, { rank: 1, targets: "*" }), () => "lora()");
    await outcome(() => void loaded.freeze(), () => "freeze()");
    const bytes = await outcome(() => loaded.encode(), () => "encode()");
    if (bytes !== null) {
      const again = await loadOnnx(bytes);
      await outcome(() => again.graph.operations.length, () => "the graph that was saved");
      again.dispose();
    }
    if (adapters !== null) await outcome(() => void adapters.merge(), () => "merge()");
    await outcome(() => void loaded.replace("y", (y) => y), () => "replace()");
  } finally {
    loaded.dispose();
  }
}
