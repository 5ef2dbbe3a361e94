/** env: settings that programs for onnxruntime read and write. */
import { Error } from "../engine/core/throwing/builtin_errors.ts";
import { webgpuDevice } from "../engine/runtime/eager/gpu_memory.ts";
import { ready } from "../engine/runtime/devices/devices.ts";

/** Settings of onnxruntime's WebAssembly, which Weft does not have: accepted and ignored. */
export interface WasmFlags {
  /** Number of threads. */
  numThreads?: number;
  /** Use of SIMD. */
  simd?: boolean | "fixed" | "relaxed";
  /** Print a trace. */
  trace?: boolean;
  /** Milliseconds to wait for the start. */
  initTimeout?: number;
  /** Places of its files. */
  wasmPaths?: string | { mjs?: string | URL; wasm?: string | URL };
  /** Its WebAssembly. */
  wasmBinary?: ArrayBufferLike | Uint8Array;
  /** Run in a worker. */
  proxy?: boolean;
}

/** Settings of onnxruntime's WebGPU. Weft chooses the adapter itself. */
export interface WebGpuFlags {
  /** Profiling by its old name. */
  profilingMode?: "off" | "default";
  /** Profiling. */
  profiling: { mode?: "off" | "default"; ondata?: (data: object) => void };
  /** Kind of adapter. */
  powerPreference?: "low-power" | "high-performance";
  /** Use of an emulated adapter. */
  forceFallbackAdapter?: boolean;
  /** Adapter to use. */
  adapter?: object;
  /** The device that Weft computes on. Rejects with `FailedPreconditionError` if there is none. */
  readonly device: Promise<GPUDevice>;
  /** Check of inputs. */
  validateInputContent?: boolean;
}

/** Amount of messages. */
export type LogLevel = "verbose" | "info" | "warning" | "error" | "fatal";

/** Settings. Programs may add keys. */
export interface Env {
  /** Amount of messages. Throws `Error` for an unknown level. */
  logLevel?: LogLevel | undefined;
  /** Print more. */
  debug?: boolean;
  /** Print a trace. */
  trace?: boolean;
  /** Versions of onnxruntime's packages that this stands for. */
  readonly versions: { readonly common: string; readonly web?: string; readonly node?: string };
  /** Settings of WebAssembly. */
  readonly wasm: WasmFlags;
  /** Settings of WebGL. */
  readonly webgl: Record<string, unknown>;
  /** Settings of WebGPU. */
  readonly webgpu: WebGpuFlags;
  /** Settings that programs add. */
  [name: string]: unknown;
}

const LEVELS: readonly unknown[] = ["verbose", "info", "warning", "error", "fatal"];
let level: LogLevel = "warning";

/** Settings that programs read and write; those of onnxruntime's own engines have no effect. */
export const env: Env = {
  wasm: {
    // transformers.js downloads onnxruntime's files, from a CDN if need be, unless these are URLs of blobs.
    wasmPaths: { mjs: "blob:weft", wasm: "blob:weft" },
  },
  webgl: {},
  webgpu: {
    profiling: {},
    get device(): Promise<GPUDevice> {
      return ready().then(webgpuDevice);
    },
  },
  versions: { common: "1.30.0" },
  get logLevel(): LogLevel | undefined {
    return level;
  },
  set logLevel(value: LogLevel | undefined) {
    if (value === undefined) return;
    if (!LEVELS.includes(value)) throw new Error(`Unsupported logging level: ${value}`);
    level = value;
  },
};
