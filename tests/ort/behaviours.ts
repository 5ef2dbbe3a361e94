/** Behaviour that programs rely on, as a table: what each case tells is the same for onnxruntime-web and for Weft. */
import type * as weft from "@weft/weft/ort";
import { floats, model, node, tensor, value } from "../onnx/make_model.ts";

/** Options of sessions: the execution provider. */
export type Options = Readonly<Record<"executionProviders", readonly string[]>>;

/** The part of onnxruntime's API that both have. */
export type Ort = Pick<typeof weft, "InferenceSession" | "Tensor" | "env">;

/** A told value, as JSON can hold it. */
type Told = unknown;

const AFFINE = model({
  nodes: [node("MatMul", ["x", "w"], ["y"]), node("Neg", ["y"], ["z"])],
  inputs: [value("x", "float32", ["batch", 2])],
  outputs: [value("y", "float32", ["batch", 2]), value("z", "float32", ["batch", 2])],
  initialisers: [tensor("w", [2, 2], floats(1, 2, 3, 4))],
});
const MIXED = model({
  nodes: [
    node("Identity", ["n"], ["m"]),
    node("Not", ["b"], ["c"]),
    node("Mul", ["f", "s"], ["g"]),
  ],
  inputs: [
    value("n", "int64", ["rows", 3]),
    value("b", "bool", [2]),
    value("f", "float32", [1, "rows"]),
    value("s", "float32", []),
  ],
  outputs: [
    value("m", "int64", ["rows", 3]),
    value("c", "bool", [2]),
    value("g", "float32", [1, "rows"]),
  ],
});
const TEXTS = model({
  nodes: [node("Concat", ["a", "a"], ["b"], { axis: 0n })],
  inputs: [value("a", "string", ["n"])],
  outputs: [value("b", "string", ["m"])],
});
/** Its weight is an input as well, as in files of old versions. */
const DEFAULTED = model({
  nodes: [node("Add", ["x", "w"], ["y"])],
  inputs: [value("x", "float32", [2]), value("w", "float32", [2])],
  outputs: [value("y", "float32", [2])],
  initialisers: [tensor("w", [2], floats(1, 2))],
});
const EXTERNAL = model({
  nodes: [node("Add", ["x", "w"], ["y"])],
  inputs: [value("x", "float32", [2])],
  outputs: [value("y", "float32", [2])],
  initialisers: [tensor("w", [2], { location: "weights.bin", offset: 4, length: 8 })],
});

/** Message of the error that a call throws or rejects with. */
async function failure(call: () => unknown): Promise<Told> {
  try {
    await call();
    return "no error";
  } catch (e) {
    return (e as Error).message;
  }
}

/** Elements and everything else of a tensor. */
function tell(t: weft.Tensor): Told {
  return { type: t.type, dims: [...t.dims], size: t.size, at: t.location, data: list(t.data) };
}
const list = (data: ArrayLike<unknown>): Told[] =>
  Array.from(data, (v) => typeof v === "bigint" ? `${v}n` : v);

type Untyped = new (...args: unknown[]) => weft.Tensor;

/** Tensors by arguments of the constructor. */
const MADE: readonly (readonly unknown[])[] = [
  ["float32", [1, 2, 3, 4], [2, 2]],
  ["float32", Float32Array.of(1, 2)],
  [Float32Array.of(1, 2), [2, 1]],
  ["int64", [1, 2n, -3], [3]],
  ["uint64", BigUint64Array.of(7n)],
  ["bool", [true, false, 0, 7]],
  [[true, false]],
  [["a", "b"], [1, 2]],
  ["string", ["a"], []],
  ["float16", Uint16Array.of(0x3c00, 0xc000)],
  ["uint8", Uint8ClampedArray.of(1, 2)],
  [Uint8ClampedArray.of(1, 2)],
  ["int4", Uint8Array.of(1, 2), [3]],
  ["uint4", Uint8Array.of(1, 2, 3), [3]],
  [Uint16Array.of(1)],
  ["float32", [], [0, 3]],
  [{ location: "cpu-pinned", type: "int32", data: Int32Array.of(1, 2), dims: [2, 1] }],
];

