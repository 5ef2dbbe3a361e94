/**
 * How the invocations of a register kernel load the rows of A: each its own, or the lanes of a subgroup together. On a
 * software adapter a load costs as much as a hundred multiplications however few lanes it serves, an exchange between
 * lanes next to nothing.
 */
import { loadText } from "../../core/gpu_storage.ts";
import type { DType } from "../../core/dtype.ts";
import { LANES, type Loads } from "./text.ts";
import type { RegisterTile } from "./tiles.ts";

/** Facts about A. */
export interface RowSource {
  /** Element type. */
  readonly dtype: DType;
  /** Stored `[k, m]`. */
  readonly transA: boolean;
  /** Read four at a time along its last axis. */
  readonly wideA: boolean;
}

/** What a workgroup's lanes may do. */
export interface LaneProfile {
  /** Invocations of a workgroup: one subgroup where lanes share. */
  readonly lanes: number;
  /** WGSL must say `enable subgroups;`. */
  readonly subgroupDirective: boolean;
}

/** WGSL directives of a kernel with this tile. */
export function laneDirectives({ across }: RegisterTile, profile: LaneProfile): string[] {
  return across !== undefined && profile.subgroupDirective ? ["enable subgroups;"] : [];
}

/** Statements that declare a lane's first row `r0`, its first vector of columns `c0` and its place `ln` in a row of lanes. */
export function lanePlace({ rows, vecs, across }: RegisterTile, lanes: number): string[] {
  const [mask, shift] = across === undefined
    ? ["p.lanemask", "p.laneshift"]
    : [`${across - 1}u`, `${Math.log2(across)}u`];
  return [
    "let gm = g % p.rowgroups; let gn = g / p.rowgroups;",
    `let ln = lidx & ${mask}; let lm = lidx >> ${shift}; let lane0 = lidx - ln;`,
    `let r0 = (gm * (${lanes}u >> ${shift}) + lm) * ${rows}u;`,
    `let c0 = (gn * (${mask} + 1u) + ln) * ${vecs}u;`,
    // Lanes that share must all stay.
    ...(across === undefined ? ["if (r0 >= p.m || c0 * 4u >= p.n) { return; }"] : []),
  ];
}

/** How `units` × `steps` values are dealt to the lanes of a row, one value a load. */
export interface Deal {
  /** Loads that hold the values of the first `steps` steps. */
  readonly loads: (steps: number) => number;
  /** Text of the unit that a lane loads. */
  readonly unit: (load: number) => string;
  /** Text of the step that a lane loads. */
  readonly step: (load: number) => string;
  /** Text of a value in every lane; `name` names a load. */
  readonly value: (unit: number, step: number, name: (load: number) => string) => string;
}

/** Deals values to rows of `across` lanes in workgroups of `lanes`. All are powers of two. */
export function deal(units: number, steps: number, across: number, lanes: number): Deal {
  const few = units < across;
  return {
    loads: (count) => Math.ceil(units * count / across),
    unit: (h) => (few ? `ln % ${units}u` : `${h * across % units}u + ln`),
    step: (h) =>
      few
        ? `((${h * across / units}u + ln / ${units}u) % ${steps}u)`
        : `${Math.floor(h * across / units)}u`,
    value: (u, q, name) => {
      const flat = q * units + u;
      const [held, lane] = [name(Math.floor(flat / across)), `${flat % across}u`];
      return across === lanes
        ? `subgroupBroadcast(${held}, ${lane})`
        : `subgroupShuffle(${held}, lane0 + ${lane})`;
    },
  };
}

/** Scalars of A: row `i`, step `q`. */
export function rowLoads(source: RowSource, tile: RegisterTile, lanes: number): Loads {
  return tile.across === undefined
    ? ownRows(source, tile.rows)
    : sharedRows(source, tile.rows, tile.across, lanes);
}

function each<T>(n: number, f: (i: number) => T): T[] {
  return Array.from({ length: n }, (_, i) => f(i));
}

function ownRows({ dtype, transA, wideA }: RowSource, rows: number): Loads {
  const get = (text: string): string => loadText(dtype, `in0[${text}]`, wideA ? 4 : 1);
  if (!transA) {
    return {
      setup: each(
        rows,
        (i) => `let ai${i} = p.abase + za + min(r0 + ${i}u, p.m - 1u) * p.lda;`,
      ),
      load: (count) =>
        each(
          rows,
          (i) =>
            wideA
              ? `let a${i} = ${get(`ai${i} + k / 4u`)};`
              : each(count, (q) => `let a${i}_${q} = ${get(`ai${i} + k + ${q}u`)};`).join(" "),
        ),
      value: (i, q) => (wideA ? `a${i}.${LANES[q]}` : `a${i}_${q}`),
    };
  }
  const columns = wideA ? rows / 4 : rows;
  return {
    setup: each(
      columns,
      (h) =>
        wideA
          ? `let ai${h} = p.abase + za + min(r0 / 4u + ${h}u, p.m / 4u - 1u);`
          : `let ai${h} = p.abase + za + min(r0 + ${h}u, p.m - 1u);`,
    ),
    load: (count) =>
      each(
        count,
        (q) =>
          each(columns, (h) => `let a${h}_${q} = ${get(`ai${h} + (k + ${q}u) * p.lda`)};`)
            .join(" "),
      ),
    value: (i, q) => (wideA ? `a${i >> 2}_${q}.${LANES[i & 3]}` : `a${i}_${q}`),
  };
}

function sharedRows(
  { dtype, transA, wideA }: RowSource,
  rows: number,
  across: number,
  lanes: number,
): Loads {
  // Read four at a time, A gives four steps of a row, or four rows of a step where it is transposed.
  const units = wideA && transA ? rows / 4 : rows, steps = wideA && !transA ? 1 : 4;
  const dealt = deal(units, steps, across, lanes);
  const position = (u: string, q: string): string =>
    !transA
      ? `min(r0 + ${u}, p.m - 1u) * p.lda + ${q}`
      : wideA
      ? `min(r0 / 4u + ${u}, p.m / 4u - 1u) + ${q} * p.lda`
      : `min(r0 + ${u}, p.m - 1u) + ${q} * p.lda`;
  const offset = transA ? "k * p.lda" : wideA ? "k / 4u" : "k";
  const value = (u: number, q: number): string => dealt.value(u, q, (h) => `a${h}`);
  return {
    setup: each(
      dealt.loads(steps),
      (h) => `let ai${h} = p.abase + za + ${position(dealt.unit(h), dealt.step(h))};`,
    ),
    load: (count) =>
      each(
        dealt.loads(Math.min(count, steps)),
        (h) => `let a${h} = ${loadText(dtype, `in0[ai${h} + ${offset}]`, wideA ? 4 : 1)};`,
      ),
    row: (i, count) => {
      if (steps === 1) return [`let x${i} = ${value(i, 0)};`];
      if (wideA && i % 4 !== 0) return [];
      const u = wideA ? i / 4 : i;
      return each(count, (q) => `let x${u}_${q} = ${value(u, q)};`);
    },
    value: (i, q) =>
      steps === 1 ? `x${i}.${LANES[q]}` : wideA ? `x${i >> 2}_${q}.${LANES[i & 3]}` : `x${i}_${q}`,
  };
}
