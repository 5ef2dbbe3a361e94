/** Portable GraphDefs: graphs written in TensorFlow's ops. */
import "./build.ts";

export { portability } from "../../engine/graph/graph_def/graph_def.ts";
export type { UnportableNode } from "../../engine/graph/graph_def/portable.ts";
