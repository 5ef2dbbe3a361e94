/**
 * The gradient of attention by blocks of queries: shares and their gradients of a block are computed anew, so that memory holds as many
 * rows of scores as the second cache, and never all of them.
 */
import type { AttentionGradientOf, RowPlace } from "../../../core/attention.ts";
import { DTYPES } from "../../../core/dtype.ts";
import type { MeaningOf } from "../../../core/meaning.ts";
import type { Problem } from "../../../core/op.ts";
import { argument, type Expr, scalar } from "../../../core/scalar/expr.ts";
import { sizeOf } from "../../../core/shape.ts";
import type { Engine } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import { prepareMatMul } from "../gemm/gemm.ts";
import type { Heap, Pointer } from "../heap.ts";
import { preparePointwise } from "../pointwise/pointwise.ts";
import {
  BLOCK_SCORES,
  type Changed,
  float,
  hideLater,
  LEAST_ROWS,
  matrixCopy,
  prepareChange,
  problemOf,
  SCALED,
} from "./attention.ts";
import { prepareSoftmax } from "./rows.ts";
import { prepareRowSteps } from "./steps.ts";

/** Inputs before the masks. */
const OWN_INPUTS = 6;

/** `share · (gradient − Σ share · gradient)`. */
const SOFTMAX_GRADIENT: MeaningOf<"row steps"> = {
  kind: "row steps",
  columns: [],
  steps: () => ({
    found: [{ fold: "sum", of: scalar.mul(argument(0), argument(1)) }],
    results: [scalar.mul(argument(0), scalar.sub(argument(1), argument(2)))],
  }),
};

