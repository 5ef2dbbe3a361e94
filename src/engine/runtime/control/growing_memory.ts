/**
 * The memory of lists that grow: that of a tensor of more rows, of which the list is a view. Its last reader appends to it without a
 * copy; others get memory of twice as many rows.
 */
import type { OpInput } from "../../core/apply.ts";
import type { Device } from "../../core/device.ts";
import { UnimplementedError } from "../../core/errors.ts";
import { NdArray } from "../../core/nd_array.ts";
import { lookupOp, type OpDef } from "../../core/op.ts";
import { sameShape, shapeText, sizeOf } from "../../core/shape.ts";
import { fill } from "../../ops/array/creation.ts";
import { concat } from "../../ops/array/join.ts";
import { intScalar } from "../../ops/input.ts";
import { executeOn, onDevice } from "../eager/eager.ts";
import { isolated } from "../eager/isolated.ts";
import { Storage } from "../eager/storage.ts";
import { EagerTensor } from "../eager/tensor.ts";

type Shape = readonly number[];

/** The rows in use of each memory with room for more, which are zero. */
const rowsIn = new WeakMap<Storage, number>();

/** A list, and whether its memory is the call's. */
export interface Given {
  readonly rows: EagerTensor;
  readonly isOwn: boolean;
}

/** Runs an op of one result. */
function made(
  def: OpDef,
  inputs: readonly OpInput[],
  device: Device,
  spent: EagerTensor | null = null,
): EagerTensor {
  return executeOn(def, inputs, {}, { device, spent })[0] as EagerTensor;
}

function zeros({ dtype, storage: { device } }: EagerTensor, shape: Shape): EagerTensor {
  return isolated(
    { device: device.name },
    () => fill(shape, NdArray.zeros(dtype, [])),
  ) as EagerTensor;
}

/** Returns the first rows of memory. */
function view({ dtype, storage }: EagerTensor, shape: Shape): EagerTensor {
  return new EagerTensor(dtype, shape, storage.retain());
}

/** Returns all rows of the memory, those after the list's too; null for other memory. */
function allRows({ dtype, storage }: EagerTensor, row: Shape): EagerTensor | null {
  const { spec } = storage, each = sizeOf(row), count = sizeOf(spec.shape) / each;
  return spec.dtype === dtype && Number.isInteger(count)
    ? new EagerTensor(dtype, [count, ...row], storage.retain())
    : null;
}

/** Takes over the memory of a list. */
function takenOver({ rows, isOwn }: Given, row: Shape): EagerTensor | null {
  const { storage, dtype } = rows;
  if (!isOwn || !storage.isMovable) return null;
  const all = allRows(rows, row);
  if (all === null) return null;
  all.dispose();
  const inUse = rowsIn.get(storage);
  const own = new Storage(storage.device, rows.surrender(), storage.spec, storage.bytes);
  if (inUse !== undefined) rowsIn.set(own, inUse);
  return new EagerTensor(dtype, all.staticShape, own);
}

/** True for rows of unknown shape, which have no elements: the first row tells it. */
function isUnshaped({ staticShape }: EagerTensor): boolean {
  return sizeOf(staticShape) === 0;
}

/** Returns memory with at least `count` rows, of which those after the list's are zero. */
function withRoom(given: Given, count: number, row: Shape): EagerTensor {
  const { rows } = given, { storage, staticShape: [n] } = rows;
  const each = sizeOf(row);
  if (
    !isUnshaped(rows) && rowsIn.get(storage) === n && sizeOf(storage.spec.shape) >= count * each
  ) {
    const own = takenOver(given, row);
    if (own !== null) return own;
  }
  const room = Math.max(count, 2 * n);
  if (isUnshaped(rows)) return zeros(rows, [room, ...row]);
  const rest = zeros(rows, [room - n, ...row]);
  const all = isolated({ device: storage.device.name }, () => concat([rows, rest]));
  rest.dispose();
  return all as EagerTensor;
}

/** Returns a list of at least `count` rows in memory that may be written. */
function writable(given: Given, count: number, row: Shape): EagerTensor {
  const { rows } = given, [n] = rows.staticShape;
  if (count > n || isUnshaped(rows)) return withRoom(given, Math.max(count, n), row);
  return takenOver(given, row) ?? view(rows, rows.staticShape);
}

/** Replaces row `at`, and appends rows up to it. */
export function put(given: Given, at: number, value: OpInput): EagerTensor {
  const row = onDevice(value, given.rows.storage.device);
  try {
    return putNear(given, at, row);
  } finally {
    if (row !== value) row.dispose();
  }
}

function putNear(given: Given, at: number, row: EagerTensor): EagerTensor {
  const { rows } = given, { staticShape: [n], storage: { device } } = rows;
  const shape = row.staticShape, count = Math.max(n, at + 1);
  if (!isUnshaped(rows) && !sameShape(rows.staticShape.slice(1), shape)) {
    throw new UnimplementedError(
      `Cannot put a row of shape ${shapeText(shape)} into a list whose rows have shape ${
        shapeText(rows.staticShape.slice(1))
      }: a list is one stacked tensor here, so all its rows have one shape`,
      { op: "TensorList" },
    );
  }
  const before = writable(given, count, shape), update = view(row, [1, ...shape]);
  try {
    const place = new NdArray("int32", [1, 1], Int32Array.of(at));
    const after = made(lookupOp("TensorScatterUpdate")!, [before, place, update], device, before);
    return listIn(after, count, shape);
  } finally {
    before.dispose();
    update.dispose();
  }
}

/** Returns the list of the first rows of new memory. */
function listIn(all: EagerTensor, count: number, row: Shape): EagerTensor {
  if (all.staticShape[0] === count) return all;
  rowsIn.set(all.storage, count);
  return viewed(all, [count, ...row]);
}

/** Returns a view of new memory, of the scope in force. */
function viewed(all: EagerTensor, shape: Shape): EagerTensor {
  const list = view(all, shape);
  all.dispose();
  return list;
}

/** Takes back what {@linkcode put} did: returns the list before, zero where its row was replaced, and the row. */
export function take(given: Given, at: number, before: Shape): EagerTensor[] {
  const { rows } = given, { staticShape: [, ...shape], storage: { device } } = rows;
  const from = allRows(rows, shape) ?? view(rows, rows.staticShape);
  const row = made(lookupOp("GatherV2")!, [from, intScalar(at), intScalar(0)], device);
  from.dispose();
  if (sizeOf(before) === 0) return [viewed(zeros(rows, before), before), row];
  if (at >= before[0]) return [view(rows, [before[0], ...shape]), row];
  const zero = zeros(rows, shape), rest = put(given, at, zero);
  zero.dispose();
  return [rest, row];
}
