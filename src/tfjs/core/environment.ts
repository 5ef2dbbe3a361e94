/** `tf.env()`: flags and the platform. Flags of TensorFlow.js's own backends may be set and change nothing here. */
import { isBrowser, isNode, platform } from "./platform.ts";
import { Error } from "../../engine/core/throwing/builtin_errors.ts";

/** The value of a flag. */
export type FlagValue = number | boolean | string;
/** Flags by name. */
export interface Flags {
  /** A flag. */
  [featureName: string]: FlagValue;
}
/** Default and hook of a flag. */
export interface FlagRegistryEntry {
  /** Returns the default value. */
  evaluationFn: () => FlagValue | Promise<FlagValue>;
  /** Called with each value that is set. */
  setHook?: ((value: FlagValue) => void) | undefined;
}

/** Services of the platform that a program runs on. */
export interface Platform {
  /** Fetches a resource. */
  fetch(
    path: string,
    requestInits?: RequestInit,
    options?: { isBinary?: boolean },
  ): Promise<Response>;
  /** Milliseconds since a fixed moment. */
  now(): number;
  /** Encodes a text. */
  encode(text: string, encoding: string): Uint8Array;
  /** Decodes a text. */
  decode(bytes: Uint8Array, encoding: string): string;
  /** A timer that background tabs do not slow. */
  setTimeoutCustom?(functionRef: () => void, delay: number): void;
  /** True for a typed array that tensors are made of. */
  isTypedArray(a: unknown): a is Float32Array | Int32Array | Uint8Array | Uint8ClampedArray;
}

/** The URL parameter that sets flags: `?tfjsflags=DEBUG:true`. */
const URL_PARAMETER = "tfjsflags";
/** Prefixes of the flags that belong to backends of TensorFlow.js. */
const OF_BACKENDS = /^(WEBGL|WEBGPU|WASM|CPU|CANVAS2D|HAS_WEBGL|SOFTWARE_WEBGL|TOPK)_/;

/** Flags, and the platform. `tf.env()` is the one in use. */
export class Environment {
  /** The global object whose URL is read. */
  global: object;
  /** Name of the platform. */
  platformName: string | undefined = undefined;
  /** The platform. */
  platform: Platform = platform;
  /** Parses the parameters of a query; tests replace it. */
  getQueryParams: (queryString: string) => { [key: string]: string } = getQueryParams;
  #flags: Flags = {};
  #urlFlags: Flags = {};
  readonly #registry = new Map<string, FlagRegistryEntry>();

  /** Reads the flags in the URL of `global`. */
  constructor(global: object) {
    this.global = global;
    this.#readUrl();
  }

  /** Sets the platform. */
  setPlatform(platformName: string, platform: Platform): void {
    this.platformName = platformName;
    this.platform = platform;
  }