/** Prepares the kernel, or returns null where the elements are no float32 or an expression has no vector code. */
export function prepareAttentionGradient(engine: Engine, problem: Problem): FastRun | null {
  const { attention: form, gradient, wanted, factors, spread, slope } =
    (problem.attrs.form as AttentionGradientOf).form;
  const { heap } = engine, masks = problem.inputs.slice(OWN_INPUTS);
  if (problem.inputs.slice(0, 3).some(({ dtype }) => dtype !== "float32")) return null;
  const { outer: [d0, d1, d2], queries, keys, depth, causal, scale } = form;
  const most = Math.min(queries, Math.max(LEAST_ROWS, Math.floor(BLOCK_SCORES / keys)));
  const prepare = (m: number, n: number): Block => {
    const changed = (expr: Expr | null, more = 0): Changed | null =>
      expr && prepareChange(engine, expr, { form, masks, shape: [m, n], more });
    const product = (a: number[], b: number[], out: number[], attrs = {}): FastRun =>
      prepareMatMul(engine, problemOf([float(...a), float(...b)], out, attrs))!;
    const wide = problemOf([float(m, n), float(m, n)], [m, n]);
    return {
      query: matrixCopy(engine, float(m, depth), form.query.row, 1),
      scale: preparePointwise(engine, [SCALED(scale)], [float(m, depth)], [m, depth])!,
      gradient: matrixCopy(engine, float(m, depth), gradient.row, 1),
      product: product([m, depth], [n, depth], [m, n], { transpose_b: true }),
      scores: changed(form.scores),
      softmax: prepareSoftmax(false)(engine, problemOf([float(m, n)], [m, n]))!,
      weights: changed(form.weights),
      spread: changed(spread),
      softmaxGradient: prepareRowSteps(engine, wide, SOFTMAX_GRADIENT)!,
      slope: changed(slope, 1),
      ofQuery: product([m, n], [n, depth], [m, depth]),
      ofKeys: product([m, n], [m, depth], [n, depth], { transpose_a: true }),
    };
  };
  const first = prepare(most, keys);
  const exprs = [form.scores, form.weights, spread, slope];
  const made = [first.scores, first.weights, first.spread, first.slope];
  if (exprs.some((e, i) => e !== null && made[i] === null)) return null;
  const blocks = new Map<string, Block>([[`${most},${keys}`, first]]);
  const blockOf = (m: number, n: number): Block => {
    const key = `${m},${n}`, known = blocks.get(key);
    if (known !== undefined) return known;
    const made = prepare(m, n);
    blocks.set(key, made);
    return made;
  };
  const copies = [form.key, form.value].map(({ row }) =>
    matrixCopy(engine, float(keys, depth), row, 1)
  );
  const adds = new Adds(engine);
  const places = [form.query, form.key, form.value, gradient];
  const maskBytes = Math.max(0, ...masks.map(({ dtype }) => DTYPES[dtype].bytes)) * most * keys;
  const small = 4 * most * depth, large = 4 * keys * depth, scores = 4 * most * keys;
  const bytes = [
    ...[small, small, small, large, large, scores, scores, scores, scores, Math.max(small, large)],
    ...[large, large],
    ...masks.map(() => Math.max(4, maskBytes)),
  ];
  return (outs, ins) => {
    const room = heap.allocAll(bytes);
    const [q, scaled, g, k, v, s, x, wide, d, found, ofKeys, ofValues, ...maskRooms] = room;
    try {
      outs.forEach((out, i) => {
        const from = out >>> 2;
        heap.f32.fill(0, from, from + sizeOf(wanted[i].shape));
      });
      for (let z = 0; z < d0 * d1 * d2; z++) {
        const c = z % d2, b = Math.floor(z / d2) % d1, a = Math.floor(z / d2 / d1);
        const at = (p: RowPlace, row = 0): number =>
          p.base + a * p.outer[0] + b * p.outer[1] + c * p.outer[2] + row * p.row;
        const from = (i: number, row = 0): Pointer => ins[i] + 4 * at(places[i], row);
        copies[0]([k], [from(1)]);
        copies[1]([v], [from(2)]);
        for (const sum of [ofKeys, ofValues]) {
          heap.f32.fill(0, sum >>> 2, (sum >>> 2) + keys * depth);
        }
        for (let t = 0; t < queries; t += most) {
          const m = Math.min(most, queries - t), n = causal ? t + m + keys - queries : keys;
          const block = blockOf(m, n);
          /** Applies an expression in place, to the values at an address and to further ones. */
          const change = (
            own: Changed | null,
            to: Pointer,
            [value, ...more]: Pointer[] = [to],
          ): void =>
            own?.run([to], [
              value,
              ...own.places.map(({ copy, bytes }, i) => {
                const place = form.masks[i];
                const from = ins[OWN_INPUTS + i] + bytes * at(place, t);
                copy?.([maskRooms[i]], [from]);
                return copy ? maskRooms[i] : from;
              }),
              ...more,
            ]);
          block.query([q], [from(0, t)]);
          block.scale([scaled], [q]);
          block.gradient([g], [from(3, t)]);
          block.product([x], [scaled, k]);
          heap.f32.copyWithin(s >>> 2, x >>> 2, (x >>> 2) + m * n);
          change(block.scores, s);
          if (causal) hideLater(heap, s, m, n);
          block.softmax([s], [s]);
          block.product([wide], [g, v]);
          change(block.spread, wide);
          block.softmaxGradient([d], [s, wide]);
          change(block.slope, d, [x, d]);
          change(block.weights, s);
          wanted.forEach(({ of, place }, i) => {
            if (of === "query") {
              block.ofQuery([found], [d, k]);
              addRows(
                heap,
                { from: found, to: outs[i], rows: m, depth, factor: factors.query },
                (r) => at(place, t + r),
              );
            } else {
              const sum = of === "key" ? ofKeys : ofValues;
              block.ofKeys([found], of === "key" ? [d, q] : [s, g]);
              adds.of(n * depth)([sum], [sum, found]);
            }
          });
        }
        wanted.forEach(({ of, place }, i) => {
          if (of === "query") return;
          const sum = of === "key" ? ofKeys : ofValues, factor = of === "key" ? factors.key : 1;
          addRows(heap, { from: sum, to: outs[i], rows: keys, depth, factor }, (r) => at(place, r));
        });
      }
    } finally {
      room.forEach((p, i) => heap.free(p, bytes[i]));
    }
  };
}

/** The kernels of a block of queries. */
interface Block {
  readonly query: FastRun;
  readonly scale: FastRun;
  readonly gradient: FastRun;
  readonly product: FastRun;
  readonly scores: Changed | null;
  readonly softmax: FastRun;
  readonly weights: Changed | null;
  readonly spread: Changed | null;
  readonly softmaxGradient: FastRun;
  readonly slope: Changed | null;
  readonly ofQuery: FastRun;
  readonly ofKeys: FastRun;
}

/** Sums of two arrays, by their size. */
class Adds {
  readonly #engine: Engine;
  readonly #made = new Map<number, FastRun>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  of(size: number): FastRun {
    let run = this.#made.get(size);
    if (run === undefined) {
      const sum = scalar.add(argument(0), argument(1)), inputs = [float(size), float(size)];
      run = preparePointwise(this.#engine, [sum], inputs, [size])!;
      this.#made.set(size, run);
    }
    return run;
  }
}

interface AddedRows {
  readonly from: Pointer;
  readonly to: Pointer;
  readonly rows: number;
  readonly depth: number;
  readonly factor: number;
}

/** Adds rows to where they belong. */
function addRows(
  { f32 }: Heap,
  { from, to, rows, depth, factor }: AddedRows,
  place: (row: number) => number,
): void {
  for (let r = 0; r < rows; r++) {
    const own = (from >>> 2) + r * depth, into = (to >>> 2) + place(r);
    for (let i = 0; i < depth; i++) f32[into + i] += factor * f32[own + i];
  }
}
