/**
 * Portable GraphDefs: graphs written in ops that TensorFlow knows.
 * May import core, ops and graph.
 */
import "./build.ts";

export { portability } from "../graph/graph_def.ts";
export type { UnportableNode } from "../graph/portable.ts";