/** Arguments that the constructor refuses. */
const REFUSED: readonly (readonly unknown[])[] = [
  ["float32", [1, 2, 3, 4, 5], [2, 3]],
  ["float99", [1], [1]],
  ["float32", Int32Array.of(1), [1]],
  ["string", "text", [1]],
  [[], [0]],
  [[1, 2], [2]],
  ["float32", [1], 1],
  ["float32", [1], [1.5]],
  ["float32", [1], [-2]],
  ["float32", [1], ["1"]],
  ["int4", [1], [1]],
  ["int8", Uint8ClampedArray.of(1)],
  [new Map()],
  [{ location: "nowhere", type: "float32", dims: [] }],
  [{ location: "texture", type: "int32", texture: {}, dims: [] }],
  [{ location: "gpu-buffer", type: "float64", gpuBuffer: {}, dims: [] }],
  [{ location: "ml-tensor", type: "string", mlTensor: {}, dims: [] }],
  [{ location: "cpu-pinned", type: "string", data: [], dims: [] }],
  [{ location: "cpu-pinned", type: "int32", data: Float32Array.of(1), dims: [1] }],
];

/** The cases, by what they are about. */
export const CASES: Readonly<Record<string, (ort: Ort, options: Options) => Told>> = {
  "tensors of arrays": ({ Tensor }) => MADE.map((args) => tell(new (Tensor as Untyped)(...args))),
  "refused tensors": ({ Tensor }) =>
    Promise.all(REFUSED.map((args) => failure(() => new (Tensor as Untyped)(...args)))),
  "a tensor keeps its array": ({ Tensor }) => {
    const data = Float32Array.of(1, 2), t = new Tensor("float32", data, [2]);
    return [t.data === data, t.reshape([2, 1]).data === data, t instanceof Tensor];
  },
  "fields that packages use": ({ Tensor }) => {
    const t = new Tensor("float32", Float32Array.of(1, 2), [2]) as unknown as {
      dims: number[];
      cpuData: unknown;
      readonly data: unknown;
    };
    t.dims = [1, 2];
    t.cpuData = "replaced";
    return [
      t.dims,
      t.data,
      ["cpuData", "dataLocation", "dims", "size", "type"].map((k) => Object.hasOwn(t, k)),
    ];
  },
  "reshape()": ({ Tensor }) => {
    const t = new Tensor("float32", [1, 2, 3, 4, 5, 6], [2, 3]);
    return Promise.all([tell(t.reshape([3, 2])), failure(() => t.reshape([4]))]);
  },
  "disposed tensors": async ({ Tensor }) => {
    const t = new Tensor("float32", [1], [1]);
    t.dispose();
    return [
      t.location,
      await failure(() => t.data),
      await failure(() => t.getData()),
      await failure(() => t.reshape([1])),
      await failure(() => t.gpuBuffer),
    ];
  },
  "memory elsewhere": async ({ Tensor }) => {
    let disposed = 0;
    const buffer = { size: 16 } as GPUBuffer;
    const make = () =>
      Tensor.fromGpuBuffer(buffer, {
        dataType: "int32",
        dims: [2],
        download: () => Promise.resolve(Int32Array.of(5, 6)),
        dispose: () => void disposed++,
      });
    const t = make();
    const before = [
      t.location,
      t.gpuBuffer === buffer,
      await failure(() => t.data),
      await failure(() => t.reshape([1, 2])),
    ];
    const reading = t.getData(), twice = await failure(() => t.getData());
    const data = list(await reading);
    const u = make();
    await u.getData(true);
    const bare = Tensor.fromGpuBuffer(buffer, { dims: [1] });
    return [
      before,
      twice,
      data,
      tell(t),
      disposed,
      await failure(() => bare.getData()),
      bare.type,
      bare.reshape([1, 1]).dims,
      await failure(() => bare.texture),
      await failure(() => bare.mlTensor),
    ];
  },
  "images as tensors": async ({ Tensor }) => {
    const image = new ImageData(Uint8ClampedArray.of(255, 0, 51, 255, 10, 20, 30, 40), 2, 1);
    const t = await Tensor.fromImage(image);
    return [tell(t), await failure(() => Tensor.fromImage({} as ImageData))];
  },
  "env": ({ env }) => {
    const before = env.logLevel, copy = { ...env };
    env.logLevel = "error";
    env.logLevel = undefined;
    const after = env.logLevel;
    env.logLevel = before!;
    return Promise.all([
      before,
      after,
      copy.logLevel,
      env.versions.common,
      typeof env.wasm,
      typeof env.webgpu,
      typeof env.webgl,
      failure(() => env.logLevel = "loud" as "error"),
    ]);
  },
  "sessions of bytes": async ({ InferenceSession, Tensor }, options) => {
    const { buffer } = Uint8Array.of(9, 9, ...AFFINE, 9);
    const x = new Tensor("float32", [1, 1], [1, 2]), told: Told[] = [];
    for (
      const args of [
        [AFFINE],
        [new Uint8Array(buffer, 2, AFFINE.length), options],
        [AFFINE.slice().buffer],
        [buffer, 2, AFFINE.length, options],
      ]
    ) {
      const session =
        await (InferenceSession.create as (...args: unknown[]) => Promise<weft.InferenceSession>)(
          ...args,
        );
      told.push(list((await session.run({ x })).y.data));
    }
    return told;
  },
  "refused arguments of create()": ({ InferenceSession }, options) => {
    const create = InferenceSession.create as (...args: unknown[]) => Promise<unknown>;
    const { buffer } = AFFINE.slice(), n = buffer.byteLength;
    return Promise.all([
      [],
      [1],
      [null],
      [AFFINE, 1],
      [AFFINE, null],
      ["x.onnx", 7],
      [buffer, 1.5],
      [buffer, -1],
      [buffer, n],
      [buffer, 0, 1.5],
      [buffer, 0, n + 1],
      [buffer, 0, 0],
      [buffer, 0, "1"],
      [buffer, 0, n, 4],
      [buffer, "1"],
      [AFFINE, { executionProviders: ["nowhere"] }],
      [AFFINE, { ...options, graphOptimizationLevel: "much" }],
      [AFFINE, { ...options, executionMode: "fast" }],
      [AFFINE, { ...options, logSeverityLevel: 9 }],
      [AFFINE, { ...options, logVerbosityLevel: -1 }],
    ].map((args) => failure(() => create(...args))));
  },
  "what a session tells of a model": async ({ InferenceSession }, options) => {
    const told: Told[] = [];
    for (
      const [bytes, chosen] of [
        [AFFINE, options],
        [MIXED, options],
        [TEXTS, options],
        [DEFAULTED, options],
        [MIXED, { ...options, freeDimensionOverrides: { rows: 2 } }],
      ] as const
    ) {
      const s = await InferenceSession.create(bytes, chosen);
      told.push([s.inputNames, s.outputNames, s.inputMetadata, s.outputMetadata]);
    }
    return told;
  },
  "results": async ({ InferenceSession, Tensor }, options) => {
    const s = await InferenceSession.create(MIXED, options);
    const feeds = {
      n: new Tensor("int64", [1, 2, 3, 4, 5, 2 ** 40], [2, 3]),
      b: new Tensor("bool", [true, false], [2]),
      f: new Tensor("float32", [1, 2], [1, 2]),
      s: new Tensor("float32", [3], []),
    };
    const all = await s.run(feeds);
    const t = await InferenceSession.create(TEXTS, options);
    const { b } = await t.run({ a: new Tensor("string", ["ä", ""], [2]) });
    return [Object.keys(all), Object.values(all).map(tell), all.m instanceof Tensor, tell(b)];
  },
  "a scalar takes a vector of one": async ({ InferenceSession, Tensor }, options) => {
    const s = await InferenceSession.create(MIXED, options);
    const { g } = await s.run({
      n: new Tensor("int64", [1, 2, 3], [1, 3]),
      b: new Tensor("bool", [true, false], [2]),
      f: new Tensor("float32", [1], [1, 1]),
      s: new Tensor("float32", [3], [1]),
    });
    return tell(g);
  },
  "fetches": async ({ InferenceSession, Tensor }, options) => {
    const s = await InferenceSession.create(AFFINE, options);
    const x = new Tensor("float32", [1, 1, 2, 2], [2, 2]);
    return [
      Object.keys(await s.run({ x }, ["z"])),
      Object.keys(await s.run({ x }, ["z", "y"], { tag: "one" })),
      Object.keys(await s.run({ x }, { z: null })),
      Object.keys(await s.run({ x }, {})),
      Object.keys(await s.run({ x }, { tag: "one" })),
      Object.keys(await s.run({ x }, undefined)),
    ];
  },
  "refused arguments of run()": async ({ InferenceSession, Tensor }, options) => {
    const s = await InferenceSession.create(AFFINE, options);
    const x = new Tensor("float32", [1, 1], [1, 2]);
    const run = s.run.bind(s) as (...args: unknown[]) => Promise<unknown>;
    return Promise.all([
      [],
      [null],
      [x],
      [[x]],
      [{}],
      [{ x }, null],
      [{ x }, x],
      [{ x }, []],
      [{ x }, [1]],
      [{ x }, ["q"]],
      [{ x }, "y"],
      [{ x }, ["y"], 1],
      [{ x }, { y: null }, 1],
    ].map((args) => failure(() => run(...args))));
  },
  "feeds that do not fit": async ({ InferenceSession, Tensor }, options) => {
    const s = await InferenceSession.create(AFFINE, options);
    const messages: Told[] = [];
    for (
      const x of [
        new Tensor("int32", [1, 1], [1, 2]),
        new Tensor("float32", [1, 1], [2]),
        new Tensor("float32", [1, 1, 1], [1, 3]),
        new Tensor("float32", [1, 1, 1, 1, 1, 1], [2, 3]),
      ]
    ) messages.push(await failure(() => s.run({ x: x as weft.Tensor })));
    return messages;
  },
  "external data": async ({ InferenceSession, Tensor }, options) => {
    const data = new Uint8Array(floats(9, 10, 20).buffer as ArrayBuffer), told: Told[] = [];
    for (const given of [data, new Blob([data])]) {
      for (const path of ["weights.bin", "./weights.bin"]) {
        const s = await InferenceSession.create(EXTERNAL, {
          ...options,
          externalData: [{ path, data: given }],
        });
        told.push(list((await s.run({ x: new Tensor("float32", [1, 2], [2]) })).y.data));
      }
    }
    return told;
  },
  "sessions that are released": async ({ InferenceSession, Tensor }, options) => {
    const s = await InferenceSession.create(AFFINE, options);
    const released = await s.release();
    const after = await failure(() => s.run({ x: new Tensor("float32", [1, 1], [1, 2]) }));
    return [released, after !== "no error"];
  },
  "sessions take properties and run at the same time": async (
    { InferenceSession, Tensor },
    options,
  ) => {
    const s = await InferenceSession.create(AFFINE, options);
    Object.assign(s, { config: 1 });
    const runs = [1, 2, 3].map((v) => s.run({ x: new Tensor("float32", [v, v], [1, 2]) }));
    return [
      (await Promise.all(runs)).map(({ y }) => list(y.data)),
      (s as unknown as { config: number }).config,
    ];
  },
};
