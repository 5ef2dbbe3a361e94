/** The texts of operations, graphs and sessions in `console.log` of Deno and Node and in template literals. */
import { define, nameAs } from "../../engine/core/arrays/shown.ts";
import { shapeText } from "../../engine/core/shape.ts";
import { Graph } from "../../engine/graph/graph.ts";
import { Operation, SymbolicTensor } from "../../engine/graph/operation.ts";
import { Session } from "../../engine/runtime/session/session.ts";
import { graphLine } from "./summary.ts";

function operationText(op: Operation): string {
  const list = (ts: readonly SymbolicTensor[]): string => ts.map((t) => t.name).join(", ");
  const outputs = op.outputs.map((t) => `${t.name} ${t.dtype}${shapeText(t.staticShape)}`);
  return [
    `<tf.Operation '${op.name}' type=${op.type}${op.device && ` device=${op.device}`}>`,
    ...(op.inputs.length > 0 ? [`  inputs: ${list(op.inputs)}`] : []),
    ...(outputs.length > 0 ? [`  outputs: ${outputs.join(", ")}`] : []),
  ].join("\n");
}

nameAs(SymbolicTensor, (x) => x.toString());
nameAs(Operation, operationText);
nameAs(Graph, graphLine);
nameAs(Session, ({ graph }) => `<tf.Session of ${graphLine(graph)}>`);
for (const shown of [Graph, Session]) {
  define<object>(shown, "toString", function () {
    return `${this}`;
  });
}
