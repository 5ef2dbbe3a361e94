/** Messages between the page of models and its worker. */

import type { Backend, Counts, Picture, Timeline } from "../messages.ts";

/** A file of a model, by its path in the model's folder. */
export interface ModelFile {
  readonly path: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** An input or an output of a model. */
export interface ModelValue {
  readonly name: string;
  readonly dtype: string;
  /** Extents, null for those that are open; null for any rank. */
  readonly shape: readonly (number | null)[] | null;
}

/** Elements of a tensor: numbers, or texts. */
export interface Elements {
  readonly shape: readonly number[];
  readonly values: readonly number[] | Float32Array | readonly string[];
}

/** An output of a run. */
export interface ModelResult extends Elements {
  readonly name: string;
  readonly dtype: string;
}

/** Asks the worker for something. */
export type ModelsRequest =
  /** No files: the example. */
  | { readonly kind: "load"; readonly backend: Backend; readonly files: readonly ModelFile[] }
  | { readonly kind: "run"; readonly feeds: Readonly<Record<string, Elements>> }
  /** Runs it and looks at its plans. */
  | { readonly kind: "see"; readonly feeds: Readonly<Record<string, Elements>> };

/** Tells the page something. */
export type ModelsMessage =
  | {
    readonly kind: "loaded";
    /** Its form and its place, as "ONNX, on the CPU". */
    readonly about: string;
    readonly ms: number;
    readonly inputs: readonly ModelValue[];
  }
  | {
    readonly kind: "ran";
    readonly ms: number;
    readonly results: readonly ModelResult[];
    /** Time by op. */
    readonly table: string;
  }
  | {
    readonly kind: "seen";
    readonly milliseconds: number;
    readonly backend: Backend;
    readonly counts: Counts;
    readonly plans: readonly Picture[];
    readonly timeline: Timeline;
  }
  | { readonly kind: "failed"; readonly error: string };
