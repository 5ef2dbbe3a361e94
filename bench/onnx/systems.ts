// The two systems that run models of ONNX in the tables.

import type { ExternalFiles, OnnxArray } from "./files.ts";
import type { Device } from "../row.ts";

const PACKAGE = "npm:onnxruntime-web@1.30.0";

export type Results = ReadonlyMap<string, ArrayLike<number | bigint>>;

/** A model to load: its bytes, and those of files beside it. */
export interface Loaded {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly external: ExternalFiles;
}

/** A model set up in one system. */
export interface Session {
  /** Runs it; results are in JavaScript's memory. */
  run(): Promise<Results>;
  dispose(): void;
}

export interface System {
  readonly name: string;
  load(given: Loaded, inputs: ReadonlyMap<string, OnnxArray>): Promise<Session>;
}

/** Imports Weft, from its sources or from a folder that holds the package. */
export async function weft(device: Device, folder?: string): Promise<System> {
  const [main, onnx] = folder === undefined
    ? ["@weft/weft", "@weft/weft/onnx"]
    : [`file://${folder}/mod.js`, `file://${folder}/onnx.js`];
  const tf: typeof import("@weft/weft") = await import(main);
  const { loadOnnx }: typeof import("@weft/weft/onnx") = await import(onnx);
  await tf.setBackend(device);
  const halves = (a: OnnxArray) =>
    a.dtype === "float16" ? new Float16Array(a.data.buffer as ArrayBuffer) : a.data;
  return {
    name: "Weft",
    async load({ bytes, external }, inputs) {
      const model = await loadOnnx(bytes, { externalData: external });
      const feeds = Object.fromEntries(
        model.inputs.map(({ name, dtype }) => {
          const given = inputs.get(name)!;
          return [
            name,
            tf.tensor(halves(given) as unknown as Float32Array, [...given.shape], dtype),
          ];
        }),
      );
      return {
        async run() {
          const outputs = Object.entries(await model.run(feeds)).map(([name, y]) =>
            [name, y as InstanceType<typeof tf.Tensor>] as const
          );
          const read = await Promise.all(
            outputs.map(async ([name, y]) =>
              [name, await y.data() as ArrayLike<number | bigint>] as const
            ),
          );
          for (const [, y] of outputs) y.dispose();
          return new Map(read);
        },
        dispose() {
          model.dispose();
          for (const t of Object.values(feeds)) t.dispose();
        },
      };
    },
  };
}

interface OrtTensor {
  readonly data: ArrayLike<number | bigint>;
}

interface Ort {
  readonly env: { readonly wasm: { numThreads?: number }; logLevel: string };
  readonly InferenceSession: {
    create(model: Uint8Array, options: {
      readonly logSeverityLevel: number;
      readonly externalData: readonly { readonly path: string; readonly data: Uint8Array }[];
    }): Promise<{
      run(feeds: Readonly<Record<string, OrtTensor>>): Promise<Readonly<Record<string, OrtTensor>>>;
      release(): Promise<void>;
    }>;
  };
  readonly Tensor: new (
    type: string,
    data: OnnxArray["data"] | Float16Array,
    shape: readonly number[],
  ) => OrtTensor;
}

/** Imports onnxruntime-web. */
export async function onnxruntime(): Promise<System> {
  // Its loader leaves Node's workers in the global place of the web's.
  const { Worker } = globalThis;
  const ort: Ort = await import(PACKAGE);
  ort.env.wasm.numThreads = navigator.hardwareConcurrency;
  ort.env.logLevel = "error";
  const system: System = {
    name: "onnxruntime-web",
    async load({ bytes, external }, inputs) {
      const externalData = Object.entries(external).map(([path, data]) => ({ path, data }));
      const options = { logSeverityLevel: 3, externalData };
      const session = await ort.InferenceSession.create(bytes, options);
      globalThis.Worker = Worker;
      const feeds = Object.fromEntries(
        [...inputs].map(([name, { dtype, shape, data }]) => [
          name,
          new ort.Tensor(
            dtype,
            dtype === "float16" ? new Float16Array(data.buffer as ArrayBuffer) : data,
            shape,
          ),
        ]),
      );
      return {
        async run() {
          const outputs = Object.entries(await session.run(feeds));
          return new Map(outputs.map(([name, { data }]) => [name, data]));
        },
        dispose: () => void session.release(),
      };
    },
  };
  return system;
}
