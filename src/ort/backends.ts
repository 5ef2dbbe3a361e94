/** Backends by the names of execution providers. */
import { Error, TypeError } from "../engine/core/throwing/builtin_errors.ts";
import { OUR_BACKENDS } from "./weft_handler.ts";
import type { Backend, ProviderOptions, SessionOptions } from "./session_types.ts";

interface Registered {
  readonly backend: Backend;
  readonly priority: number;
  /** The end of its start: null, or the reason why it is not available. */
  started?: Promise<string | null>;
}

const backends = new Map<string, Registered>(
  OUR_BACKENDS.map(([name, backend, priority]) => [name, { backend, priority }]),
);

/**
 * Registers a backend under the name of an execution provider; one of a higher priority replaces one of a lower. Names
 * of negative priority are never chosen by default. Throws `TypeError` for an object that is no backend, `Error` for
 * another backend of equal priority.
 *
 * @example
 * ```ts
 * import * as ort from "@weft/weft/ort";
 * const backend: ort.Backend = {
 *   init: () => Promise.resolve(),
 *   createInferenceSessionHandler: () => Promise.reject(new Error("no sessions")),
 * };
 * ort.registerBackend("acme", backend, -1);
 * try {
 *   ort.registerBackend("acme", { ...backend }, -1);
 * } catch (error) {
 *   console.log((error as Error).message); // cannot register backend "acme" using priority -1
 * }
 * ```
 */
export function registerBackend(name: string, backend: Backend, priority: number): void {
  if (
    typeof backend?.init !== "function" ||
    typeof backend.createInferenceSessionHandler !== "function"
  ) throw new TypeError("not a valid backend");
  const known = backends.get(name);
  if (known !== undefined && known.priority > priority) return;
  if (known?.priority === priority) {
    if (known.backend === backend) return;
    throw new Error(`cannot register backend "${name}" using priority ${priority}`);
  }
  backends.set(name, { backend, priority });
}

const nameOf = (provider: string | ProviderOptions): string =>
  typeof provider === "string" ? provider : provider.name;

/**
 * Returns the backend of the first available provider, and the options with the providers that it serves; the default one where
 * none is asked for. Rejects with `Error` if none is available; those that are asked for and are not are reported on the console.
 */
export async function chooseBackend(
  options: SessionOptions,
): Promise<{ readonly backend: Backend; readonly options: SessionOptions }> {
  const asked = options.executionProviders ?? [];
  const names = asked.length > 0 ? asked.map(nameOf) : byPriority();
  let backend: Backend | null = null;
  const served = new Set<string>(), failures: [name: string, why: string][] = [];
  for (const name of names) {
    const found = backends.get(name), failure = await start(name, found);
    if (failure !== null) {
      failures.push([name, failure]);
      continue;
    }
    backend ??= found!.backend;
    if (found!.backend === backend) served.add(name);
    if (asked.length === 0) break;
  }
  if (backend === null) {
    const list = failures.map(([name, why]) => `[${name}] ${why}`).join(", ");
    throw new Error(`no available backend found. ERR: ${list}`);
  }
  for (const [name, why] of asked.length > 0 ? failures : []) {
    console.warn(
      `removing requested execution provider "${name}" from session options because it is not available: ${why}`,
    );
  }
  const executionProviders = asked.filter((p) => served.has(nameOf(p)));
  return { backend, options: { ...options, executionProviders } };
}

/** Returns null for an available backend, else the reason why it is not. */
async function start(name: string, found: Registered | undefined): Promise<string | null> {
  if (found === undefined) return "backend not found.";
  found.started ??= found.backend.init(name).then(() => null, (e) => `${e}`);
  return await found.started;
}

function byPriority(): string[] {
  return [...backends].filter(([, { priority }]) => priority >= 0)
    .sort(([, a], [, b]) => b.priority - a.priority).map(([name]) => name);
}
