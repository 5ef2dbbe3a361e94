/**
 * GPU work as data: programs, dispatches, adapter profiles. Kernels return it, devices record it.
 */
import type { Problem } from "./op.ts";
import { RecentMap } from "./recent_map.ts";

/** What a kernel may know of the adapter. */
export interface Profile {
  /**
   * True where barriers and workgroup memory cost little and thousands of invocations run at once. False where a processor's
   * threads take one workgroup after another: kernels then keep all in registers and have as many invocations as it has work for.
   */
  readonly barriers: boolean;
  /** Subgroup width; 0 where subgroup operations cannot be used. */
  readonly subgroup: number;
  /** True where WGSL must say `enable subgroups;`. */
  readonly subgroupDirective: boolean;
  /** Invocations that run as one where there are no cheap barriers: elements of a processor's vectors. */
  readonly lanes: number;
  /** True where `enable f16;` works. */
  readonly f16: boolean;
  /** True where WGSL has `u64` and a load takes as long however wide it is: elements may then go by eights. */
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
  /** Chooses kernels by timing them; absent where the first candidate is taken. */
  readonly chooser?: KernelChooser;
}

/** Several kernels for the same work. */
export interface Candidates {
  /** Equal for work that wants the same kernel: the op, its layout, its shape in powers of two. */
  readonly key: string;
  /** A name for each candidate, the default first and then the likely best. */
  readonly names: readonly string[];
  /** Multiplications and additions that the work takes. */
  readonly flop: number;
  /** The work of one candidate, without temporaries of others. */
  readonly plan: (index: number) => GpuPlan;
  /** Bytes of each input that plans bind. */
  readonly inputs: readonly number[];
  /** Bytes of each output that plans bind. */
  readonly outputs: readonly number[];
}

/** Times candidates, or remembers which was best. */
export interface KernelChooser {
  /** False where it would always take the first. */
  readonly active: boolean;
  /** Index of the candidate to use. */
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

/** The part of a buffer that is bound, in bytes; all of it where absent. `offset` is a multiple of 256. */
export interface BufferRange {
  /** First byte. */
  readonly offset?: number;
  /** How many bytes. */
  readonly size?: number;
}

/** Which buffer is bound, and which part of it. `temp` buffers live for the op only. */
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

/** All that one application does on the GPU. */
export interface GpuPlan {
  /** Dispatches in order. */
  readonly dispatches: readonly Dispatch[];
  /** Bytes of each temporary buffer. */
  readonly temps?: readonly number[];
  /** Output → input whose buffer it may share without a copy (views). */
  readonly alias?: Readonly<Record<number, number>>;
}

/** One way to run an op on a GPU. */
export interface GpuVariant {
  /** Name for tests and tuning. */
  readonly name: string;
  /** Whether it can run this problem here. Default: always. */
  readonly fits?: (problem: Problem, profile: Profile) => boolean;
  /** The work. */
  readonly plan: (problem: Problem, profile: Profile) => GpuPlan;
  /** True where results depend on their dtype beyond its rounding: wider copies will not do. */
  readonly exactDtype?: boolean;
}

/** What `makeProgram` takes. */
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
  /** WGSL directives, e.g. `enable subgroups;`; that of f16 comes by itself. */
  readonly enable?: readonly string[];
}

/** Name of a uniform field that holds 0, which compilers do not know; programs that read it have it. */
export const ZERO_PARAM = "zero_";

/** Programs by what tells them apart: those that were asked for lately. */
export class Programs extends RecentMap<string, Program> {
  /** None yet. */
  constructor() {
    super(MOST_PROGRAMS);
  }
}
/** Some kilobytes of text each, and on the GPU several times that. */
const MOST_PROGRAMS = 1024;

const programs = new Programs();

/** Builds a program; equal sources give the same object. */
export function makeProgram(init: ProgramInit): Program {
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

/** Flat invocation index of a 1-D program whose grid may have been folded by {@linkcode gridFor}. */
export function flatId(workgroup: number): string {
  return `(wid.x + wid.y * nwg.x) * ${workgroup}u + lidx`;
}

/** Invocations from which a software adapter's threads all have work where workgroups are large. */
const MANY = 4096;

/** Workgroup of a 1-D program: a software adapter takes few invocations together while there are few, as starting a workgroup costs. */
export function workgroupFor(threads: number, profile: Profile): number {
  return profile.barriers || threads >= MANY ? 64 : profile.lanes;
}

/** Grid for `threads` invocations of a 1-D program, folded to two axes above the limit. Index with {@linkcode flatId}. */
export function gridFor(
  threads: number,
  workgroup: number,
  profile: Profile,
): [number, number, number] {
  const groups = Math.max(1, Math.ceil(threads / workgroup));
  if (groups <= profile.maxGrid) return [groups, 1, 1];
  const y = Math.ceil(groups / profile.maxGrid);
  return [Math.ceil(groups / y), y, 1];
}

const scratch = new DataView(new ArrayBuffer(4));

/** The word whose bits are this float: for parameters declared `:f32`. */
export function f32Bits(value: number): number {
  scratch.setFloat32(0, value, true);
  return scratch.getUint32(0, true);
}
