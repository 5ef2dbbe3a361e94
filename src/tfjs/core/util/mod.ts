/** `tf.util` of TensorFlow.js. */
export * from "./arrays.ts";
export * from "./checks.ts";
export * from "./hash.ts";
export * from "./shapes.ts";
export {
  decodeString,
  encodeString,
  fetch,
  inferDtype,
  isBoolean,
  isFunction,
  isInt,
  isNumber,
  isPromise,
  isString,
  isTypedArray,
  isValidDtype,
  now,
} from "./values.ts";
