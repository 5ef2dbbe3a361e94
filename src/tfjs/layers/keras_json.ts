/** JSON, of which configurations of Keras are made. */

/** A value of JSON. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
/** An object of JSON. */
export type JsonObject = { [key: string]: Json };

/** True for an object of JSON. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
