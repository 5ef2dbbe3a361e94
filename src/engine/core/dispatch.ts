/** GPU work as data: programs, dispatches, adapter profiles. Kernels return it, devices record it. */
import { wantList, wantNumber, wantObject } from "./arguments.ts";
import type { Problem } from "./op.ts";
import { RecentMap } from "./collections/recent_map.ts";

/** The features of an adapter that kernels depend on. */
export interface Profile {
  /**
   * True where barriers and workgroup memory cost little and thousands of invocations run at once. False where a
   * processor's threads run one workgroup after another: kernels then keep all in registers and have as many
   * invocations as there is work for.
   */
  readonly barriers: boolean;
  /** Subgroup width; 0 where subgroup operations are unavailable. */
  readonly subgroup: number;
  /** True where WGSL needs `enable subgroups;`. */
  readonly subgroupDirective: boolean;
  /** Invocations that run as one where barriers are expensive: elements of a processor's vectors. */
  readonly lanes: number;
  /** True where `enable f16;` works. */
  readonly f16: boolean;
  /** True where WGSL has `u64` and the width of a load does not matter: elements may then be loaded by eights. */
  readonly words64: boolean;
  /** Largest storage binding in bytes. */
  readonly maxBinding: number;
  /** Storage buffers one dispatch may bind. */
  readonly maxBuffers: number;
  /** Invocations a workgroup may have. */
  readonly maxInvocations: number;
  /** Bytes of workgroup memory. */
  readonly maxWorkgroupBytes: number;
  /** Workgroups along one axis of a grid. */
  readonly maxGrid: number;
  /** Chooses kernels by timing them; absent where the first candidate is used. */
  readonly chooser?: KernelChooser;
}

/** Several kernels for the same work. */
export interface Candidates {
  /** Equal for work with the same best kernel: the op, its layout, its shape in powers of two. */
  readonly key: string;
  /** A name for each candidate, the default first and then the likely best. */
  readonly names: readonly string[];
  /** Multiplications and additions of the work. */
  readonly flop: number;
  /** Plans one candidate, without temporaries of others. */
  readonly plan: (index: number) => GpuPlan;
  /** Bytes of each bound input. */
  readonly inputs: readonly number[];
  /** Bytes of each bound output. */
  readonly outputs: readonly number[];
}

/** Times candidates, and remembers the best. */
export interface KernelChooser {
  /** False where it would always take the first. */
  readonly active: boolean;
  /** Returns the index of the candidate to use. */
  choose(candidates: Candidates): number;
}

/** A WGSL program: its bindings are storage buffers in order, then one uniform block where it has parameters. */
export interface Program {
  /** Name for messages and profiles. */
  readonly name: string;
  /** Whole WGSL source; its entry point is `main`. Also the cache key. */
  readonly source: string;
  /** Access of each storage binding: `read` or `read_write`. */
  readonly bindings: readonly ("read" | "read_write")[];
  /** True where the last binding is the uniform block. */
  readonly hasParams: boolean;
  /** Names of the fields that dispatches give words for, in order. */
  readonly params: readonly string[];
  /** Invocations of a workgroup along its first axis. */
  readonly workgroup: number;
}

/** The bound part of a buffer, in bytes; all of it where absent. `offset` is a multiple of 256. */
export interface BufferRange {
  /** First byte. */
  readonly offset?: number;
  /** Number of bytes. */
  readonly size?: number;
}

/** A bound buffer, and its bound part. `temp` buffers live for the op only. */
export type BufferRef =
  & BufferRange
  & (
    | { readonly input: number }
    | { readonly output: number }
    | { readonly temp: number }
  );

/** One dispatch of a program. */
export interface Dispatch {
  /** The program. */
  readonly program: Program;
  /** Buffers in binding order. */
  readonly buffers: readonly BufferRef[];
  /** Words of the uniform block (bits of floats included). */
  readonly params: readonly number[];
  /** Workgroups; the device folds what exceeds its limit only where the program uses `flatId`. */
  readonly grid: readonly [number, number, number];
}

