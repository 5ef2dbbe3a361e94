/**
 * What a program that drives an example has, and what it says.
 */

/** What examples and TensorFlow.js export: whoever uses it knows. */
// deno-lint-ignore no-explicit-any
export type Any = any;

/** What an example came to. */
export interface Outcome {
  /** Losses of the steps, where the example trains without `minimize()`, which is listened to. */
  readonly losses?: readonly number[];
  /** Results to be compared with TensorFlow.js's. */
  readonly values?: ArrayLike<number>;
}

/** What surrounds an example. */
export interface Stage {
  /** All of `@tensorflow/tfjs`. */
  readonly tf: Any;
  /** Starts a file of the example, and gives what it exports and what the driver asked to see. */
  load(file: string): Promise<Any>;
  /** Answers `fetch` for addresses that end so. */
  serve(ending: string, body: BodyInit): void;
  /** What `argparse` gives programs for options with these names. */
  readonly args: Record<string, Any>;
}

/** How to run an example. */
export interface Driver {
  /** Files that it starts, where the example has others that cannot be bundled. */
  readonly files?: readonly string[];
  /** Names within a file that it does not export. */
  readonly exposes?: Readonly<Record<string, readonly string[]>>;
  /** Texts in files and what stands for them: fewer steps, and no start before the driver's. */
  readonly edits?: Readonly<Record<string, readonly (readonly [from: string, to: string])[]>>;
  /** Whether first losses and results must be TensorFlow.js's. False: they depend on random numbers that no seed fixes. */
  readonly isSeeded: boolean;
  /** Whether it also runs in a browser, on the GPU: then it reads nothing at once. */
  readonly inBrowser?: true;
  /** Runs several steps. */
  run(stage: Stage): Promise<Outcome | void>;
}

/** Drivers by the example's directory. */
export type Drivers = Readonly<Record<string, Driver>>;
