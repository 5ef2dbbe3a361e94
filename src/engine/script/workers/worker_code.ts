/**
 * Where the code of a worker is: a file beside this one. A package that was built has no such file and holds the code itself: the
 * build puts another module in this one's place.
 */

/** The place of a worker's code, or the code, an ECMAScript module. */
export function workerCode(): URL | string {
  return new URL("./worker_main.ts", import.meta.url);
}
