/** Layout of the memory through which threads communicate. */

export const FUNCTIONS_PER_MODULE = 16;

/** Replaces a function's number where the thread that took the call could not compile it. */
export const NOT_MADE = -1;
/** Replaces it where the call threw: a length and the bytes of the message stand in place of the arguments. */
export const THREW = -2;

/** Offsets in the control block, in 32-bit words. Words of different writers lie apart. */
export const LAYOUT = {
  /** Counts jobs; threads wait for it to change. */
  job: 0,
  /** Calls left to take; the last one is taken first. Below one: there are none. */
  left: 16,
  done: 32,
  ready: 48,
  /** Number of resets of the modules, and number of modules. */
  forgotten: 49,
  published: 50,
  /** Calls: number of the function, number of arguments, arguments. */
  calls: 64,
  /** Words of a call, and most calls of a job. */
  callWords: 32,
  mostCalls: 512,
  /** For each module, after the calls: its number, and address and length of its code. */
  modules: 16448,
  moduleWords: 3,
  mostModules: 512,
  /** Words in all, up to the end of the modules. */
  words: 17984,
};
