/** Optimizers, schedules and checkpoints. The public name is `tf.train`. */
import "./update_ops.ts";

export * from "./functions.ts";
export * from "./chained_functions.ts";
export { serialize } from "./serialize.ts";
export { deserialize } from "./deserialize.ts";
export type { Transformation } from "./transforms.ts";
export { ExponentialMovingAverage, type MovingAverageOptions } from "./weight_average.ts";
/** Learning rates that follow the number of steps. */
export * as schedules from "./schedules.ts";
/** Transformations of updates, of which `tf.train.chain` makes optimizers. */
export * as transforms from "./transforms.ts";
export { Checkpoint } from "../io/checkpoint/checkpoint.ts";
export type { RestoreStatus } from "../io/checkpoint/restore.ts";
export type { Trackables } from "../io/checkpoint/objects.ts";
export type { Trackable } from "../../engine/core/tensor.ts";
export { CheckpointManager, type CheckpointManagerOptions } from "../io/checkpoint/manager.ts";
export { latestCheckpoint } from "../io/checkpoint/state.ts";
