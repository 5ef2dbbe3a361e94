/**
 * Attention by blocks of queries: products, softmax and pointwise kernels work on as many rows of scores as the second cache
 * holds, so that all scores are never in memory at a time.
 */
import {
  type AttentionForm,
  attentionForm,
  type MaskPlace,
  type RowPlace,
  rowsOfAttention,
} from "../../../core/attention.ts";
import { DTYPES } from "../../../core/dtype.ts";
import { NdArray } from "../../../core/nd_array.ts";
import type { Problem } from "../../../core/op.ts";
import { argument, castTo, constant, type Expr, scalar } from "../../../core/scalar/expr.ts";
import type { Shape } from "../../../core/shape.ts";
import type { ConcreteSpec } from "../../../core/tensor_spec.ts";
import { plainAxis } from "../../../kernels/copy/map.ts";
import { prepareCopy } from "../copy/copy.ts";
import type { Engine } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import { prepareMatMul } from "../gemm/gemm.ts";
import type { Heap, Pointer } from "../heap.ts";
import { preparePointwise } from "../pointwise/pointwise.ts";
import { prepareReduction } from "../reduce/reduce.ts";
import { prepareSoftmax } from "./rows.ts";

/** Scores of a block: a megabyte. */
export const BLOCK_SCORES: number = 1 << 18;
export const LEAST_ROWS: number = 16;
/** Blocks of memory are multiples of that. */
const BLOCK_BYTES = 64;

/** Returns the spec of a float32 array. */
export const float = (...shape: number[]): ConcreteSpec => ({ dtype: "float32", shape });

/** Makes a problem of kernels that a block runs. */
export function problemOf(inputs: ConcreteSpec[], shape: Shape, attrs = {}): Problem {
  const outputs = [{ dtype: inputs[0].dtype, shape }];
  return { inputs, hosts: inputs.map(() => undefined), outputs, attrs };
}

/** Copies a matrix whose elements lie `row` and `column` apart. */
export function matrixCopy(
  engine: Engine,
  { dtype, shape: [m, n] }: ConcreteSpec,
  row: number,
  column: number,
): FastRun {
  const axes = [plainAxis(m, row), plainAxis(n, column)];
  return prepareCopy(engine, problemOf([{ dtype, shape: [m, n] }], [m, n]), {
    kind: "copy",
    from: 0,
    map: () => ({ axes, base: 0 }),
    fill: undefined,
    transposes: false,
  })!;
}

/** Prepares the kernel, or returns null where the elements are no float32 or an expression has no vector code. */
export function prepareAttention(engine: Engine, problem: Problem): FastRun | null {
  const form = attentionForm(problem), { heap } = engine, masks = problem.inputs.slice(3);
  if (problem.inputs.slice(0, 3).some(({ dtype }) => dtype !== "float32")) return null;
  const { outer: [d0, d1, d2], queries, keys, depth, causal, scale } = form;
  const keepsSums = problem.outputs.length > 1, rows = rowsOfAttention(form);
  const most = Math.min(queries, Math.max(LEAST_ROWS, Math.floor(BLOCK_SCORES / keys)));
  const changed = (expr: Expr, m: number, n: number): Changed | null =>
    prepareChange(engine, expr, { form, masks, shape: [m, n] });
  const prepare = (m: number, n: number) => ({
    scale: preparePointwise(engine, [SCALED(scale)], [float(m, depth)], [m, depth])!,
    query: matrixCopy(engine, float(m, depth), form.query.row, 1),
    product: prepareMatMul(
      engine,
      problemOf([float(m, depth), float(n, depth)], [m, n], { transpose_b: true }),
    )!,
    scores: form.scores && changed(form.scores, m, n),
    softmax: prepareSoftmax(false)(engine, problemOf([float(m, n)], [m, n]))!,
    greatest: keepsSums ? prepareGreatest(engine, m, n) : null,
    weights: form.weights && changed(form.weights, m, n),
    sums: prepareMatMul(engine, problemOf([float(m, n), float(n, depth)], [m, depth]))!,
  });
  const first = prepare(most, keys);
  if (form.scores && !first.scores || form.weights && !first.weights) return null;
  const blocks = new Map<string, ReturnType<typeof prepare>>([[`${most},${keys}`, first]]);
  const blockOf = (m: number, n: number): ReturnType<typeof prepare> => {
    const key = `${m},${n}`, known = blocks.get(key);
    if (known !== undefined) return known;
    const made = prepare(m, n);
    blocks.set(key, made);
    return made;
  };
  const copies = [form.key, form.value].map(({ row }) =>
    row === depth ? null : matrixCopy(engine, float(keys, depth), row, 1)
  );
  // Products write whole blocks past their end, where the next rows lie, or another value.
  const isDirect = form.result.row === depth && 4 * depth % BLOCK_BYTES === 0;
  const maskBytes = Math.max(0, ...masks.map(({ dtype }) => DTYPES[dtype].bytes)) * most * keys;
  const bytes = [
    4 * most * depth,
    4 * most * keys,
    ...copies.map((c) => c ? 4 * keys * depth : 4),
    isDirect ? 4 : 4 * most * depth,
    keepsSums ? 4 * most : 4,
    ...masks.map(() => Math.max(4, maskBytes)),
  ];
  return ([out, sums], ins) => {
    const room = heap.allocAll(bytes),
      [own, s, keyRoom, valueRoom, outRoom, sumRoom, ...maskRooms] = room;
    try {
      const held = [-1, -1], rooms = [keyRoom, valueRoom];
      for (let z = 0; z < d0 * d1 * d2; z++) {
        const c = z % d2, b = Math.floor(z / d2) % d1, a = Math.floor(z / d2 / d1);
        const at = (p: RowPlace): number =>
          p.base + a * p.outer[0] + b * p.outer[1] + c * p.outer[2];
        const matrix = (i: 0 | 1): Pointer => {
          const copy = copies[i], from = at(i === 0 ? form.key : form.value);
          if (copy === null) return ins[1 + i] + 4 * from;
          // Queries of a group share their keys.
          if (held[i] !== from) copy([rooms[i]], [ins[1 + i] + 4 * from]);
          held[i] = from;
          return rooms[i];
        };
        const k = matrix(0), v = matrix(1);
        for (let t = 0; t < queries; t += most) {
          const m = Math.min(most, queries - t), n = causal ? t + m + keys - queries : keys;
          const block = blockOf(m, n);
          const change = ({ run, places }: Changed): void =>
            run([s], [
              s,
              ...places.map(({ copy, bytes }, i) => {
                const place = form.masks[i];
                const from = ins[3 + i] + bytes * (at(place) + t * place.row);
                copy?.([maskRooms[i]], [from]);
                return copy ? maskRooms[i] : from;
              }),
            ]);
          // Kernels write whole blocks, and rows of other queries lie behind these.
          const keep = (part: 0 | 1): void => {
            if (block.greatest === null) return;
            block.greatest([sumRoom], [s]);
            const to = (sums >>> 2) + part * rows + z * queries + t;
            heap.f32.copyWithin(to, sumRoom >>> 2, (sumRoom >>> 2) + m);
          };
          block.query([own], [ins[0] + 4 * (at(form.query) + t * form.query.row)]);
          if (scale !== 1) block.scale([own], [own]);
          block.product([s], [own, k]);
          if (block.scores) change(block.scores);
          if (causal) hideLater(heap, s, m, n);
          keep(0);
          block.softmax([s], [s]);
          // The greatest share is the inverse of the sum.
          keep(1);
          if (block.weights) change(block.weights);
          const to = at(form.result) + t * form.result.row;
          block.sums([isDirect ? out + 4 * to : outRoom], [s, v]);
          if (isDirect) continue;
          for (let r = 0; r < m; r++) {
            const from = (outRoom >>> 2) + r * depth;
            heap.f32.copyWithin((out >>> 2) + to + r * form.result.row, from, from + depth);
          }
        }
      }
    } finally {
      room.forEach((p, i) => heap.free(p, bytes[i]));
    }
  };
}

