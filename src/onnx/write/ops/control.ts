/** Branches, loops and calls: functions become graphs in attributes, or stand in the place of their calls. */
import type { PartialShape } from "../../../engine/core/shape.ts";
import type { ConcreteFunction } from "../../../engine/runtime/functions/concrete_function.ts";
import { bigs, extents, FAR, gather, scalarOf, slice } from "../helpers.ts";
import type { Spec } from "../../../engine/core/tensor_spec.ts";
import type { NodeWriter } from "../node_writer.ts";
import type { Ref } from "../ref.ts";
import type { WriteRules } from "../rule.ts";

/** A function, and the places of its captures among the inputs of the op. */
interface Branch {
  readonly f: ConcreteFunction;
  readonly from: readonly number[];
}

/** Returns the captures of a function among the inputs that go to functions. */
function capturesOf({ f, from }: Branch, inputs: readonly Ref[]): Ref[] {
  return f.graph.captures.map((_, i) => inputs[from[i]]);
}

/** Returns the results without the tape. */
function visible(n: NodeWriter) {
  return n.outputs.slice(0, (n.attrs.Tout as readonly unknown[]).length);
}

function branch(n: NodeWriter): Ref[] {
  const { then_branch, else_branch } = n.attrs as Record<string, Branch>, inputs = n.xs.slice(1);
  const graph = (name: string, b: Branch) =>
    n.subgraph(name, [], (into) => n.target.bodies.call(b.f, capturesOf(b, inputs), into));
  return n.raw("If", [scalarOf(n, n.cast(n.xs[0], "bool"))], {
    then_branch: graph("then", then_branch),
    else_branch: graph("else", else_branch),
  }, visible(n));
}

function loop(n: NodeWriter): Ref[] {
  const { cond, body, output_shapes } = n.attrs as unknown as {
    cond: Branch;
    body: Branch;
    output_shapes: readonly PartialShape[];
  };
  const count = output_shapes.length, { bodies } = n.target;
  const test = (into: NodeWriter, values: readonly Ref[]): Ref => {
    const [goesOn] = bodies.call(cond.f, [...values, ...capturesOf(cond, n.xs)], into);
    return scalarOf(into, into.cast(goesOn, "bool"));
  };
  const start = n.xs.slice(0, count);
  const turn = n.subgraph("body", [
    { dtype: "int64", shape: [] },
    { dtype: "bool", shape: [] },
    ...start.map(({ dtype }, i) => ({ dtype, shape: output_shapes[i] })),
  ], (into, [, , ...values]) => {
    const next = bodies.call(body.f, [...values, ...capturesOf(body, n.xs)], into);
    return [test(into, next), ...next];
  });
  return n.raw("Loop", [null, test(n, start), ...start], { body: turn }, visible(n));
}

function scan(n: NodeWriter): Ref[] {
  const { elems, states, reverse, concats, body } = n.attrs as unknown as {
    elems: number;
    states: number;
    reverse: boolean;
    concats: readonly number[];
    body: Branch;
  };
  if (concats.length > 0) return n.lacks("it joins rows of different numbers");
  const rows = n.xs.slice(0, elems), start = n.xs.slice(elems, elems + states);
  const results = visible(n);
  const apply = (into: NodeWriter, values: readonly Ref[], states: readonly Ref[]): Ref[] =>
    n.target.bodies.call(body.f, [...values, ...states, ...capturesOf(body, n.xs)], into);
  // onnxruntime's Scan refuses empty inputs.
  if (!rows.some((r) => (r.shape?.[0] ?? 0) > 0)) {
    return rowsInLoop(n, { rows, start, results, reverse, apply });
  }
  const turn = n.subgraph("body", [
    ...start.map(({ dtype, shape }) => ({ dtype, shape })),
    ...rows.map(({ dtype, shape }) => ({ dtype, shape: shape && shape.slice(1) })),
  ], (into, values) => apply(into, values.slice(states), values.slice(0, states)));
  const back = reverse ? 1 : 0;
  return n.raw("Scan", [...start, ...rows], {
    body: turn,
    num_scan_inputs: BigInt(elems),
    ...(reverse && { scan_input_directions: bigs(rows.map(() => back)) }),
    ...(reverse && results.length > states &&
      { scan_output_directions: bigs(results.slice(states).map(() => back)) }),
  }, results);
}

/** Visits rows, of which there may be none, in a loop that counts. */
function rowsInLoop(n: NodeWriter, { rows, start, results, reverse, apply }: {
  readonly rows: readonly Ref[];
  readonly start: readonly Ref[];
  readonly results: readonly Spec[];
  readonly reverse: boolean;
  readonly apply: (into: NodeWriter, values: readonly Ref[], states: readonly Ref[]) => Ref[];
}): Ref[] {
  const count = scalarOf(n, extents(n, rows[0], 0, 1)),
    last = n.node("Sub", [count, n.scalar(1, "int64")]);
  const turn = n.subgraph("body", [
    { dtype: "int64", shape: [] },
    { dtype: "bool", shape: [] },
    ...start.map(({ dtype, shape }) => ({ dtype, shape })),
  ], (into, [turn, goesOn, ...states]) => {
    const at = reverse ? into.node("Sub", [last, turn]) : turn;
    const values = rows.map((x) => gather(into, x, at, 0).withShape(x.shape && x.shape.slice(1)));
    return [goesOn, ...apply(into, values, states)];
  });
  const made = n.raw("Loop", [count, n.scalar(1, "bool"), ...start], { body: turn }, results);
  if (!reverse) return made;
  return made.map((r, k) =>
    k < start.length ? r : slice(n, r, { begin: [-1], end: [-FAR], axes: [0], steps: [-1] })
  );
}

function call(n: NodeWriter): Ref[] {
  return n.target.bodies.call(n.attrs.f, n.xs, n);
}

/** A script of this process; its function is named in the file, not written. */
function script(n: NodeWriter): Ref[] {
  const { token, registered } = (n.attrs._script ?? {}) as { token?: string; registered?: boolean };
  const domain = n.target.scripts;
  if (domain === null) {
    return n.lacks(
      `it calls ${
        registered ? `the script "${token}"` : "a function of this program"
      }, pass { scripts: "domain" } to write a node of that domain`,
    );
  }
  if (!registered) return n.lacks("its function has no name, give it one by registerScript");
  return n.raw(opName(token!), n.xs, {}, visible(n), domain);
}

/** Returns the name of a script's node: its own, with what a name of ONNX has not as `_`. */
export function opName(token: string): string {
  return token.replace(/[^A-Za-z0-9_]/g, "_");
}

export const CONTROL: WriteRules = {
  EagerPyFunc: script,
  If: branch,
  PartitionedCall: call,
  PyFunc: script,
  PyFuncStateless: script,
  Scan: scan,
  StatefulPartitionedCall: call,
  StatelessIf: branch,
  StatelessWhile: loop,
  While: loop,
};
