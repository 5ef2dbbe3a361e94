/**
 * Several small problems of one kind in one dispatch: updates of variables, sums over first axes. The elements of all
 * members are consecutive in the index space.
 */
import {
  type BufferRange,
  type BufferRef,
  type Dispatch,
  f32Bits,
  flatId,
  type GpuPlan,
  type GpuVariant,
  gridFor,
  makeProgram,
  type Profile,
  type Program,
  Programs,
} from "../../core/dispatch.ts";
import type { Problem } from "../../core/op.ts";
import { type Expr, exprKey } from "../../core/scalar/expr.ts";
import { printWgsl } from "../../core/scalar/wgsl.ts";
import { sizeOf } from "../../core/shape.ts";
import { bindsWhole, piecesOf } from "../copy/pieces.ts";

const WORKGROUP = 64;

/** The roles of an op's inputs, from its attributes. */
export interface GroupLayout {
  /** Expressions over the scalars, then one member's arrays. */
  readonly exprs: readonly Expr[];
  /** Scalars, shared by all members. */
  readonly scalars: number;
  /** Arrays of one member. */
  readonly arrays: number;
}

/** True where the adapter can bind at least one member, in pieces if need be. */
export function groupedFits({ exprs, scalars, arrays }: GroupLayout, profile: Profile): boolean {
  return scalars + arrays + exprs.length <= profile.maxBuffers;
}

/** Plans one dispatch for as many members, or pieces of large ones, as the adapter can bind at once. */
export function planGrouped(layout: GroupLayout, { outputs }: Problem, profile: Profile): GpuPlan {
  const { exprs, scalars, arrays } = layout;
  const parts = range(outputs.length / exprs.length).flatMap((m) =>
    piecesOf(sizeOf(outputs[m * exprs.length].shape), 4, profile).map((piece) => ({ m, ...piece }))
  );
  const each = Math.floor((profile.maxBuffers - scalars) / (arrays + exprs.length));
  const dispatches = chunks(parts, each).map((list): Dispatch => {
    const vectors = list.map(({ count }) => Math.ceil(count / 4));
    const buffers: BufferRef[] = [
      ...range(scalars).map((input) => ({ input })),
      ...list.flatMap(({ m, range: part }) =>
        range(arrays).map((k) => ({ input: scalars + m * arrays + k, ...wholeVectors(part) }))
      ),
      ...list.flatMap(({ m, range: part }) =>
        exprs.map((_, k) => ({ output: m * exprs.length + k, ...wholeVectors(part) }))
      ),
    ];
    const program = groupProgram(layout, list.length), threads = vectors.reduce((a, b) => a + b, 0);
    return { program, buffers, params: vectors, grid: gridFor(threads, WORKGROUP, profile) };
  });
  return { dispatches };
}

/** Extends a range to the end of its last vector, for which buffers have room. */
function wholeVectors({ offset, size }: BufferRange): BufferRange {
  return offset === undefined || size === undefined
    ? {}
    : { offset, size: Math.ceil(size / 16) * 16 };
}

const programs = new Programs();

function groupProgram(layout: GroupLayout, members: number): Program {
  const { exprs, scalars, arrays } = layout;
  const key = `${exprs.map((e) => exprKey(e)).join(";")}|${scalars},${arrays},${members}`;
  let program = programs.get(key);
  if (program) return program;
  const names = [...range(scalars).map((i) => `s${i}`), ...range(arrays).map((i) => `a${i}`)];
  const printed = printWgsl(exprs, names.map(() => "float32"), names);
  const prelude = [
    printed.prelude,
    `struct Updated {\n${exprs.map((_, k) => `  r${k}: f32,`).join("\n")}\n}`,
    `fn update_(${names.map((n) => `${n}: f32`).join(", ")}) -> Updated {`,
    ...printed.lines,
    `return Updated(${printed.results.join(", ")});\n}`,
  ];
  const lines = [
    `var i = ${flatId(WORKGROUP)};`,
    ...range(scalars).map((i) => `let s${i} = in${i}[0];`),
  ];
  for (const m of range(members)) {
    lines.push(`if (i < p.n${m}) {`);
    for (const k of range(arrays)) lines.push(`let v${k} = in${scalars + m * arrays + k}[i];`);
    for (const c of "xyzw") {
      const args = [
        ...range(scalars).map((i) => `s${i}`),
        ...range(arrays).map((k) => `v${k}.${c}`),
      ];
      lines.push(`let u${c} = update_(${args.join(", ")});`);
    }
    exprs.forEach((_, k) => {
      lines.push(
        `out${m * exprs.length + k}[i] = vec4<f32>(${
          [..."xyzw"].map((c) => `u${c}.r${k}`).join(", ")
        });`,
      );
    });
    lines.push("return;\n}", `i = i - p.n${m};`);
  }
  program = makeProgram({
    name: "grouped_update",
    inputs: [...range(scalars).map(() => "f32"), ...range(members * arrays).map(() => "vec4<f32>")],
    outputs: range(members * exprs.length).map(() => "vec4<f32>"),
    params: range(members).map((m) => `n${m}`),
    workgroup: [WORKGROUP, 1, 1],
    prelude: prelude.filter((l) => l !== "").join("\n"),
    body: lines.join("\n"),
  });
  programs.set(key, program);
  return program;
}

