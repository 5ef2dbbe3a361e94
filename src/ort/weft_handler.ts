/** Models that Weft runs for sessions, and the names of execution providers under which it does. */
import { Error } from "../engine/core/throwing/builtin_errors.ts";
import type { Device } from "../engine/core/device.ts";
import {
  cpuDevice,
  defaultDevice,
  getBackend,
  hasGpu,
  ready,
  setBackend,
} from "../engine/runtime/devices/devices.ts";
import { asEager, type EagerTensor } from "../engine/runtime/eager/tensor.ts";
import type { OnnxModel, OnnxValue } from "../onnx/model.ts";
import type { OnnxOutputs } from "../onnx/variant.ts";
import { openModel } from "../onnx/open_model.ts";
import { dtypeOfType } from "./element_types.ts";
import { placeOf } from "../library/io/files.ts";
import { checkOptions, externalFiles, outputLocation } from "./session_options.ts";
import type {
  Backend,
  FeedsType,
  InferenceSessionHandler,
  ReturnType,
  RunOptions,
  SessionOptions,
  ValueMetadata,
} from "./session_types.ts";
import type { Tensor as TypedTensor } from "./tensor.ts";
import type { Tensor } from "./tensor_class.ts";
import type { ElementType } from "./tensor_types.ts";
import { type AnyTensor, toOrt, toWeft, writeInto } from "./values.ts";

/** A model on a device: `cpu` for the CPU alone, `any` for the default device and what it cannot do. */
type Place = "cpu" | "any";

class WeftHandler implements InferenceSessionHandler {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  readonly inputMetadata: readonly ValueMetadata[];
  readonly outputMetadata: readonly ValueMetadata[];
  readonly #model: OnnxModel;
  readonly #options: SessionOptions;
  readonly #place: Place;
  /** The end of the last run: one runs at a time. */
  #last: Promise<unknown> = Promise.resolve();
  #isDisposed = false;

  constructor(model: OnnxModel, options: SessionOptions, place: Place) {
    this.#model = model;
    this.#options = options;
    this.#place = place;
    this.inputNames = model.inputs.map((v) => v.name);
    this.outputNames = model.outputs.map((v) => v.name);
    this.inputMetadata = model.inputs.map(metadataOf);
    this.outputMetadata = model.outputs.map(metadataOf);
    for (const name of this.outputNames) outputLocation(options, name);
  }

  /** Runs the model on the values that the feeds have now; runs wait for each other. */
  run(
    feeds: FeedsType,
    fetches: Readonly<Record<string, TypedTensor | null>>,
    options: RunOptions,
  ): Promise<ReturnType> {
    let given: ReadonlyMap<string, EagerTensor>;
    try {
      given = this.#feed(feeds, options);
    } catch (error) {
      return Promise.reject(error);
    }
    const turn = this.#last.then(() => this.#run(given, fetches));
    this.#last = turn.catch(() => {});
    return turn;
  }

  #checkOpen(): void {
    if (this.#isDisposed) throw new Error("Cannot run a session: it is released");
  }

