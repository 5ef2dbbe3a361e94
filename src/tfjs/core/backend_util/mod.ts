/** `tf.backend_util`: helpers of TensorFlow.js's backends. */
export * from "./axes.ts";
export * from "./broadcast.ts";
export * from "./complex.ts";
export * from "./constants.ts";
export * from "./conv.ts";
export * from "./einsum.ts";
export * from "./fused.ts";
export * from "./gather.ts";
export * from "./messages.ts";
export * from "./ragged.ts";
export * from "./scatter.ts";
export {
  getImageCenter,
  getPermuted,
  getReshaped,
  getReshapedPermuted,
  getSliceBeginCoords,
  getSliceSize,
} from "./space.ts";
export { upcastType } from "../globals.ts";
export { fromStringArrayToUint8, fromUint8ToStringArray } from "../util/values.ts";
/** Segments and gathers. */
export * as segment_util from "./segment.ts";
/** Slices. */
export * as slice_util from "./slice.ts";
