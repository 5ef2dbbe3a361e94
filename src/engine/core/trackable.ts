/** Objects that checkpoints save by their parts. */
import type { NdArray } from "./nd_array.ts";

/** Values of an object's own, under the key of an attribute and an ending. */
export interface TrackedValues {
  /** Name of the attribute, as TensorFlow has it. */
  readonly attribute: string;
  /** Endings of the keys of its values. */
  readonly endings: readonly string[];
  /** The values now, in the order of the endings. */
  readonly save: () => readonly NdArray[] | Promise<readonly NdArray[]>;
  /** Checks values and returns what sets them. Throws `ValueError` for those that do not fit. */
  readonly take: (values: readonly NdArray[]) => () => void | Promise<void>;
}

/** Parts of an object, as a checkpoint names them. */
export interface TrackedParts {
  /** Objects under the names that TensorFlow has for them. */
  readonly children?: Readonly<Record<string, unknown>>;
  /** Values of its own. */
  readonly values?: TrackedValues;
}

/** An object that tells checkpoints its parts. */
export interface Trackable {
  /**
   * Returns what a checkpoint saves of it.
   * @internal
   */
  trackedParts(): TrackedParts;
}

/** True for an object that tells its parts. */
export function isTrackable(value: unknown): value is Trackable {
  return typeof value === "object" && value !== null &&
    typeof (value as Partial<Trackable>).trackedParts === "function";
}
