/** A rule of the table: writes an op of Weft's by nodes of ONNX. */
import type { NodeWriter } from "./node_writer.ts";
import type { Ref } from "./ref.ts";

/**
 * Writes a node and returns its results; throws {@linkcode NoCounterpart} for what ONNX has not. Null leaves the node to
 * its expression or its parts.
 */
export type WriteRule = (n: NodeWriter) => Ref | readonly Ref[] | null;

/** Rules by Weft's op; a text is the reason of a refusal. */
export type WriteRules = Readonly<Record<string, WriteRule | string>>;
