/** Ops on lists that grow, each one stacked tensor: TensorArrays of dynamic size, and TensorFlow's tensor lists. */
import { apply, type OpInput } from "../../core/apply.ts";
import type { HostOp } from "../../core/contract/host_op.ts";
import { InvalidArgumentError } from "../../core/errors.ts";
import { NdArray } from "../../core/nd_array.ts";
import { type Attrs, defineOp, type OpDef } from "../../core/op.ts";
import type { Tensor } from "../../core/tensor.ts";
import { shapeFromHost } from "../../ops/array/fill_ops.ts";
import { asTensor, intScalar, intVector } from "../../ops/input.ts";
import { onDevice } from "../eager/eager.ts";
import { asEager, tidy } from "../eager/tensor.ts";
import { type Given, put, take } from "./growing_memory.ts";

/** Runs an op whose first input is a list that its last reader may change. */
function hostOf(
  work: (given: Given, others: readonly OpInput[], attrs: Attrs) => readonly OpInput[],
): HostOp {
  return {
    local: true,
    run({ inputs: [first, ...others], device, attrs }) {
      const rows = onDevice(first, device), isOwn = rows !== first || rows.isGiven;
      rows.isGiven = false;
      try {
        return work({ rows, isOwn }, others, attrs);
      } finally {
        if (isOwn) rows.dispose();
      }
    },
    eager: ([rows, ...others], attrs) =>
      tidy(() =>
        work({ rows: asEager(asTensor(rows)), isOwn: false }, others, attrs).map(asTensor)
      ),
  };
}

function numbers(x: OpInput): number[] {
  const { data } = x instanceof NdArray ? x : x.ndarraySync();
  return Array.from(data as Int32Array, Number);
}

/**
 * Replaces a row, and appends rows up to it. Inputs: rows `[n, …]`, the number of the row, the row. Results: the rows, their shape before.
 * `appended`: the row is the one after those before, whatever the number.
 */
const PutRow: OpDef = defineOp({
  name: "_PutRow",
  portable: "parts",
  inputs: ["rows: T", "index: int32", "row: T"],
  outputs: ["output: T", "before: int32"],
  attrs: ["T: type", "appended: bool = false"],
  hostInputs: ["index"],
  changes: 0,
  infer: ([rows, , { shape }]) => [shape && [null, ...shape], [rows.shape?.length ?? null]],
  grad: {
    saves: ["before", "index"],
    vjp: ({ before, index }, [dy], { attrs: { appended } }) => {
      const [rest, row] = apply(TakeRow, [dy, before, index], { appended });
      return [rest, null, row];
    },
  },
  host: hostOf((given, [index, row], { appended }) => {
    const { staticShape } = given.rows, at = appended ? staticShape[0] : numbers(index)[0];
    if (at < 0) throw notIn(at, staticShape[0], "_PutRow");
    return [put(given, at, row), intVector(staticShape)];
  }),
});

/**
 * The gradient of {@linkcode PutRow}. Inputs: that of the rows, their shape before, the number of the row. Results: the gradient of the
 * rows before and that of the row.
 */
const TakeRow: OpDef = defineOp({
  name: "_TakeRow",
  portable: "parts",
  inputs: ["dy: T", "before: int32", "index: int32"],
  outputs: ["rest: T", "row: T"],
  attrs: ["T: type", "appended: bool = false"],
  hostInputs: ["before", "index"],
  changes: 0,
  infer: ([dy, before]) => [shapeFromHost(before), dy.shape && dy.shape.slice(1)],
  grad: {
    saves: ["index"],
    vjp: ({ index }, [rest, row], { attrs: { appended } }) => {
      const [dy] = apply(PutRow, [rest, index, row], { appended });
      return [dy, null, null];
    },
  },
  host: hostOf((given, [before, index], { appended }) => {
    const shape = numbers(before), at = appended ? shape[0] : numbers(index)[0];
    const [n] = given.rows.staticShape;
    if (!(at >= 0 && at < n)) throw notIn(at, n, "_TakeRow");
    return take(given, at, shape);
  }),
});

function notIn(at: number, n: number, op: string): InvalidArgumentError {
  return new InvalidArgumentError(`Trying to access element ${at} in a list with ${n} elements`, {
    op,
  });
}

/** Replaces row `index` (a scalar), and appends rows up to it. */
export function putRow(rows: Tensor, index: Tensor, row: Tensor): Tensor {
  return apply(PutRow, [rows, index, row])[0];
}

/** Appends `row` to `rows`. */
export function appendRow(rows: Tensor, row: Tensor): Tensor {
  return apply(PutRow, [rows, intScalar(-1), row], { appended: true })[0];
}
