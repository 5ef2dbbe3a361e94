/**
 * Kernels over rows: each row is read a few times, reduced to a few numbers each time, and written. One dispatch, in
 * two forms: an invocation per row (no barriers: software adapters, short rows), or a workgroup per row, which keeps
 * rows of moderate length in registers. Elements of a row are taken by fours, or by two fours in one load where the
 * adapter has such loads.
 */
import type { DType } from "../../core/dtype.ts";
import {
  type BufferRef,
  type Dispatch,
  f32Bits,
  type GpuPlan,
  type GpuVariant,
  type Profile,
  type Program,
  Programs,
} from "../../core/dispatch.ts";
import {
  EIGHT,
  gpuBytes,
  joinEight,
  loadText,
  splitEight,
  storeText,
  vec,
  wgslType,
} from "../../core/gpu_storage.ts";
import type { Problem } from "../../core/op.ts";
import { shaderProgram } from "../../core/shader.ts";
import { ROWS_PROGRAM } from "../../../shaders_generated.ts";
import { type Shape, sizeOf } from "../../core/shape.ts";
import { flatDispatch } from "../dispatches.ts";
import { type Combine, INFINITY, LOOP_LIMIT } from "../reduce/wgsl.ts";
import { ROW_ELEMENTS } from "../thresholds.ts";

export interface RowInput {
  /** `row`: `[rows, columns]`; `column`: `[columns]`; `scalar`: `[rows]`. In scope as `x0`, `x1`, … in binding order. */
  readonly kind: "row" | "column" | "scalar";
  readonly dtype: DType;
}

/** A value accumulated over a row. */
export interface Accumulator {
  /** Name of the row's result once the pass is over. */
  readonly name: string;
  /** Combines partial values; `max` may lose NaN. */
  readonly combine: Combine;
  /** Text of the initial value, a scalar. */
  readonly start: string;
  /** Text of the term of an element (or four). `V` and `U` are f32 and u32 or vectors of them, `ci` the columns. */
  readonly value: string;
}

/** A sum over a row. */
export function summed(name: string, value: string): Accumulator {
  return { name, combine: "sum", start: "0.0", value };
}

export interface RowPass {
  readonly accumulators: readonly Accumulator[];
  /** Statements per element (or four) before the values. */
  readonly each?: string;
  /** Statements after the pass, with the results in scope. */
  readonly after?: string;
}

/** A row kernel. Its texts hold for single elements and for four at once. */
export interface RowKernel {
  /** Name for profiles; kernels of one name and key differ in dtypes only. */
  readonly name: string;
  readonly key?: string;
  /** Inputs in binding order. */
  readonly inputs: readonly RowInput[];
  /** Passes before rows are written. */
  readonly passes: readonly RowPass[];
  /** Statements per element (or four) before it is written. */
  readonly each?: string;
  /** Outputs `[rows, columns]`: dtype and text per element. */
  readonly rows: readonly (readonly [DType, string])[];
  /** Outputs `[rows]`, bound after those. */
  readonly scalars?: readonly (readonly [DType, string])[];
  /** Helper functions; where they depend on the width, all of them, `inf_` too. */
  readonly prelude?: string | ((wide: boolean) => string);
  /** Parameters besides `rows`, `cols` (vectors) and `columns` (elements, f32). */
  readonly params?: readonly string[];
}

export interface RowRun {
  readonly rows: number;
  readonly columns: number;
  readonly buffers: readonly BufferRef[];
  /** Words of the kernel's own parameters. */
  readonly params?: readonly number[];
}

export type RowForm = "workgroup" | "thread";

export const MOST_PASSES = 4;
/** Vectors of a row that an invocation of a workgroup keeps in registers. */
const REGISTERS = 4;
const cache = new Programs();

/** Views a tensor as rows of its last axis. */
export function rowsOf(shape: Shape): { rows: number; columns: number } {
  const columns = shape.length === 0 ? 1 : shape[shape.length - 1];
  return { rows: columns === 0 ? 0 : sizeOf(shape) / columns, columns };
}

/** Makes variants over rows of the last axis of input 0, one for each form. */
export function rowFormVariants(
  fits: (problem: Problem, profile: Profile) => boolean,
  plan: (problem: Problem, profile: Profile, form: RowForm) => GpuPlan,
): GpuVariant[] {
  return (["workgroup", "thread"] as const).map((form) => ({
    name: form,
    fits: (problem, profile) =>
      rowFormFits(form, rowsOf(problem.inputs[0].shape).columns, profile) &&
      fits(problem, profile),
    plan: (problem, profile) => plan(problem, profile, form),
  }));
}

/** Makes variants of one dispatch; `make` returns the kernel and its operands. */
export function rowVariants(
  fits: (problem: Problem, profile: Profile) => boolean,
  make: (problem: Problem) => readonly [RowKernel, RowRun],
): GpuVariant[] {
  return rowFormVariants(fits, (problem, profile, form) => {
    const [kernel, run] = make(problem);
    return { dispatches: run.rows === 0 ? [] : [rowDispatch(kernel, run, profile, form)] };
  });
}

