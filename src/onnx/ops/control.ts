/** Branches and loops: taken or unrolled if the graph decides it, else conditions and loops at run time. */
import { currentInterpreter } from "../../engine/core/apply.ts";
import type { DType } from "../../engine/core/dtype.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { type PartialShape, relaxShapes } from "../../engine/core/shape.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { FuncGraph } from "../../engine/graph/func_graph.ts";
import { type NodeCall, tensorOf } from "../build/node_call.ts";
import { op, type OpEntry, type RuleOutput } from "../build/rule.ts";
import { Value } from "../build/value.ts";
import type { OnnxGraph } from "../file/graph.ts";
import { knownInt64 } from "./shapes.ts";
import * as tf from "../build/tf.ts";

/** Maximum turns of a loop that are unrolled. */
export const MOST_UNROLLED: number = 32;

/** Converts values to tensors of the graph being built: the caches of other graphs do not apply. */
function tensorsOf(n: NodeCall, values: readonly Value[]): Tensor[] {
  const made = new Map<Value, Tensor>();
  return values.map((value) => {
    if (value.kind !== "tensor") n.needs("which sequences and optionals come out of its graphs");
    return tensorOf(value, made);
  });
}

/** Returns a known boolean value; undefined if only known at run time. */
function truth(n: NodeCall, value: Value): boolean | undefined {
  if (value.known !== null) return Boolean(value.known.at(0));
  return value.tensor === null || value.tensor.isSymbolic
    ? undefined
    : Boolean(n.tensorOf(value).ndarraySync().at(0));
}

function branch(n: NodeCall): RuleOutput[] {
  const known = truth(n, n.value(0));
  if (known !== undefined) return n.run(known ? "then_branch" : "else_branch");
  const side = (name: string) => () => tensorsOf(n, n.run(name));
  return tf.cond(tf.reshape(n.x(0), []), side("then_branch"), side("else_branch")) as Tensor[];
}

interface Turns {
  /** Maximum number of turns; null for no limit. */
  readonly most: number | Tensor | null;
  /** Condition to begin; null if only the number of turns ends the loop. */
  readonly begins: Value | null;
  readonly carried: readonly Value[];
  /** Runs a turn: returns the condition to go on, the carried values, and the collected ones. */
  turn(
    i: Value,
    goesOn: Value,
    carried: readonly Value[],
  ): {
    readonly goesOn: Value;
    readonly carried: readonly Value[];
    readonly rows: readonly Value[];
  };
}

/** The results of a loop: the last carried values, and rows of the collected ones. */
interface Ended {
  readonly carried: readonly Value[];
  readonly rows: readonly RuleOutput[];
}

const truthValue = (is: boolean): Value =>
  Value.known(new NdArray("bool", [], Uint8Array.of(Number(is))));

/** Unrolls a loop; null if its condition is only known at run time. */
function unrolled(n: NodeCall, { most, begins, carried, turn }: Turns): Ended | null {
  const isSymbolic = currentInterpreter().symbolic;
  const count = typeof most === "number" ? most : most === null ? Infinity : undefined;
  if (count === undefined || isSymbolic && count > MOST_UNROLLED) return null;
  let goesOn: Value = begins ?? truthValue(true), now = carried;
  const collected: Value[][] = [];
  for (let i = 0; i < count; i++) {
    const is = truth(n, goesOn);
    if (is === undefined) return null;
    if (!is) break;
    const next = turn(Value.known(knownInt64([i], [])), goesOn, now);
    next.rows.forEach((row, k) => (collected[k] ??= []).push(row));
    goesOn = next.goesOn;
    now = next.carried;
  }
  return { carried: now, rows: collected.map((rows) => stacked(n, rows)) };
}

function stacked(n: NodeCall, rows: readonly Value[]): Tensor {
  return tf.stack(rows.map((r) => n.tensorOf(r)), 0);
}

