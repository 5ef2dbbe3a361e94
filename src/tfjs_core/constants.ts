/**
 * Constants of TensorFlow.js: ranks, and what makes optimizers.
 */
import * as train from "../train/mod.ts";

/** What makes optimizers; `tf.train` of TensorFlow.js is an object of this class. */
export const OptimizerConstructors: typeof train = train;

/** Ranks as types name them. */
export enum Rank {
  /** No axis. */
  R0 = "R0",
  /** One axis. */
  R1 = "R1",
  /** Two axes. */
  R2 = "R2",
  /** Three axes. */
  R3 = "R3",
  /** Four axes. */
  R4 = "R4",
  /** Five axes. */
  R5 = "R5",
  /** Six axes. */
  R6 = "R6",
}