/** The GPU work of one application. */
export interface GpuPlan {
  /** Dispatches in order. */
  readonly dispatches: readonly Dispatch[];
  /** Bytes of each temporary buffer. */
  readonly temps?: readonly number[];
  /** The dispatches that write output 0 into an input's memory: their buffers name the output instead of the input. */
  readonly onto?: { readonly input: number; readonly dispatches: readonly Dispatch[] };
  /** Numbers of the inputs whose memory it changes. */
  readonly changes?: readonly number[];
}

/** One implementation of an op on a GPU. */
export interface GpuVariant {
  /** Name for tests and tuning. */
  readonly name: string;
  /** True where it can run this problem here. Default: always. */
  readonly fits?: (problem: Problem, profile: Profile) => boolean;
  /** Plans the work. */
  readonly plan: (problem: Problem, profile: Profile) => GpuPlan;
  /** True where results depend on the dtype beyond its rounding: wider copies will not do. */
  readonly exactDtype?: boolean;
  /** `too` where it also takes complex64, whose parts lie side by side; `only` where it takes nothing else. Default: it does not. */
  readonly complex?: "too" | "only";
}

/** Arguments of `makeProgram`. */
export interface ProgramInit {
  /** Name for messages and profiles. */
  readonly name: string;
  /** WGSL element types of the inputs, bound as `in0`, `in1`, …: `f32`, `vec4<f32>`. */
  readonly inputs: readonly string[];
  /** WGSL element types of the outputs, bound as `out0`, `out1`, …. */
  readonly outputs: readonly string[];
  /** Uniform fields, read as `p.name`: `"n"` is u32, `"n:i32"` and `"x:f32"` otherwise. */
  readonly params?: readonly string[];
  /** Workgroup size. */
  readonly workgroup: readonly [number, number, number];
  /** Declarations before `main`. */
  readonly prelude?: string;
  /** Statements of `main`. In scope: `gid`, `lid`, `wid`, `nwg` (vec3<u32>) and `lidx` (u32). */
  readonly body: string;
  /** WGSL directives, e.g. `enable subgroups;`; that of f16 is added by itself. */
  readonly enable?: readonly string[];
}

/** Name of a uniform field that holds 0, which compilers cannot know; programs that read it declare it. */
export const ZERO_PARAM = "zero_";

/** Programs by unique keys, bounded to the recently used ones. */
export class Programs extends RecentMap<string, Program> {
  constructor() {
    super(MOST_PROGRAMS);
  }
}
/** Each program takes some kilobytes of text, and on the GPU several times that. */
const MOST_PROGRAMS = 1024;

const programs = new Programs();

/**
 * Builds a program; equal sources give the same object.
 *
 * @example
 * ```ts
 * import { flatId, makeProgram } from "@weft/weft/ops";
 * const { params } = makeProgram({
 *   name: "double",
 *   inputs: ["f32"],
 *   outputs: ["f32"],
 *   params: ["n"],
 *   workgroup: [64, 1, 1],
 *   body: `let i = ${flatId(64)}; if (i < p.n) { out0[i] = 2 * in0[i]; }`,
 * });
 * console.log(params); // ["n"]
 * ```
 */