function chunks<T>(list: readonly T[], each: number): T[][] {
  return range(Math.ceil(list.length / each)).map((k) => list.slice(k * each, (k + 1) * each));
}

function range(n: number): number[] {
  return Array.from({ length: n }, (_, i) => i);
}

/** The kernel of sums over the first axis of several matrices. */
export const columnSumVariants: readonly GpuVariant[] = [{
  name: "grouped",
  fits: bindsWhole,
  plan: (problem, profile) => planColumnSums(problem.attrs.scales, problem, profile),
}];

/** Plans sums over the first axis of several matrices (or vectors), each times a factor. */
function planColumnSums(
  scales: readonly number[],
  { inputs, outputs }: Problem,
  profile: Profile,
): GpuPlan {
  const each = Math.floor(profile.maxBuffers / 2), { barriers } = profile;
  const dispatches = chunks(range(inputs.length), each).map((list): Dispatch => {
    const columns = list.map((m) => sizeOf(outputs[m].shape));
    const threads = barriers
      ? columns.map((count) => Math.ceil(count / SIDE) * SIDE * SLICES)
      : columns;
    return {
      program: (barriers ? slicedSumProgram : columnSumProgram)(list.length),
      buffers: [...list.map((input) => ({ input })), ...list.map((output) => ({ output }))],
      params: list.flatMap((m, k) => [columns[k], inputs[m].shape[0], f32Bits(scales[m])]),
      grid: gridFor(
        threads.reduce((a, b) => a + b, 0),
        barriers ? SIDE * SLICES : WORKGROUP,
        profile,
      ),
    };
  });
  return { dispatches };
}

/** One invocation a column: for software adapters. */
function columnSumProgram(members: number): Program {
  const lines = [`var i = ${flatId(WORKGROUP)};`];
  for (const m of range(members)) {
    // Runs of 16 rows keep the error of long sums small.
    lines.push(`if (i < p.c${m}) {
  var sum = 0.0;
  var at = i;
  var row = 0u;
  while (row < p.r${m}) {
    let end = min(row + 16u, p.r${m});
    var part = 0.0;
    while (row < end) { part = part + in${m}[at]; at = at + p.c${m}; row = row + 1u; }
    sum = sum + part;
  }
  out${m}[i] = sum * p.f${m};
  return;
}
i = i - p.c${m};`);
  }
  return sumProgram(members, { workgroup: WORKGROUP, body: lines.join("\n") });
}

/** Neighbouring columns of a workgroup, and the invocations that share a column: loads of a short matrix are in flight together. */
const SIDE = 32, SLICES = 8;

/** A workgroup for each {@linkcode SIDE} columns of a member. */
function slicedSumProgram(members: number): Program {
  const lines = [
    "var g = wid.x + wid.y * nwg.x;",
    `let column = lidx % ${SIDE}u;`,
    `let slice = lidx / ${SIDE}u;`,
  ];
  for (const m of range(members)) {
    lines.push(`let n${m} = (p.c${m} + ${SIDE - 1}u) / ${SIDE}u;
if (g < n${m}) {
  let i = g * ${SIDE}u + column;
  var sum = 0.0;
  var row = select(p.r${m}, slice, i < p.c${m});
  while (row < p.r${m}) {
    let end = min(row + ${16 * SLICES}u, p.r${m});
    var part = 0.0;
    while (row < end) { part = part + in${m}[row * p.c${m} + i]; row = row + ${SLICES}u; }
    sum = sum + part;
  }
  sums[lidx] = sum;
  workgroupBarrier();
  if (slice == 0u && i < p.c${m}) {
    var total = 0.0;
    for (var s = 0u; s < ${SLICES}u; s++) { total = total + sums[s * ${SIDE}u + column]; }
    out${m}[i] = total * p.f${m};
  }
  return;
}
g = g - n${m};`);
  }
  const prelude = `var<workgroup> sums: array<f32, ${SIDE * SLICES}>;`;
  return sumProgram(members, { workgroup: SIDE * SLICES, prelude, body: lines.join("\n") });
}

function sumProgram(
  members: number,
  { workgroup, body, prelude = "" }: {
    readonly workgroup: number;
    readonly body: string;
    readonly prelude?: string;
  },
): Program {
  return makeProgram({
    name: "grouped_column_sum",
    inputs: range(members).map(() => "f32"),
    outputs: range(members).map(() => "f32"),
    params: range(members).flatMap((m) => [`c${m}`, `r${m}`, `f${m}:f32`]),
    workgroup: [workgroup, 1, 1],
    prelude,
    body,
  });
}
