/**
 * Portable GraphDefs: graphs written in ops that TensorFlow knows.
 */
import "./build.ts";

export { portability } from "../../engine/graph/graph_def/graph_def.ts";
export type { UnportableNode } from "../../engine/graph/graph_def/portable.ts";
