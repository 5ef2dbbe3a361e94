// The library under test: Weft, or TensorFlow.js itself for checking the harness.

import { importNpm } from "../../../tools/npm.ts";

/** The runner's interface of a library. */
export interface Subject {
  readonly name: string;
  /** The object the tests see as `tf`. */
  readonly api: Record<string, unknown>;
  /** Modules inside the library, by the names of TensorFlow.js's. */
  readonly modules?: Readonly<Record<string, Namespace>>;
  /** Compare error texts as well. Weft's differ by design: for it, it is enough that it throws. */
  readonly comparesMessages: boolean;
  /** True where `dataSync()` works on a device. */
  isDataSync(device: string): boolean;
  /** Makes a device the default; throws where it cannot be had. */
  useDevice(device: string): Promise<void>;
  /** Starts owning every tensor made; the returned function releases them. */
  ownTensors(): () => void;
}

/** Names of the subjects that can be asked for. */
export const SUBJECTS = ["weft", "backend", "tfjs"] as const;

/** The exports of a module. */
export type Namespace = Record<string, unknown>;

/** Modules inside TensorFlow.js that tests import, and ours under `src/tfjs/core`. */
export const OUR_MODULES: Readonly<Record<string, string>> = {
  axis_util: "backend_util/axes",
  backend: "backend",
  broadcast_util: "backend_util/broadcast",
  browser_files: "io/browser_files",
  complex_util: "backend_util/complex",
  composite_array_buffer: "io/composite_array_buffer",
  concat_util: "backend_util/axes",
  conv_util: "backend_util/conv",
  device_util: "device_util",
  engine: "engine",
  environment: "environment",
  hash_util: "util/hash",
  http: "io/http",
  indexed_db: "io/indexed_db",
  io_utils: "io/io_utils",
  local_storage: "io/local_storage",
  operation: "globals",
  optimizer: "optimizer",
  progress: "io/progress",
  router_registry: "io/router_registry",
  serialization: "serialization",
  slice_util: "backend_util/slice",
  tensor_util: "tensor_util",
  tensor_util_env: "tensor_util_env",
  types: "globals",
};

/** A default export holds the names of a CommonJS package, a namespace those of a module. */
function namespaceOf(module: Namespace): Namespace {
  return { ...(module.default as Namespace | undefined), ...module };
}

async function selectDevice(api: Namespace, device: string): Promise<void> {
  const setBackend = api.setBackend as (name: string) => Promise<boolean>;
  if (!await setBackend(device)) throw new Error(`Cannot select device "${device}"`);
  await (api.ready as () => Promise<void>)();
}

/** TensorFlow.js itself, on its own backends. */
async function loadTfjs(): Promise<Subject> {
  // The union package: the core alone registers neither gradients nor chained methods.
  const api = namespaceOf(await importNpm<Namespace>("@tensorflow/tfjs"));
  if ("gpu" in navigator) await importNpm("@tensorflow/tfjs-backend-webgpu");
  const engine = api.engine as () => { startScope(): void; endScope(): void; reset(): void };
  const env = api.env as () => { set(flag: string, value: boolean): void };
  return {
    name: "TensorFlow.js",
    api,
    // What its package keeps to itself: tests of it are not about kernels.
    modules: await loadModules(),
    comparesMessages: true,
    isDataSync: (device) => device === "cpu",
    async useDevice(device) {
      engine().reset();
      env().set("IS_TEST", true);
      await selectDevice(api, device);
    },
    ownTensors() {
      engine().startScope();
      return () => {
        engine().endScope();
        (api.disposeVariables as () => void)();
      };
    },
  };
}

/** TensorFlow.js itself, on the backend that Weft registers with it. */
async function loadBackend(): Promise<Subject> {
  const tfjs = await loadTfjs();
  const weft = namespaceOf(await import("@weft/weft" as string));
  const entry = await import("@weft/weft/tfjs" as string);
  return {
    ...tfjs,
    name: "TensorFlow.js on Weft's backend",
    comparesMessages: false,
    isDataSync: () => true,
    async useDevice(device) {
      (tfjs.api.engine as () => { reset(): void })().reset();
      (tfjs.api.env as () => { set(flag: string, value: boolean): void })().set("IS_TEST", true);
      entry.registerWeftBackend();
      await selectDevice(weft, device);
      await selectDevice(tfjs.api, "weft");
    },
  };
}

/** The counters of `tf.memory()` that tests compare with whole numbers. */
interface Counters {
  readonly numTensors: number;
  readonly numBytes: number;
  readonly numDataBuffers: number;
}

/**
 * A `tf.memory()` whose counters start at zero with each spec: TensorFlow.js's harness resets its engine between suites,
 * and some tests count on that.
 */
function relativeMemory(memory: () => Counters): { memory: () => Counters; restart(): void } {
  let start = memory();
  return {
    memory() {
      const now = memory();
      return {
        ...now,
        numTensors: now.numTensors - start.numTensors,
        numBytes: now.numBytes - start.numBytes,
        numDataBuffers: now.numDataBuffers - start.numDataBuffers,
      };
    },
    restart() {
      start = memory();
    },
  };
}

async function loadWeft(): Promise<Subject> {
  // Computed, so that this tool type-checks apart from the library it loads.
  const specifier = "@weft/weft/tfjs-core";
  const entry = namespaceOf(await import(specifier));
  const weft = namespaceOf(await import("@weft/weft" as string));
  const scope = weft.scope as () => Disposable;
  const { memory, restart } = relativeMemory(entry.memory as () => Counters);
  const engine = (entry.engine as () => object)();
  const relativeEngine = Object.create(engine, { memory: { value: memory } });
  return {
    name: "Weft",
    api: { ...entry, engine: () => relativeEngine, memory },
    modules: await loadModules(),
    comparesMessages: false,
    isDataSync: () => true,
    async useDevice(device) {
      (entry.env as () => { reset(): void })().reset();
      await selectDevice(entry, device);
    },
    ownTensors() {
      restart();
      const owner = scope();
      return () => {
        owner[Symbol.dispose]();
        (entry.disposeVariables as () => void)();
      };
    },
  };
}

/** Our modules by the names of TensorFlow.js's that tests import. */
async function loadModules(): Promise<Readonly<Record<string, Namespace>>> {
  const load = async (path: string): Promise<Namespace> =>
    await import(new URL(`../../../src/tfjs/core/${path}.ts`, import.meta.url).href);
  const entries = Object.entries(OUR_MODULES).map(async ([name, path]) => [name, await load(path)]);
  return Object.fromEntries(await Promise.all(entries));
}

/** Loads a subject by name. */
export async function loadSubject(name: string): Promise<Subject> {
  if (name === "backend") return await loadBackend();
  return name === "tfjs" ? await loadTfjs() : await loadWeft();
}
