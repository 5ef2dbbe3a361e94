// The library under test: Weft, or TensorFlow.js itself for checking the harness.

import { importNpm } from "./npm.ts";

/** What the runner needs of a library. */
export interface Subject {
  readonly name: string;
  /** The object the tests see as `tf`. */
  readonly api: Record<string, unknown>;
  /** Whether error texts are compared as well; ours differ by design, so for Weft it is enough that it throws. */
  readonly comparesMessages: boolean;
  /** Whether `dataSync()` works on a device. */
  isDataSync(device: string): boolean;
  /** Makes a device the default; throws where it cannot be had. */
  useDevice(device: string): Promise<void>;
  /** Starts owning every tensor made; the returned function releases them. */
  ownTensors(): () => void;
}

/** Names of the subjects that can be asked for. */
export const SUBJECTS = ["weft", "tfjs"] as const;

type Namespace = Record<string, unknown>;

/** A default export holds the names of a CommonJS package, a namespace those of a module. */
function namespaceOf(module: Namespace): Namespace {
  return { ...(module.default as Namespace | undefined), ...module };
}

async function selectDevice(api: Namespace, device: string): Promise<void> {
  const setBackend = api.setBackend as (name: string) => Promise<boolean>;
  if (!await setBackend(device)) throw new Error(`Cannot select device "${device}"`);
  await (api.ready as () => Promise<void>)();
}

async function loadTfjs(): Promise<Subject> {
  // The union package: the core alone registers neither gradients nor chained methods.
  const api = namespaceOf(await importNpm<Namespace>("@tensorflow/tfjs"));
  if ("gpu" in navigator) await importNpm("@tensorflow/tfjs-backend-webgpu");
  const engine = api.engine as () => { startScope(): void; endScope(): void; reset(): void };
  const env = api.env as () => { set(flag: string, value: boolean): void };
  return {
    name: "TensorFlow.js",
    api,
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

/**
 * Plumbing that TensorFlow.js's tests reach for and that is no API of ours: the engine's counters, the backend's
 * precision, and flags. Names that Weft exports itself win.
 */
function plumbing(memory: () => Counters): Namespace {
  const flags = new Map<string, unknown>();
  const backend = {
    epsilon: () => 1e-7,
    floatPrecision: () => 32,
    numDataIds: () => memory().numDataBuffers,
  };
  return {
    backend: () => backend,
    engine: () => ({ backend, memory }),
    env: () => ({
      get: (flag: string) => flags.get(flag),
      getBool: (flag: string) => flags.get(flag) === true,
      reset: () => flags.clear(),
      set: (flag: string, value: unknown) => flags.set(flag, value),
    }),
  };
}

async function loadWeft(): Promise<Subject> {
  // Computed, so that this tool type-checks apart from the library it loads.
  const specifier = "@weft/weft";
  const weft = namespaceOf(await import(specifier));
  const scope = weft.scope as (() => Disposable) | undefined;
  const { memory, restart } = relativeMemory(weft.memory as () => Counters);
  return {
    name: "Weft",
    api: { ...plumbing(memory), ...weft, memory },
    comparesMessages: false,
    isDataSync: () => true,
    useDevice: (device) => selectDevice(weft, device),
    ownTensors() {
      restart();
      const owner = scope?.();
      return () => {
        owner?.[Symbol.dispose]();
        (weft.disposeVariables as (() => void) | undefined)?.();
      };
    },
  };
}

/** Loads a subject by name. */
export async function loadSubject(name: string): Promise<Subject> {
  return name === "tfjs" ? await loadTfjs() : await loadWeft();
}
