/**
 * Portable GraphDefs: graphs written in ops that TensorFlow knows.
 */
import "./build.ts";

export { portability } from "../graph/graph_def/graph_def.ts";
export type { UnportableNode } from "../graph/graph_def/portable.ts";
