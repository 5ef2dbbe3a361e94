/** Types of onnxruntime's sessions, under which programs name them. */
import type { Tensor } from "./tensor.ts";
import type { DataLocation, ElementType } from "./tensor_types.ts";

/** Tensors by the names of inputs. */
export type FeedsType = Readonly<Record<string, Tensor>>;
/** Names of outputs, or tensors that take them, null for new ones. */
export type FetchesType = readonly string[] | Readonly<Record<string, Tensor | null>>;
/** Tensors by the names of outputs. */
export type ReturnType = Record<string, Tensor>;

/** An execution provider by its name, with options. */
export interface ProviderOptions {
  /** Its name. */
  readonly name: string;
  /** Kind of device, of WebNN. */
  readonly deviceType?: "cpu" | "gpu" | "npu";
  /** Its other options, which have no effect. */
  readonly [option: string]: unknown;
}

/** A file of a model's external data. */
export type ExternalDataFile =
  | string
  | { readonly path: string; readonly data: string | Uint8Array | ArrayBuffer | Blob };

/** Options of `InferenceSession.create`. Those of onnxruntime's own engines are accepted and have no effect. */
export interface SessionOptions {
  /** Execution providers, the preferred one first: `webgpu`, `wasm`, `cpu` and others. Default: the current device. */
  readonly executionProviders?: readonly (string | ProviderOptions)[];
  /** Extents by their names in the file. */
  readonly freeDimensionOverrides?: Readonly<Record<string, number>>;
  /** Files of external data. Default: files in the model's folder. */
  readonly externalData?: readonly ExternalDataFile[];
  /** Place of outputs: of all, or by name. Default: `cpu`. */
  readonly preferredOutputLocation?: DataLocation | Readonly<Record<string, DataLocation>>;
  /** Amount of optimisation; Weft's is its own. */
  readonly graphOptimizationLevel?: "disabled" | "basic" | "extended" | "layout" | "all";
  /** Order of nodes. */
  readonly executionMode?: "sequential" | "parallel";
  /** Record and replay of GPU commands, which Weft does by itself. */
  readonly enableGraphCapture?: boolean;
  /** Number of threads in an op. */
  readonly intraOpNumThreads?: number;
  /** Number of threads. */
  readonly interOpNumThreads?: number;
  /** Use of an arena. */
  readonly enableCpuMemArena?: boolean;
  /** Use of planned memory. */
  readonly enableMemPattern?: boolean;
  /** File for the optimised model. */
  readonly optimizedModelFilePath?: string;
  /** Profiling. */
  readonly enableProfiling?: boolean;
  /** Files of profiles. */
  readonly profileFilePrefix?: string;
  /** Name in messages. */
  readonly logId?: string;
  /** Amount of messages, 0 to 4. */
  readonly logSeverityLevel?: number;
  /** Amount of messages. */
  readonly logVerbosityLevel?: number;
  /** Options of onnxruntime's engines. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** Options of a run. */
export interface RunOptions {
  /** Amount of messages, 0 to 4. */
  readonly logSeverityLevel?: number;
  /** Amount of messages. */
  readonly logVerbosityLevel?: number;
  /** True: do not run. */
  readonly terminate?: boolean;
  /** Name in messages. */
  readonly tag?: string;
  /** Options of onnxruntime's engines. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** An input or output of a model: a tensor, or something else. */
export type ValueMetadata =
  | { readonly name: string; readonly isTensor: false }
  | {
    /** Its name. */
    readonly name: string;
    /** True. */
    readonly isTensor: true;
    /** Element type. */
    readonly type: ElementType;
    /** Shape, with names for open extents; empty texts for those without. */
    readonly shape: readonly (number | string)[];
  };

/** A model that a backend runs. */
export interface InferenceSessionHandler {
  /** Names of inputs. */
  readonly inputNames: readonly string[];
  /** Names of outputs. */
  readonly outputNames: readonly string[];
  /** Inputs. */
  readonly inputMetadata: readonly ValueMetadata[];
  /** Outputs. */
  readonly outputMetadata: readonly ValueMetadata[];
  /** Runs the model. */
  run(
    feeds: FeedsType,
    fetches: Readonly<Record<string, Tensor | null>>,
    options: RunOptions,
  ): Promise<ReturnType>;
  /** Begins to profile. */
  startProfiling(): void;
  /** Ends to profile. */
  endProfiling(): void;
  /** Frees the model. */
  dispose(): Promise<void>;
}

/** Something that runs models. */
export interface Backend {
  /** Starts it. Rejects if it is not available. */
  init(name: string): Promise<void>;
  /** Loads a model. */
  createInferenceSessionHandler(
    model: string | Uint8Array,
    options?: SessionOptions,
  ): Promise<InferenceSessionHandler>;
}
