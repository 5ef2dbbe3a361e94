/**
 * Where things are in the memory through which threads talk.
 */

/** Functions of a module that have numbers. */
export const FUNCTIONS_PER_MODULE = 16;

/** Stands where a call had its function's number: the thread that took it could not make it. */
export const NOT_MADE = -1;

/** Places in the control block, in 32-bit words. What different threads write lies apart. */
export const LAYOUT = {
  /** Counts jobs; threads wait for it to change. */
  job: 0,
  /** Calls that nobody has taken; the last one is taken first. Below one: there are none. */
  left: 16,
  done: 32,
  ready: 48,
  /** How often the modules were forgotten, and how many there are. */
  forgotten: 49,
  published: 50,
  /** Calls: number of the function, number of arguments, arguments. */
  calls: 64,
  /** Words of a call, and most calls of a job. */
  callWords: 32,
  mostCalls: 512,
  /** For each module, behind the calls, its number, and where its code is: address and length. */
  modules: 16448,
  moduleWords: 3,
  mostModules: 512,
  /** Words in all, to behind the modules. */
  words: 17984,
};