  /** Checks feeds and copies their values. */
  #feed(feeds: FeedsType, { terminate = false }: RunOptions): Map<string, EagerTensor> {
    this.#checkOpen();
    if (terminate) throw failed(1, "Exiting due to terminate flag being set to true.");
    for (const name of Object.keys(feeds)) {
      if (!this.inputNames.includes(name)) throw new Error(`invalid input '${name}'`);
    }
    const device: Device = this.#place === "cpu" ? cpuDevice() : defaultDevice();
    const given = new Map<string, EagerTensor>();
    try {
      for (const input of this.#model.inputs) {
        const fed = feeds[input.name] as unknown as AnyTensor;
        given.set(input.name, toWeft(fed, checkedShape(input, fed), device));
      }
    } catch (error) {
      for (const t of given.values()) t.dispose();
      throw error;
    }
    return given;
  }

  async #run(
    given: ReadonlyMap<string, EagerTensor>,
    fetches: Readonly<Record<string, TypedTensor | null>>,
  ): Promise<ReturnType> {
    const wanted = Object.keys(fetches);
    let tensors: Tensor[];
    try {
      this.#checkOpen();
      const isAll = wanted.length === this.outputNames.length;
      const results = await this.#model.run(
        Object.fromEntries(given),
        isAll ? {} : { outputs: wanted },
      );
      tensors = await this.#take(results, wanted);
    } finally {
      for (const t of given.values()) t.dispose();
    }
    const out: Record<string, unknown> = {};
    for (const [i, name] of wanted.entries()) {
      const target = fetches[name] as unknown as AnyTensor | null;
      if (target !== null) await writeInto(target, tensors[i], name);
      out[name] = target ?? tensors[i];
    }
    return out as ReturnType;
  }

  /** Takes the results: those on the GPU stay there where that is wanted. */
  async #take(results: OnnxOutputs, wanted: readonly string[]): Promise<Tensor[]> {
    const taken = wanted.map((name) => {
      const result = results[name];
      if (Array.isArray(result)) {
        throw new Error(`Cannot give the output "${name}": it is a list of tensors`);
      }
      return asEager(result);
    });
    return await toOrt(taken, (i) => outputLocation(this.#options, wanted[i]) === "gpu-buffer");
  }

  startProfiling(): void {}
  endProfiling(): void {}

  async dispose(): Promise<void> {
    await this.#last;
    if (!this.#isDisposed) this.#model.dispose();
    this.#isDisposed = true;
  }
}

function metadataOf({ name, dtype, extents, kind }: OnnxValue): ValueMetadata {
  if (kind !== "tensor") return { name, isTensor: false };
  return {
    name,
    isTensor: true,
    type: dtype as ElementType,
    shape: extents?.map((d) => d ?? "") ?? [],
  };
}

function failed(code: number, message: string): Error {
  return new Error(`failed to call OrtRun(). ERROR_CODE: ${code}, ERROR_MESSAGE: ${message}`);
}

/** Names of element types in onnxruntime's messages, where they are C++'s. */
const NATIVE: Readonly<Record<string, string>> = { float32: "float", float64: "double" };
const nativeName = (type: string): string => `(tensor(${NATIVE[type] ?? type}))`;

/**
 * Returns the shape under which an input takes a tensor; a scalar takes a vector of one. Throws `Error` for another type
 * or other extents.
 */
function checkedShape({ name, dtype, extents }: OnnxValue, given: AnyTensor): readonly number[] {
  if (dtypeOfType(given.type) !== dtype) {
    throw failed(
      2,
      `Unexpected input data type. Actual: ${nativeName(given.type)} , expected: ${
        nativeName(dtype)
      }`,
    );
  }
  const { dims } = given;
  if (extents === null) return dims;
  if (extents.length === 0 && dims.length === 1 && dims[0] === 1) return [];
  const rest = "Please fix either the inputs/outputs or the model.";
  if (dims.length !== extents.length) {
    const ranks = `Got: ${dims.length} Expected: ${extents.length}`;
    throw failed(2, `Invalid rank for input: ${name} ${ranks} ${rest}`);
  }
  const wrong = extents.flatMap((d, i) =>
    typeof d === "number" && d !== dims[i] ? [` index: ${i} Got: ${dims[i]} Expected: ${d}\n`] : []
  );
  if (wrong.length === 0) return dims;
  const which = `Got invalid dimensions for input: ${name} for the following indices`;
  throw failed(2, `${which}\n${wrong.join("")} ${rest}`);
}

async function load(
  model: string | Uint8Array,
  options: SessionOptions = {},
  place: Place = "any",
): Promise<InferenceSessionHandler> {
  checkOptions(options);
  const opened = await openModel(typeof model === "string" ? placeOf(model) : model, {
    externalData: await externalFiles(options.externalData),
    dimensions: options.freeDimensionOverrides ?? {},
    trainable: false,
    ...place === "cpu" && { device: "/CPU:0" },
  });
  return new WeftHandler(opened, options, place);
}

const onCpu = {
  // Nothing looks for a GPU: a page on the CPU loads none of its code.
  init: (): Promise<void> => Promise.resolve(),
  createInferenceSessionHandler: (model: string | Uint8Array, options?: SessionOptions) =>
    load(model, options, "cpu"),
};

const onGpu = {
  // A session alone makes it the default device: a provider that is available may still be the second choice.
  async init(): Promise<void> {
    if (!await hasGpu()) throw new Error("no WebGPU adapter was found");
  },
  async createInferenceSessionHandler(model: string | Uint8Array, options?: SessionOptions) {
    if (getBackend() !== "webgpu") await setBackend("webgpu");
    return await load(model, options);
  },
};

const onDefault = {
  init: async () => void await ready(),
  createInferenceSessionHandler: (model: string | Uint8Array, options?: SessionOptions) =>
    load(model, options, getBackend() === "cpu" ? "cpu" : "any"),
};

/** WebNN by the kind of device that is asked for. */
const onKind = {
  init: async () => void await ready(),
  createInferenceSessionHandler(model: string | Uint8Array, options?: SessionOptions) {
    const [asked] = options?.executionProviders ?? [];
    const isGpu = typeof asked === "object" && asked.deviceType === "gpu" &&
      getBackend() === "webgpu";
    return load(model, options, isGpu ? "any" : "cpu");
  },
};

/** Execution providers that run on the CPU. */
const CPU_NAMES = ["cpu", "wasm", "xnnpack", "nnapi", "qnn"];
/** Execution providers that need a GPU. */
const GPU_NAMES = ["webgpu", "webgl", "cuda", "dml", "tensorrt", "rocm", "coreml"];

/** Our backends by the names of execution providers, with priorities. The current device is the default. */
export const OUR_BACKENDS:
  readonly (readonly [name: string, backend: Backend, priority: number])[] = [
    ["weft", onDefault, 100],
    ...CPU_NAMES.map((name) => [name, onCpu, 10] as const),
    ...GPU_NAMES.map((name) => [name, onGpu, 5] as const),
    ["webnn", onKind, 5],
  ];