  /**
   * Registers a flag; a known one is unchanged, whatever copies of TensorFlow.js register. A value in the URL is set at
   * once.
   */
  registerFlag(
    flagName: string,
    evaluationFn: () => FlagValue | Promise<FlagValue>,
    setHook?: (value: FlagValue) => void,
  ): void {
    if (this.#registry.has(flagName)) return;
    this.#registry.set(flagName, { evaluationFn, setHook });
    if (flagName in this.#urlFlags) this.set(flagName, this.#urlFlags[flagName]);
  }

  /** Resolves with a flag's value. */
  async getAsync(flagName: string): Promise<FlagValue> {
    return this.#flags[flagName] ??= await this.#evaluate(flagName);
  }

  /** Returns a flag's value. Throws for an unknown flag, and for one whose default must be awaited. */
  get(flagName: string): FlagValue {
    if (flagName in this.#flags) return this.#flags[flagName];
    const value = this.#evaluate(flagName);
    if (value instanceof Promise) {
      throw new Error(`Flag ${flagName} cannot be synchronously evaluated: use getAsync()`);
    }
    return this.#flags[flagName] = value;
  }
  /** Returns a flag's value as a number. */
  getNumber(flagName: string): number {
    return this.get(flagName) as number;
  }
  /** Returns a flag's value as a boolean. */
  getBool(flagName: string): boolean {
    return this.get(flagName) as boolean;
  }
  /** Returns a flag's value as a text. */
  getString(flagName: string): string {
    return this.get(flagName) as string;
  }
  /** The flags that have a value. */
  getFlags(): Flags {
    return this.#flags;
  }
  /** The flags that have a value. */
  get features(): Flags {
    return this.#flags;
  }

  /** Sets a flag. Throws for an unknown one. */
  set(flagName: string, value: FlagValue): void {
    const entry = this.#registry.get(flagName);
    if (entry === undefined && !OF_BACKENDS.test(flagName)) {
      throw new Error(`Cannot set flag ${flagName}: it has not been registered`);
    }
    this.#flags[flagName] = value;
    entry?.setHook?.(value);
  }
  /** Replaces all flags: those not named lose their values. */
  setFlags(flags: Flags): void {
    this.#flags = { ...flags };
  }
  /** Drops all values, and reads the URL again. */
  reset(): void {
    this.#flags = {};
    this.#urlFlags = {};
    this.#readUrl();
  }

  #evaluate(flagName: string): FlagValue | Promise<FlagValue> {
    const entry = this.#registry.get(flagName);
    if (entry !== undefined) return entry.evaluationFn();
    if (OF_BACKENDS.test(flagName)) return false;
    throw new Error(`Cannot get the flag ${flagName}: it has not been registered`);
  }

  #readUrl(): void {
    const search = (this.global as { location?: { search?: string } }).location?.search;
    if (typeof search !== "string") return;
    const text = this.getQueryParams(search)[URL_PARAMETER];
    for (const part of text?.split(",") ?? []) {
      const [name, value] = part.split(":");
      this.#urlFlags[name] = parseFlag(value ?? "");
    }
  }
}

function parseFlag(text: string): FlagValue {
  const value = text.toLowerCase();
  if (value === "true" || value === "false") return value === "true";
  return String(Number(value)) === value ? Number(value) : text;
}

/** Parses the parameters of a URL's query. */
export function getQueryParams(queryString: string): { [key: string]: string } {
  const from = queryString.indexOf("?");
  return Object.fromEntries(new URLSearchParams(queryString.slice(from + 1)));
}

/** Returns the environment in use. */
export let ENV: Environment = new Environment(globalThis);

/**
 * Returns the environment in use.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * tf.env().set("DEBUG", false);
 * console.log(tf.env().getBool("DEBUG")); // false
 * ```
 */
export function env(): Environment {
  return ENV;
}

/** Sets the environment. */
export function setEnvironmentGlobal(environment: Environment): void {
  ENV = environment;
}

/** Registers the flags of TensorFlow.js's core, and Weft's. */
export function registerCoreFlags(environment: Environment): void {
  const agent = () => (globalThis.navigator as Navigator | undefined)?.userAgent ?? "";
  const off = () => false;
  const flags: Readonly<Record<string, () => FlagValue>> = {
    DEBUG: off,
    IS_BROWSER: isBrowser,
    IS_NODE: isNode,
    IS_CHROME: () => isBrowser() && /Chrome/.test(agent()),
    IS_SAFARI: () => isBrowser() && /Safari/.test(agent()) && !/Chrome/.test(agent()),
    PROD: off,
    TENSORLIKE_CHECK_SHAPE_CONSISTENCY: () => environment.getBool("DEBUG"),
    DEPRECATION_WARNINGS_ENABLED: () => true,
    IS_TEST: off,
    CHECK_COMPUTATION_FOR_ERRORS: () => environment.getBool("DEBUG"),
    WRAP_TO_IMAGEBITMAP: off,
    USE_SETTIMEOUTCUSTOM: off,
    WEFT_COMPILE_LAYERS: () => true,
  };
  for (const [name, evaluate] of Object.entries(flags)) {
    environment.registerFlag(name, evaluate, name === "DEBUG" ? warnOfDebugging : undefined);
  }
}

function warnOfDebugging(value: FlagValue): void {
  if (!value) return;
  console.warn("Debugging mode is on: each op reads its results back to check them, which is slow");
}

registerCoreFlags(ENV);
ENV.platformName = isBrowser() ? "browser" : "node";
