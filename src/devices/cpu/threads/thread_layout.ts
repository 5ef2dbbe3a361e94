/**
 * Where things are in the memory through which threads talk.
 */

/** Functions of a module that have numbers. */
export const FUNCTIONS_PER_MODULE = 16;

/** Stands where a call had its function's number: the thread that took it could not make it. */
export const NOT_MADE = -1;

/** Places in the control block, in 32-bit words. What different threads write lies apart. */
export interface ThreadLayout {
  /** Counts jobs; threads wait for it to change. */
  readonly job: number;
  /** Calls that nobody has taken; the last one is taken first. Below one: there are none. */
  readonly left: number;
  /** Calls done. */
  readonly done: number;
  /** Threads that are up. */
  readonly ready: number;
  /** Calls: number of the function, number of arguments, arguments. */
  readonly calls: number;
  /** Words of a call. */
  readonly callWords: number;
  /** Most calls of a job. */
  readonly mostCalls: number;
  /** How often the modules were forgotten, and how many there are. */
  readonly forgotten: number;
  readonly published: number;
  /** For each module its number, and where its code is: address and length. */
  readonly modules: number;
  /** Words of a module. */
  readonly moduleWords: number;
  /** Most modules. */
  readonly mostModules: number;
  /** Words in all. */
  readonly words: number;
}

/** See {@linkcode ThreadLayout}. */
export const LAYOUT: ThreadLayout = {
  job: 0,
  left: 16,
  done: 32,
  ready: 48,
  calls: 64,
  callWords: 32,
  mostCalls: 512,
  forgotten: 49,
  published: 50,
  modules: 64 + 32 * 512,
  moduleWords: 3,
  mostModules: 512,
  words: 64 + 32 * 512 + 3 * 512,
};
