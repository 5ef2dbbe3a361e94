/** The types of a program that drives an example, and of its report. */

/** The exports of examples and TensorFlow.js, of unchecked types. */
// deno-lint-ignore no-explicit-any
export type Any = any;

/** The result of an example. */
export interface Outcome {
  /** Losses of the steps, where the example trains without `minimize()`, which is listened to. */
  readonly losses?: readonly number[];
  /** Results to be compared with TensorFlow.js's. */
  readonly values?: ArrayLike<number>;
}

/** The surroundings of an example. */
export interface Stage {
  /** All of `@tensorflow/tfjs`. */
  readonly tf: Any;
  /** Starts a file of the example, and gives what it exports and what the driver asked to see. */
  load(file: string): Promise<Any>;
  /** Answers `fetch` for addresses that end so. */
  serve(ending: string, body: BodyInit): void;
  /** The result of `argparse` for options with these names. */
  readonly args: Record<string, Any>;
}

/** The driver of an example. */
export interface Driver {
  /** Files that it starts, where the example has others that cannot be bundled. */
  readonly files?: readonly string[];
  /** Names within a file that it does not export. */
  readonly exposes?: Readonly<Record<string, readonly string[]>>;
  /** Texts in files and what stands for them: fewer steps, and no start before the driver's. */
  readonly edits?: Readonly<Record<string, readonly (readonly [from: string, to: string])[]>>;
  /**
   * True where first losses and results must be TensorFlow.js's. False: they depend on random numbers that no seed
   * fixes.
   */
  readonly isSeeded: boolean;
  /** Set if it also runs in a browser, on the GPU: then it reads nothing synchronously. */
  readonly inBrowser?: true;
  /** Runs several steps. */
  run(stage: Stage): Promise<Outcome | void>;
}

/** Drivers by the example's directory. */
export type Drivers = Readonly<Record<string, Driver>>;