/** True where rows of this many columns can be run in this form. */
function rowFormFits(form: RowForm, columns: number, profile: Profile): boolean {
  if (form === "workgroup") return profile.barriers && columns >= 64;
  // The passes and the writing, four elements or vectors an iteration.
  return (MOST_PASSES + 1) * Math.ceil(columns / (columns % 4 === 0 ? 16 : 4)) <= LOOP_LIMIT;
}

export function rowDispatch(
  kernel: RowKernel,
  run: RowRun,
  profile: Profile,
  form: RowForm,
): Dispatch {
  const { rows, columns, buffers } = run;
  const groups = form === "workgroup";
  const types = [...kernel.inputs.map((i) => i.dtype), ...kernel.rows.map(([t]) => t)];
  const eights = profile.words64 && !groups && columns % 8 === 0 &&
    types.every((t) => gpuBytes(t) === 4);
  const width = eights ? 8 : columns % 4 === 0 ? 4 : 1;
  const cols = columns / width;
  const workgroup = groups ? (cols > 64 ? 256 : 64) : profile.barriers ? 64 : profile.lanes;
  const registers = groups && cols <= workgroup * REGISTERS ? Math.ceil(cols / workgroup) : 0;
  // Sixteen elements an iteration, where an invocation takes a whole row.
  const steps = groups || rows * columns < ROW_ELEMENTS ? 1 : width === 8 ? 2 : 4;
  const key =
    `${kernel.name},${kernel.key},${types},${form},${width},${workgroup},${registers},${steps}`;
  let program = cache.get(key);
  if (!program) {
    program = makeRowProgram(kernel, { width, workgroup, registers, groups, steps });
    cache.set(key, program);
  }
  const params = [rows, cols, f32Bits(columns), ...(run.params ?? [])];
  return flatDispatch({ program, buffers, params, groups }, profile);
}

interface Form {
  /** Elements that are loaded at once; the kernel's texts get four of eight at a time. */
  readonly width: 1 | 4 | 8;
  readonly workgroup: number;
  readonly registers: number;
  readonly groups: boolean;
  /** Loads of an iteration where an invocation takes a whole row. */
  readonly steps: number;
}

function makeRowProgram(kernel: RowKernel, form: Form): Program {
  const { width, workgroup, groups } = form;
  const { scalars = [], prelude = "" } = kernel;
  const most = Math.max(0, ...kernel.passes.map((p) => p.accumulators.length));
  const results = scalars.map(([t, text], k) =>
    `out${kernel.rows.length + k}[row] = ${storeText(t, `(${text})`)};`
  );
  const lines = (texts: readonly string[]): string => texts.filter((l) => l !== "").join("\n");
  return shaderProgram(ROWS_PROGRAM, {
    wide: width > 1,
    groups,
    shared: groups ? most : 0,
    workgroup,
    helpers: typeof prelude === "function" ? prelude(width > 1) : lines([INFINITY, prelude]),
    scalars: lines(
      kernel.inputs.map((i, k) =>
        i.kind === "scalar" ? `let x${k} = ${loadText(i.dtype, `in${k}[row]`)};` : ""
      ),
    ),
    held: lines(registerLoads(kernel, form)),
    passes: lines(kernel.passes.map((pass) => passText(kernel, pass, form))),
    write: lines(overRow(kernel, form, [kernel.each ?? ""], kernel.rows)),
    results: groups && results.length > 0
      ? `if (lidx == 0u) { ${results.join(" ")} }`
      : lines(results),
  }, {
    name: kernel.name,
    inputs: kernel.inputs.map(({ kind, dtype }) =>
      kind === "scalar" ? wgslType(dtype) : storageType(dtype, width)
    ),
    outputs: [
      ...kernel.rows.map(([t]) => storageType(t, width)),
      ...scalars.map(([t]) => wgslType(t)),
    ],
    params: kernel.params ?? [],
  });
}

function storageType(dtype: DType, width: number): string {
  return width === 8 ? EIGHT : vec(wgslType(dtype), width);
}

function registerLoads(kernel: RowKernel, { registers, workgroup, width }: Form): string[] {
  const lines: string[] = [];
  for (let r = 0; r < registers; r++) {
    lines.push(`let c_${r} = lidx + ${r * workgroup}u;`);
    const loads: string[] = [];
    kernel.inputs.forEach((i, k) => {
      if (i.kind !== "row") return;
      lines.push(`var r_${k}_${r} = V(0.0);`);
      loads.push(`r_${k}_${r} = ${loadText(i.dtype, `in${k}[base + c_${r}]`, width)};`);
    });
    lines.push(`if (c_${r} < p.cols) { ${loads.join(" ")} }`);
  }
  return lines;
}