export function makeProgram(init: ProgramInit): Program {
  wantObject(init, "init", "makeProgram");
  wantList(init.inputs, "init.inputs", "makeProgram", "types");
  wantList(init.outputs, "init.outputs", "makeProgram", "types");
  wantList(init.workgroup, "init.workgroup", "makeProgram", "three numbers");
  let b = 0;
  const lines: string[] = [];
  const bindings: ("read" | "read_write")[] = [];
  init.inputs.forEach((t, i) => {
    lines.push(`@group(0) @binding(${b++}) var<storage, read> in${i}: array<${t}>;`);
    bindings.push("read");
  });
  init.outputs.forEach((t, i) => {
    lines.push(`@group(0) @binding(${b++}) var<storage, read_write> out${i}: array<${t}>;`);
    bindings.push("read_write");
  });
  const readsZero = `${init.prelude}${init.body}`.includes(`p.${ZERO_PARAM}`);
  const params = [...(init.params ?? []), ...(readsZero ? [ZERO_PARAM] : [])];
  if (params.length > 0) {
    const fields = params.map((f) => {
      const [name, type = "u32"] = f.split(":");
      return `  ${name}: ${type},`;
    });
    lines.push(
      `struct Params {\n${fields.join("\n")}\n}`,
      `@group(0) @binding(${b}) var<uniform> p: Params;`,
    );
  }
  if (init.prelude) lines.push(init.prelude);
  lines.push(
    `@compute @workgroup_size(${init.workgroup.join(", ")})`,
    `fn main(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>,`,
    `  @builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) lidx: u32) {`,
    init.body,
    `}`,
  );
  const text = lines.join("\n");
  const enable = [...(/\bf16\b/.test(text) ? ["enable f16;"] : []), ...(init.enable ?? [])];
  const source = [...enable, text].join("\n");
  let program = programs.get(source);
  if (!program) {
    const names = (init.params ?? []).map((f) => f.split(":")[0]);
    const { name, workgroup: [workgroup] } = init, hasParams = params.length > 0;
    program = { name, source, bindings, hasParams, params: names, workgroup };
    programs.set(source, program);
  }
  return program;
}

/**
 * Returns the text of the flat invocation index of a 1-D program whose grid may have been folded by {@linkcode
 * gridFor}.
 *
 * @example
 * ```ts
 * import { flatId } from "@weft/weft/ops";
 * console.log(flatId(64)); // (wid.x + wid.y * nwg.x) * 64u + lidx
 * ```
 */
export function flatId(workgroup: number): string {
  wantNumber(workgroup, "workgroup", "flatId");
  return `(wid.x + wid.y * nwg.x) * ${workgroup}u + lidx`;
}

/** Invocations that occupy all threads of a software adapter even in large workgroups. */
const MANY = 4096;

/**
 * Returns the workgroup size of a 1-D program: small on a software adapter with few invocations, as starting a
 * workgroup costs.
 *
 * @example
 * ```ts
 * import { type Profile, workgroupFor } from "@weft/weft/ops";
 * console.log(workgroupFor(1_000_000, { barriers: true } as Profile)); // 64
 * ```
 */
export function workgroupFor(threads: number, profile: Profile): number {
  wantNumber(threads, "threads", "workgroupFor");
  wantObject(profile, "profile", "workgroupFor");
  return profile.barriers || threads >= MANY ? 64 : profile.lanes;
}

/**
 * Returns the grid for `threads` invocations of a 1-D program, folded to two axes above the limit. Index with
 * {@linkcode flatId}.
 *
 * @example
 * ```ts
 * import { gridFor, type Profile } from "@weft/weft/ops";
 * const profile = { maxGrid: 65_535 } as Profile;
 * console.log(gridFor(1000, 64, profile)); // [16, 1, 1]
 * ```
 */
export function gridFor(
  threads: number,
  workgroup: number,
  profile: Profile,
): [number, number, number] {
  wantNumber(threads, "threads", "gridFor");
  wantNumber(workgroup, "workgroup", "gridFor");
  wantObject(profile, "profile", "gridFor");
  const groups = Math.max(1, Math.ceil(threads / workgroup));
  if (groups <= profile.maxGrid) return [groups, 1, 1];
  const y = Math.ceil(groups / profile.maxGrid);
  return [Math.ceil(groups / y), y, 1];
}

const scratch = new DataView(new ArrayBuffer(4));

/**
 * Returns the bits of a float as a word: for parameters declared `:f32`.
 *
 * @example
 * ```ts
 * import { f32Bits } from "@weft/weft/ops";
 * console.log(f32Bits(1).toString(16)); // 3f800000
 * ```
 */
export function f32Bits(value: number): number {
  wantNumber(value, "value", "f32Bits");
  scratch.setFloat32(0, value, true);
  return scratch.getUint32(0, true);
}
