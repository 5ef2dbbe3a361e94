/** The seam between savers of variables and TensorFlow's checkpoint format, which `@weft/weft/tf` provides. */
import { type Seam, seam } from "../../../engine/core/contract/seam.ts";
import { UnimplementedError } from "../../../engine/core/errors.ts";
import type { NdArray } from "../../../engine/core/nd_array.ts";
import type { TensorLike } from "../../../engine/core/tensor.ts";

export interface OpenCheckpoint {
  keys(): string[];
  has(key: string): boolean;
  read(key: string): Promise<NdArray>;
  close(): Promise<void>;
}

/** A saved object. Others refer to it by its index in the list. */
export interface SavedObjectNode {
  /** Name of the attribute with its value. Default that of variables. */
  readonly attribute?: string;
  /** Key of its value, or the beginning of the keys of its values; null for an object without one. */
  readonly key: string | null;
  /** Objects of its attributes. */
  readonly children: readonly { readonly name: string; readonly id: number }[];
  /** An optimizer's state for other objects. */
  readonly slots: readonly { readonly of: number; readonly name: string; readonly id: number }[];
}

export interface CheckpointFormat {
  readonly read: (prefix: string) => Promise<OpenCheckpoint>;
  readonly write: (prefix: string, values: Readonly<Record<string, TensorLike>>) => Promise<void>;
  /** Writes a checkpoint of objects, the first of which leads to all others. */
  readonly writeObjects: (
    prefix: string,
    values: Readonly<Record<string, TensorLike>>,
    nodes: readonly SavedObjectNode[],
  ) => Promise<void>;
  /** Reads the saved objects; null for a checkpoint of something else. */
  readonly objects: (
    prefix: string,
    checkpoint: OpenCheckpoint,
  ) => Promise<readonly SavedObjectNode[] | null>;
  /** Deletes the files of a checkpoint, if there are any. */
  readonly remove: (prefix: string) => Promise<void>;
  /** Resolves with the time at which a checkpoint was written, in seconds since 1970; null where there is none. */
  readonly modified: (prefix: string) => Promise<number | null>;
}

/** Reader and writer of TensorFlow's checkpoints. */
export const checkpointFormat: Seam<CheckpointFormat> = seam(
  "TensorFlow's checkpoints",
  (what) =>
    new UnimplementedError(
      `Cannot ${what}: TensorFlow's checkpoints are read and written by another entry, add import "@weft/weft/tf"`,
    ),
);
