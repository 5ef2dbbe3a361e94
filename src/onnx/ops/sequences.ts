/** Sequences and optionals: lists of values and optional values, known while a graph is built. */
import { NdArray } from "../../engine/core/nd_array.ts";
import { normalizeAxis } from "../../engine/core/shape.ts";
import type { NodeCall } from "../build/node_call.ts";
import { op, type OpEntry, type RuleOutput } from "../build/rule.ts";
import { Value } from "../build/value.ts";
import { dtypeOfNumber } from "../file/types.ts";
import { knownInt64 } from "./shapes.ts";
import * as tf from "../build/tf.ts";

function itemsOf(n: NodeCall, i = 0): readonly Value[] {
  const value = n.value(i);
  return value.kind === "sequence" ? value.items : n.fail(`input ${i} is no sequence`);
}

/** Returns a place in a list of this length. */
function placeOf(n: NodeCall, i: number, count: number, otherwise: number): number {
  const given = n.has(i) ? n.wantInts(i)[0] : otherwise, at = given < 0 ? given + count : given;
  return at >= 0 && at < count ? at : n.fail(`place ${given} is outside of a sequence of ${count}`);
}

function insert(n: NodeCall): Value {
  const items = [...itemsOf(n)];
  items.splice(placeOf(n, 2, items.length + 1, items.length), 0, n.value(1));
  return Value.sequence(items);
}

function erase(n: NodeCall): Value {
  const items = [...itemsOf(n)];
  items.splice(placeOf(n, 1, items.length, items.length - 1), 1);
  return Value.sequence(items, n.dtype(0));
}

function split(n: NodeCall): Value {
  const x = n.x(0), axis = n.axis("axis", 0, n.rank(0));
  const extent = n.dims(0)[axis] ?? n.needs(`the extent of axis ${axis} of input 0`);
  let sizes = new Array<number>(extent).fill(1);
  if (n.has(1)) {
    const given = n.wantInts(1);
    sizes = n.rank(1) === 1 ? given : Array.from(
      { length: Math.ceil(extent / given[0]) },
      (_, i) => Math.min(given[0], extent - i * given[0]),
    );
  }
  const keeps = n.has(1) || n.attributes.flag("keepdims", true);
  const parts = tf.split(x, sizes, axis);
  return Value.sequence(parts.map((t) => Value.of(keeps ? t : tf.squeeze(t, axis))), x.dtype);
}

function concat(n: NodeCall): RuleOutput {
  const items = itemsOf(n).map((v) => n.tensorOf(v)), isNew = n.attributes.flag("new_axis");
  if (items.length === 0) n.fail("the sequence is empty");
  const rank = items[0].staticShape?.length ?? n.needs("the rank of what is in the sequence");
  const axis = normalizeAxis(n.attributes.int("axis", 0), rank + Number(isNew));
  return isNew ? tf.stack(items, axis) : tf.concat(items, axis);
}

/** Runs a graph for each item of sequences of one length; other inputs are passed each time. */
function map(n: NodeCall): RuleOutput[] {
  const count = itemsOf(n).length, outputs: Value[][] = n.graph("body").outputs.map(() => []);
  for (let i = 0; i < count; i++) {
    const inputs = n.inputs.map((_, k) => {
      const value = n.value(k);
      return value.kind === "sequence" ? value.items[i] : value;
    });
    n.run("body", inputs).forEach((value, k) => outputs[k].push(value));
  }
  return outputs.map((items) => Value.sequence(items));
}

function optional(n: NodeCall): Value {
  return n.has(0) ? n.value(0) : Value.none;
}

function hasElement(n: NodeCall): NdArray {
  const is = n.has(0) && n.value(0).kind !== "none";
  return new NdArray("bool", [], Uint8Array.of(Number(is)));
}

function getElement(n: NodeCall): Value {
  const value = n.value(0);
  return value.kind === "none" ? n.fail("the optional is empty") : value;
}

function empty(n: NodeCall): Value {
  const number = n.attributes.int("dtype", 1);
  return Value.sequence([], dtypeOfNumber(number));
}

export const SEQUENCES: readonly OpEntry[] = [
  op("ConcatFromSequence", 11, concat),
  op("Optional", 15, optional),
  op("OptionalGetElement", 15, getElement),
  op("OptionalHasElement", 15, hasElement),
  op("SequenceAt", 11, (n) => itemsOf(n)[placeOf(n, 1, itemsOf(n).length, 0)]),
  op("SequenceConstruct", 11, (n) => Value.sequence(n.inputs.map((_, i) => n.value(i)))),
  op("SequenceEmpty", 11, empty),
  op("SequenceErase", 11, erase),
  op("SequenceInsert", 11, insert),
  op("SequenceLength", 11, (n) => knownInt64([itemsOf(n).length], [])),
  op("SequenceMap", 17, map),
  op("SplitToSequence", 11, split, { known: [1] }),
];
