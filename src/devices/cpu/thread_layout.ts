/**
 * Where things are in the memory through which threads talk.
 * May import nothing.
 */

/** Functions of a module that have numbers. */
export const FUNCTIONS_PER_MODULE = 16;

/** Places in the control block, in 32-bit words. What different threads write lies apart. */
export interface ThreadLayout {
  /** Counts jobs; threads wait for it to change. */
  readonly job: number;
  /** Next call to take. */
  readonly next: number;
  /** Calls done. */
  readonly done: number;
  /** Calls of the job. */
  readonly count: number;
  /** Threads that are up. */
  readonly ready: number;
  /** Set where a call failed. */
  readonly failed: number;
  /** Calls: number of the function, number of arguments, arguments. */
  readonly calls: number;
  /** Words of a call. */
  readonly callWords: number;
  /** Most calls of a job. */
  readonly mostCalls: number;
  /** For each module where its code is: address and length. */
  readonly modules: number;
  /** Most modules. */
  readonly mostModules: number;
  /** Words in all. */
  readonly words: number;
}

/** See {@linkcode ThreadLayout}. */
export const LAYOUT: ThreadLayout = {
  job: 0,
  next: 16,
  done: 32,
  count: 48,
  ready: 49,
  failed: 50,
  calls: 64,
  callWords: 32,
  mostCalls: 512,
  modules: 64 + 32 * 512,
  mostModules: 512,
  words: 64 + 32 * 512 + 2 * 512,
};