/** Finds the dtypes and shapes of a turn by building one separately. */
function probe(
  n: NodeCall,
  { carried, turn }: Turns,
  shapes: readonly PartialShape[],
): { readonly carried: Tensor[]; readonly rows: Tensor[] } {
  const graph = new FuncGraph("probe");
  const inputs = carried.map((v, k) => graph.addInput(v.dtype, shapes[k]));
  const i = graph.addInput("int32", []), goesOn = graph.addInput("bool", []);
  return graph.asDefault(() => {
    const next = turn(
      Value.of(i, { dtype: "int64" }),
      Value.of(goesOn),
      inputs.map((t) => Value.of(t)),
    );
    return { carried: tensorsOf(n, next.carried), rows: tensorsOf(n, next.rows) };
  });
}

/** Builds a loop at run time. */
function looped(n: NodeCall, turns: Turns): Ended {
  const { most, begins, carried, turn } = turns;
  const start = tensorsOf(n, carried);
  let shapes = start.map((t) => t.staticShape);
  let seen = probe(n, turns, shapes);
  // Extents that change from turn to turn are unknown.
  shapes = shapes.map((s, k) => relaxShapes(s, seen.carried[k].staticShape));
  seen = probe(n, turns, shapes);
  shapes = shapes.map((s, k) => relaxShapes(s, seen.carried[k].staticShape));
  const limit = most === null ? null : typeof most === "number" ? tf.scalar(most, "int32") : most;
  const arrays = seen.rows.map((t) =>
    new tf.TensorArray(t.dtype, typeof most === "number" ? most : 0, {
      elementShape: t.staticShape,
      dynamicSize: true,
    })
  );
  const first = begins === null
    ? tf.scalar(true, "bool")
    : tf.reshape(tensorsOf(n, [begins])[0], []);
  const count = start.length;
  const out = tf.whileLoop(
    (...vars: readonly unknown[]) => {
      const [i, goesOn] = vars as Tensor[];
      return limit === null ? goesOn : tf.logicalAnd(goesOn, tf.less(i, limit));
    },
    (...vars: readonly unknown[]) => {
      const [i, goesOn, ...values] = vars.slice(0, 2 + count) as Tensor[];
      const next = turn(
        Value.of(i, { dtype: "int64" }),
        Value.of(goesOn),
        values.map((t) => Value.of(t)),
      );
      const [again, ...made] = tensorsOf(n, [next.goesOn, ...next.carried, ...next.rows]);
      const lists = vars.slice(2 + count) as tf.TensorArray[];
      return [
        tf.add(i, 1),
        tf.reshape(again, []),
        ...made.slice(0, count),
        ...lists.map((list, k) => list.write(i, made[count + k])),
      ];
    },
    [tf.scalar(0, "int32"), first, ...start, ...arrays],
    { shapeInvariants: [[], [], ...shapes, ...arrays.map(() => undefined)] as never },
  ) as readonly unknown[];
  return {
    carried: (out.slice(2, 2 + count) as Tensor[]).map((t) => Value.of(t)),
    rows: (out.slice(2 + count) as tf.TensorArray[]).map((list) => list.stack()),
  };
}

/** Runs a loop; without any turn, the collected rows are empty and have the dtypes of its graph. */
function run(n: NodeCall, turns: Turns, rows: number): RuleOutput[] {
  const ended = unrolled(n, turns) ?? looped(n, turns);
  if (ended.rows.length === rows) return [...ended.carried, ...ended.rows];
  const outputs = n.graph("body").outputs.slice(-rows);
  return [
    ...ended.carried,
    ...outputs.map(({ type }) => {
      const dtype: DType = type?.kind === "tensor" ? type.dtype : "float32";
      const shape = type?.kind === "tensor" ? type.shape ?? [] : [];
      return tf.zeros([0, ...shape.map((d) => typeof d === "number" ? d : 0)], dtype);
    }),
  ];
}

/** Throws for a body with fewer outputs than it hands on. */
function checkBody(n: NodeCall, { outputs }: OnnxGraph, least: number): void {
  if (outputs.length >= least) return;
  n.fail(`its body gives ${outputs.length} outputs, wanted at least ${least}`);
}