/** Prints the statements for each element (or four) of this invocation's part of the row, and its stores. */
function overRow(
  kernel: RowKernel,
  form: Form,
  statements: readonly string[],
  rows: RowKernel["rows"] = [],
): string[] {
  const { width, workgroup, registers, groups, steps } = form;
  const given = statements.filter((s) => s !== "").join("\n  ");
  const text = [given, ...rows.map(([_, value]) => value)].join("\n");
  const uses = (name: string): boolean => new RegExp(`\\b${name}\\b`).test(text);
  const element = (at: string, register: number | null): string => {
    const lines = [`let c = ${at};`];
    // The texts' names of each input: of eight elements the even four, then the odd four.
    const halves: string[][] = width === 8 ? [[], []] : [[]];
    kernel.inputs.forEach(({ kind, dtype }, k) => {
      if (kind === "scalar" || !uses(`x${k}`)) return;
      const stored = `in${k}[${kind === "row" ? "base + c" : "c"}]`;
      if (width === 8) {
        lines.push(`let w${k} = ${stored};`);
        splitEight(wgslType(dtype), `w${k}`).forEach((v, h) => halves[h].push(`let x${k} = ${v};`));
      } else {
        const kept = kind === "row" && register !== null;
        lines.push(`let x${k} = ${kept ? `r_${k}_${register}` : loadText(dtype, stored, width)};`);
      }
    });
    if (uses("ci")) halves.forEach((half, h) => half.push(`let ci = ${columnsText(width, h)};`));
    if (width < 8) {
      const stores = rows.map(([t, value], k) =>
        `out${k}[base + c] = ${storeText(t, `(${value})`, width)};`
      );
      return block([...lines, ...halves[0], given, ...stores]);
    }
    const results = rows.flatMap((_, k) => halves.map((_, h) => `var y${k}_${h}: V;`));
    const stores = rows.map(([t], k) =>
      `out${k}[base + c] = ${joinEight(wgslType(t), `y${k}_0`, `y${k}_1`)};`
    );
    const texts = halves.map((half, h) =>
      block([...half, given, ...rows.map(([_, value], k) => `y${k}_${h} = ${value};`)])
    );
    return block([...lines, ...results, ...texts, ...stores]);
  };
  if (registers > 0) {
    return Array.from(
      { length: registers },
      (_, r) => `if (c_${r} < p.cols) ${element(`c_${r}`, r)}`,
    );
  }
  if (groups) return [`for (var k = lidx; k < p.cols; k += ${workgroup}u) ${element("k", null)}`];
  const several = steps === 1 ? [] : [
    `for (; k + ${steps}u <= p.cols; k += ${steps}u) {`,
    ...Array.from({ length: steps }, (_, d) => element(d === 0 ? "k" : `k + ${d}u`, null)),
    `}`,
  ];
  return [
    `{\nvar k = 0u;`,
    ...several,
    `for (; k < p.cols; k += 1u) ${element("k", null)}`,
    `}`,
  ];
}

/** Returns the text of the columns of the vector `c`: the even or the odd ones of eight. */
function columnsText(width: number, half: number): string {
  if (width === 1) return "c";
  const at = (e: number): string => `${width}u * c + ${width === 4 ? e : 2 * e + half}u`;
  return `U(${[0, 1, 2, 3].map(at).join(", ")})`;
}

function block(lines: readonly string[]): string {
  return `{\n  ${lines.filter((l) => l !== "").join("\n  ")}\n}`;
}

function join(combine: Combine, a: string, b: string): string {
  return combine === "sum"
    ? `${a} + ${b}`
    : combine === "prod"
    ? `${a} * ${b}`
    : `${combine}(${a}, ${b})`;
}

function passText(kernel: RowKernel, pass: RowPass, form: Form): string {
  const { width, workgroup, groups } = form;
  const { accumulators } = pass;
  const lines = accumulators.map((a) => `var ${a.name} = 0.0;`);
  lines.push("{");
  for (const a of accumulators) lines.push(`var ${a.name}_v = V(${a.start});`);
  lines.push(...overRow(kernel, form, [
    pass.each ?? "",
    ...accumulators.map((a) => `${a.name}_v = ${join(a.combine, `${a.name}_v`, `(${a.value})`)};`),
  ]));
  const total = (a: Accumulator): string => {
    const v = `${a.name}_v`;
    return width === 1 ? v : join(
      a.combine,
      `(${join(a.combine, `${v}.x`, `${v}.y`)})`,
      `(${join(a.combine, `${v}.z`, `${v}.w`)})`,
    );
  };
  if (!groups) lines.push(...accumulators.map((a) => `${a.name} = ${total(a)};`));
  else {
    accumulators.forEach((a, k) => lines.push(`shared_${k}[lidx] = ${total(a)};`));
    lines.push(`workgroupBarrier();`);
    for (let half = workgroup >> 1; half > 0; half >>= 1) {
      const steps = accumulators.map((a, k) =>
        `shared_${k}[lidx] = ${
          join(a.combine, `shared_${k}[lidx]`, `shared_${k}[lidx + ${half}u]`)
        };`
      );
      lines.push(`if (lidx < ${half}u) { ${steps.join(" ")} }`, `workgroupBarrier();`);
    }
    accumulators.forEach((a, k) => lines.push(`${a.name} = shared_${k}[0];`));
    // The next pass writes where others may still read.
    lines.push(`workgroupBarrier();`);
  }
  lines.push("}");
  if (pass.after) lines.push(pass.after);
  return lines.join("\n");
}
