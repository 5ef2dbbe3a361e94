/**
 * The seam between those who keep variables in checkpoints and TensorFlow's file format, which `@weft/weft/tf` brings.
 */
import { UnimplementedError } from "../../engine/core/errors.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import type { TensorLike } from "../../engine/core/tensor.ts";

export interface OpenCheckpoint {
  keys(): string[];
  has(key: string): boolean;
  read(key: string): Promise<NdArray>;
  close(): Promise<void>;
}

/** An object that was saved. Others are known by their places in the list. */
export interface SavedObjectNode {
  /** Where its value is; null for an object that has none. */
  readonly key: string | null;
  /** Objects that its attributes lead to. */
  readonly children: readonly { readonly name: string; readonly id: number }[];
  /** What an optimizer keeps for other objects. */
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
  /** The objects that were saved; null in a checkpoint of something else. */
  readonly objects: (
    prefix: string,
    checkpoint: OpenCheckpoint,
  ) => Promise<readonly SavedObjectNode[] | null>;
  /** Deletes the files of a checkpoint; nothing where there is none. */
  readonly remove: (prefix: string) => Promise<void>;
  /** When a checkpoint was written, in seconds since 1970; null where there is none. */
  readonly modified: (prefix: string) => Promise<number | null>;
  /** Writes a file in one step: a crash leaves the old or the new one. */
  readonly replace: (path: string, bytes: Uint8Array) => Promise<void>;
}

let known: CheckpointFormat | null = null;

/** Says how checkpoints are written and read; null takes it back. Returns what was said before. */
export function setCheckpointFormat(format: CheckpointFormat | null): CheckpointFormat | null {
  const before = known;
  known = format;
  return before;
}

/** How checkpoints are written and read. Throws `UnimplementedError` where nobody said it. */
export function checkpointFormat(what: string): CheckpointFormat {
  if (known !== null) return known;
  throw new UnimplementedError(
    `Cannot ${what}: TensorFlow's checkpoints are read and written by another entry, add import "@weft/weft/tf"`,
  );
}
