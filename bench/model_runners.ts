// Models set up in Weft and in TensorFlow.js, ready to be run and compared.

import * as tf from "@weft/weft";
import type * as Tfjs from "@tensorflow/tfjs-core";
import type { ModelFile } from "./model_files.ts";
import { uniform } from "./random.ts";

/** The used part of TensorFlow.js's converter. */
export interface Converter {
  loadGraphModel(handler: { load(): Promise<unknown> }): Promise<TfjsModel>;
}

interface TfjsModel {
  readonly outputs: readonly { readonly name: string }[];
  execute(inputs: Record<string, Tfjs.Tensor>, outputs: string[]): Tfjs.Tensor | Tfjs.Tensor[];
  executeAsync(
    inputs: Record<string, Tfjs.Tensor>,
    outputs: string[],
  ): Promise<Tfjs.Tensor | Tfjs.Tensor[]>;
  dispose(): void;
}

/** The used part of TensorFlow.js's layers. */
export interface Layers {
  loadLayersModel(handler: { load(): Promise<unknown> }): Promise<LayersModel>;
}

interface LayersModel {
  readonly inputs: readonly { readonly shape: readonly (number | null)[] }[];
  predict(input: Tfjs.Tensor): Tfjs.Tensor;
  dispose(): void;
}

/** An input as both systems are given it. */
export interface Input {
  readonly name: string;
  readonly shape: number[];
  readonly dtype: "float32" | "int32" | "string";
  readonly values: Float32Array | Int32Array | string[];
}

/** A result on the host. */
export interface Value {
  readonly shape: readonly number[];
  readonly data: ArrayLike<number>;
}

/** A model set up in one system. */
export interface Runner {
  readonly loadMs: number;
  /** Runs it; nothing is kept. */
  run(): Promise<void>;
  values(): Promise<Value[]>;
  dispose(): void;
}

function inputsOf(file: ModelFile, model: tf.GraphModel): Input[] {
  const random = uniform(7);
  return model.inputs.map(({ name, dtype, shape }): Input => {
    const known = file.shapes?.[name];
    const dims = known ??
      (shape ?? [null]).map((d, i, all) => d ?? (i === 0 ? 1 : i === all.length - 1 ? 3 : 192));
    const size = dims.reduce((a, b) => a * b, 1);
    const own = file.values?.[name];
    if (dtype === "string") {
      return { name, shape: [...dims], dtype, values: new Array(size).fill(file.text ?? "") };
    }
    const noise = Array.from({ length: size }, random);
    if (dtype === "float32") {
      return { name, shape: [...dims], dtype, values: Float32Array.from(own ?? noise) };
    }
    const bytes = noise.map((v) => Math.floor(255 * v));
    return { name, shape: [...dims], dtype: "int32", values: Int32Array.from(own ?? bytes) };
  });
}

/** A number, or the bytes of a string. */
function numbersOf(value: number | string | Uint8Array): number | number[] {
  if (typeof value === "string") return [...new TextEncoder().encode(value)];
  return value instanceof Uint8Array ? [...value] : Number(value);
}

async function valuesOf(tensors: readonly (tf.Tensor | Tfjs.Tensor)[]): Promise<Value[]> {
  const out: Value[] = [];
  for (const t of tensors) {
    const data = await (t as { data(): Promise<unknown> }).data() as ArrayLike<
      number | string | Uint8Array
    >;
    out.push({ shape: t.shape as readonly number[], data: Array.from(data, numbersOf).flat() });
  }
  return out;
}

/** A graph model in Weft, with inputs that fit it. */
export async function ours(
  file: ModelFile,
): Promise<{ readonly runner: Runner; readonly inputs: Input[]; readonly outputs: string[] }> {
  const artifacts = await file.artifacts();
  const started = performance.now();
  const model = await tf.loadGraphModel(artifacts as unknown as tf.ModelArtifacts);
  const loadMs = performance.now() - started;
  const inputs = inputsOf(file, model);
  const outputs = model.outputs.map((o) => o.name);
  const given = Object.fromEntries(
    inputs.map((i): [string, tf.Tensor] => {
      const { dtype } = model.inputs.find(({ name }) => name === i.name)!;
      return [i.name, tf.tensor(i.values as tf.TensorLike, i.shape, dtype)];
    }),
  );
  const call = async () => [await model.executeAsync(given, outputs)].flat();
  return {
    inputs,
    outputs,
    runner: {
      loadMs,
      async run() {
        const results = await call();
        for (const t of results) await t.data();
        tf.dispose(results);
      },
      async values() {
        const results = await call();
        const values = await valuesOf(results);
        tf.dispose(results);
        return values;
      },
      dispose() {
        model.dispose();
        tf.dispose(given);
      },
    },
  };
}

/** A model of layers in one of the systems: over Weft they are the unmodified package. */
export async function layersRunner(
  file: ModelFile,
  { tf, layers }: { readonly tf: typeof Tfjs; readonly layers: Layers },
): Promise<Runner> {
  const artifacts = await file.artifacts();
  const started = performance.now();
  const model = await layers.loadLayersModel({ load: () => Promise.resolve(artifacts) });
  const loadMs = performance.now() - started, random = uniform(7);
  const shape = model.inputs[0]!.shape.map((d) => d ?? 1);
  const values = Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, random);
  const input = tf.tensor(values, shape);
  return {
    loadMs,
    async run() {
      const result = model.predict(input);
      await result.data();
      result.dispose();
    },
    async values() {
      const result = model.predict(input), values = await valuesOf([result]);
      result.dispose();
      return values;
    },
    dispose() {
      model.dispose();
      input.dispose();
    },
  };
}

/** A graph model in TensorFlow.js. */
export async function theirs(
  file: ModelFile,
  { converter, tfjs, inputs, outputs }: {
    readonly converter: Converter;
    readonly tfjs: typeof Tfjs;
    readonly inputs: readonly Input[];
    readonly outputs: string[];
  },
): Promise<Runner> {
  const artifacts = await file.artifacts();
  const started = performance.now();
  const model = await converter.loadGraphModel({ load: () => Promise.resolve(artifacts) });
  const loadMs = performance.now() - started;
  const given = Object.fromEntries(
    inputs.map((i): [string, Tfjs.Tensor] => [i.name, tfjs.tensor(i.values, i.shape, i.dtype)]),
  );
  let isAsync = false;
  const call = async (): Promise<Tfjs.Tensor[]> =>
    [isAsync ? await model.executeAsync(given, outputs) : model.execute(given, outputs)].flat();
  try {
    (await call()).forEach((t) => t.dispose());
  } catch {
    // Models with loops, and with shapes that depend on values.
    isAsync = true;
  }
  return {
    loadMs,
    async run() {
      const results = await call();
      for (const t of results) await t.data();
      results.forEach((t) => t.dispose());
    },
    values: async () => await valuesOf(await call()),
    dispose() {
      model.dispose();
      Object.values(given).forEach((t) => t.dispose());
    },
  };
}