/** The expression of a number's product with a scale. */
export const SCALED = (scale: number): Expr =>
  scalar.mul(argument(0), castTo(constant(scale), "float32"));

/** Hides the keys of a block of scores behind each query's own place; the last query sees all. */
export function hideLater({ f32 }: Heap, scores: Pointer, m: number, n: number): void {
  for (let r = 0; r + 1 < m; r++) {
    const row = (scores >>> 2) + r * n;
    f32.fill(-Infinity, row + n - m + r + 1, row + n);
  }
}

/** Prepares the greatest element of each row. */
function prepareGreatest(engine: Engine, m: number, n: number): FastRun {
  const axes = new NdArray("int32", [1], new Int32Array([1]));
  const problem: Problem = {
    ...problemOf([float(m, n), { dtype: "int32", shape: [1] }], [m]),
    hosts: [undefined, axes],
  };
  return prepareReduction(engine, problem, { op: "max" })!;
}

/** An expression of a block of scores and the masks there. */
export interface Changed {
  readonly run: FastRun;
  readonly places: readonly MaskIn[];
}

/** A block of scores, and the masks of an attention. */
interface BlockOfScores {
  readonly form: AttentionForm;
  readonly masks: readonly ConcreteSpec[];
  readonly shape: readonly [number, number];
  /** Arrays of that shape that the expression reads behind the masks. */
  readonly more?: number;
}

/** Prepares an expression of a block; null where it has no vector code. */
export function prepareChange(
  engine: Engine,
  expr: Expr,
  { form, masks, shape, more = 0 }: BlockOfScores,
): Changed | null {
  const places = masks.map(({ dtype }, i) => maskIn(engine, { dtype, shape }, form.masks[i]));
  const others = Array.from({ length: more }, () => float(...shape));
  const inputs = [float(...shape), ...places.map((p) => p.spec), ...others];
  const run = preparePointwise(engine, [expr], inputs, shape);
  return run && { run, places };
}

/** A mask's block as a pointwise kernel reads it: in place where it is broadcast or contiguous, else copied. */
interface MaskIn {
  readonly spec: ConcreteSpec;
  readonly copy: FastRun | null;
  /** Bytes of an element. */
  readonly bytes: number;
}

function maskIn(
  engine: Engine,
  { dtype, shape: [m, n] }: ConcreteSpec,
  { row, column }: MaskPlace,
): MaskIn {
  const isRow = row === 0 || m === 1, isColumn = column === 0 || n === 1, { bytes } = DTYPES[dtype];
  if (isRow && (isColumn || column === 1)) {
    return { spec: { dtype, shape: [1, isColumn ? 1 : n] }, copy: null, bytes };
  }
  if (isColumn && row === 1) return { spec: { dtype, shape: [m, 1] }, copy: null, bytes };
  const spec: ConcreteSpec = { dtype, shape: [m, n] };
  const copy = column === 1 && row === n ? null : matrixCopy(engine, spec, row, column);
  return { spec, copy, bytes };
}
