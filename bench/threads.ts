// How many threads the systems of a process may use.
//
// All of them ask `navigator.hardwareConcurrency` when they start, so it is set before they are imported; and a process
// measures with one number of threads only.

/** Makes systems that start from now on believe in so many processors. */
export function limitThreads(count: number): void {
  Object.defineProperty(navigator, "hardwareConcurrency", { value: count, configurable: true });
}

/** "1 thread", "2 threads". */
export function threadsText(count: number): string {
  return `${count} ${count === 1 ? "thread" : "threads"}`;
}
