/**
 * Locates the code of a worker: a file beside this one. A built package contains the code instead: the build replaces
 * this module.
 */

/** URL of a worker's code, or the code, an ECMAScript module. */
export function workerCode(): URL | string {
  return new URL("./worker_main.ts", import.meta.url);
}
