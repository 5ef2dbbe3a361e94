/** Optimizers, schedules and checkpoints. The public name is `tf.train`. */
import "./update_ops.ts";

export * from "./eager.ts";
export { Checkpoint, type RestoreStatus } from "../io/checkpoint.ts";
export { CheckpointManager, type CheckpointManagerOptions } from "../io/checkpoint_manager.ts";
export { latestCheckpoint } from "../io/checkpoint_state.ts";
