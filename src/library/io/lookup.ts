/** The namespace `tf.lookup` with the tables of text files. */
export * from "../../engine/ops/text/lookup.ts";
export { TextFileIndex, textFileInitializer, type TextFileOptions } from "./table_file.ts";