function loop(n: NodeCall): RuleOutput[] {
  const count = Math.max(0, n.inputs.length - 2), body = n.graph("body");
  checkBody(n, body, 1 + count);
  const known = n.has(0) ? n.ints(0) : undefined;
  return run(n, {
    most: n.has(0) ? known?.[0] ?? tf.reshape(n.index(0), []) : null,
    begins: n.has(1) ? n.value(1) : null,
    carried: n.inputs.slice(2).map((_, i) => n.value(i + 2)),
    turn(i, goesOn, carried) {
      const [again, ...rest] = n.run("body", [i, goesOn, ...carried]);
      return { goesOn: again, carried: rest.slice(0, count), rows: rest.slice(count) };
    },
  }, body.outputs.length - 1 - count);
}

/** Returns axes and directions of a Scan's inputs or outputs. */
function listOf(n: NodeCall, name: string, count: number): readonly number[] {
  return n.attributes.ints(name) ?? new Array<number>(count).fill(0);
}

function scan(n: NodeCall): RuleOutput[] {
  const reads = n.attributes.int("num_scan_inputs", 1), states = n.inputs.length - reads;
  return scanned(n, n.inputs.map((_, i) => n.value(i)), states);
}

function scanned(n: NodeCall, inputs: readonly Value[], states: number): RuleOutput[] {
  checkBody(n, n.graph("body"), states);
  const reads = inputs.length - states, writes = n.graph("body").outputs.length - states;
  const axes = listOf(n, "scan_input_axes", reads),
    back = listOf(n, "scan_input_directions", reads);
  const lists = inputs.slice(states).map((value, k) => {
    let x = n.tensorOf(value);
    const rank = x.staticShape?.length ?? n.needs("the ranks of its inputs");
    const axis = axes[k] < 0 ? axes[k] + rank : axes[k];
    if (axis !== 0) {
      x = tf.transpose(x, [
        axis,
        ...Array.from({ length: rank }, (_, i) => i).filter((i) => i !== axis),
      ]);
    }
    return back[k] === 1 ? tf.reverse(x, 0) : x;
  });
  const most = lists[0].staticShape?.[0] ?? tf.reshape(tf.slice(tf.shape(lists[0]), [0], [1]), []);
  const results = run(n, {
    most,
    begins: null,
    carried: inputs.slice(0, states),
    turn(i, goesOn, carried) {
      const [at] = tensorsOf(n, [i]);
      const rows = lists.map((x) => Value.of(tf.gather(x, tf.cast(at, "int32"))));
      const outputs = n.run("body", [...carried, ...rows]);
      return { goesOn, carried: outputs.slice(0, states), rows: outputs.slice(states) };
    },
  }, writes);
  const to = listOf(n, "scan_output_axes", writes),
    turned = listOf(n, "scan_output_directions", writes);
  return results.map((result, k) => {
    if (k < states) return result;
    let x = result as Tensor;
    if (turned[k - states] === 1) x = tf.reverse(x, 0);
    const rank = x.staticShape?.length ?? n.needs("the ranks of its outputs");
    const axis = to[k - states] < 0 ? to[k - states] + rank : to[k - states];
    const rest = Array.from({ length: rank - 1 }, (_, i) => i + 1);
    return axis === 0 ? x : tf.transpose(x, [...rest.slice(0, axis), 0, ...rest.slice(axis)]);
  });
}

/** Builds the first version of Scan: all inputs have a batch axis, and lengths may come first. */
function batchedScan(n: NodeCall): RuleOutput[] {
  if (n.has(0)) n.lacks("a Scan of sequences of different lengths");
  const inputs = n.inputs.slice(1).map((_, i) => n.value(i + 1));
  const states = inputs.length - n.attributes.int("num_scan_inputs", 1);
  const batch = n.shape(1)?.[0] ?? n.needs("the batch of its inputs");
  const rows: Value[][] = [];
  for (let b = 0; b < batch; b++) {
    const own = inputs.map((value) => Value.of(tf.gather(n.tensorOf(value), b)));
    scanned(n, own, states).forEach((result, k) => {
      (rows[k] ??= []).push(result instanceof Value ? result : Value.of(result as Tensor));
    });
  }
  return rows.map((list) => stacked(n, list));
}

export const CONTROL: readonly OpEntry[] = [
  op("If", 1, branch),
  op("Loop", 1, loop, { known: [0] }),
  op("Scan", 8, batchedScan),
  op("Scan", 9, scan),
];
