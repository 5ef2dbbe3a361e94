/**
 * Fields of protobuf's messages as bytes, for messages whose parts are sent where they lie.
 */
export { concatBytes as joinParts } from "../../engine/core/text.ts";
export { field, numberField, pushHead, pushNumberField } from "../../engine/core/protobuf.ts";
