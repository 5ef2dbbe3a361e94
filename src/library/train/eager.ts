/** The namespace `train` of the entry `./eager`: optimizers, without graphs' and files' parts. */
export * from "./functions.ts";
export * from "./chained_functions.ts";
export type { Transformation } from "./transforms.ts";
export { ExponentialMovingAverage, type MovingAverageOptions } from "./weight_average.ts";
/** Learning rates that follow the number of steps. */
export * as schedules from "./schedules.ts";
/** Transformations of updates, of which `train.chain` makes optimizers. */
export * as transforms from "./transforms.ts";
