/** The number of threads that help on this machine. */

/** Most workers: more threads would wait for memory. */
const MOST_WORKERS = 7;

interface NodeProcess {
  readonly getBuiltinModule?: (name: string) => unknown;
}

/** Returns a module of Node's, where the environment has it. */
export function builtin<T>(name: string): T | undefined {
  const { process } = globalThis as { process?: NodeProcess };
  return process?.getBuiltinModule?.(name) as T | undefined;
}

/** Returns the number of useful workers on this machine, besides the calling thread. */
export function workerCount(): number {
  const cores = globalThis.navigator?.hardwareConcurrency ??
    builtin<{ availableParallelism?: () => number }>("node:os")?.availableParallelism?.() ?? 1;
  return Math.max(0, Math.min(MOST_WORKERS, cores - 1));
}
