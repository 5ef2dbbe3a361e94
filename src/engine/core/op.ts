/**
 * defineOp and the registry: one value holds everything true about an op.
 */
import { checkInferred, type PartialShape } from "./shape.ts";
import type { ConcreteSpec, Spec } from "./tensor_spec.ts";
import type { NdArray } from "./nd_array.ts";
import type { OpInput } from "./apply.ts";
import type { Tensor, TensorLike } from "./tensor.ts";
import type { GpuVariant } from "./dispatch.ts";
import type { Portable } from "./portable.ts";
import { fusionOf, ownInputs } from "./fusion.ts";
import { bindSignature, Signature } from "./signature.ts";
import type { HostOp } from "./contract/host_op.ts";
import type { Meaning, MeaningKind } from "./meaning.ts";
import { ValueError } from "./errors.ts";

/** Attributes of one application of an op. */
// deno-lint-ignore no-explicit-any
export type Attrs = Readonly<Record<string, any>>;

/** A concrete application: what a kernel is chosen and planned for. */
export interface Problem {
  /** Specs of the inputs. */
  readonly inputs: readonly ConcreteSpec[];
  /** Values of host inputs, at the same places; undefined elsewhere. */
  readonly hosts: readonly (NdArray | undefined)[];
  /** Specs of the outputs. */
  readonly outputs: readonly ConcreteSpec[];
  /** Attributes, defaults filled in. */
  readonly attrs: Attrs;
}

/**
 * Computes on host arrays: `inputs` row-major, `outputs` allocated (not zeroed) and to be filled.
 * An op whose output shape depends on values returns new arrays instead, also where that shape happens to be known.
 */
export type CpuKernel = (
  inputs: readonly NdArray[],
  outputs: readonly NdArray[],
  problem: Problem,
) => void | readonly NdArray[];

/** What a gradient rule may ask. */
export interface GradContext {
  /** Attributes of the forward application, defaults filled in. */
  readonly attrs: Attrs;
  /** Specs of the forward inputs. */
  readonly inputs: readonly Spec[];
  /** Specs of the forward outputs. */
  readonly outputs: readonly Spec[];
  /** Which inputs need a gradient; a rule may skip the others. */
  readonly needs: readonly boolean[];
  /** Which outputs a gradient flows into. The gradients of the others are zeros, made when a rule reads them. */
  readonly given: readonly boolean[];
  /** Shape of an input as a host value: a literal where it is known, else a `Shape` op. */
  shapeOf(input: number): TensorLike;
  /** Brings a gradient down to the shape of an input that was broadcast. */
  sumLike(grad: Tensor, input: number): Tensor;
}

/** Gradient rule: `saves` names the inputs and outputs it reads. */
export interface GradRule {
  /** True: the op may read variables that are no inputs of it; `vjp` gets the handles of those asked for as further inputs. */
  readonly captures?: boolean | ((attrs: Attrs) => boolean);
  /** Names of inputs and outputs that `vjp` reads. */
  readonly saves: readonly string[];
  /** True: `vjp` hands gradients on as they are, so that the rows of a gather stay rows; others get dense tensors. */
  readonly passesOn?: boolean;
  /** True: outputs that no gradient reached have null there, rather than zeros. */
  readonly partial?: boolean;
  /** False for attributes with which the op is not differentiable. Default: always differentiable. */
  readonly applies?: (attrs: Attrs) => boolean;
  /** Where it does not apply: what to tell, once a key, who differentiates all the same. */
  readonly cut?: (attrs: Attrs) => { text: string; key: object; strict: boolean } | null;
  /**
   * One gradient per input (`null` for none), from one per output. Written with ordinary ops.
   * Outputs that carry no gradient (integers, handles) have null there.
   */
  readonly vjp: (
    saved: Readonly<Record<string, Tensor>>,
    dys: readonly Tensor[],
    ctx: GradContext,
  ) => readonly (Tensor | null)[];
}

/** Side effects: those of a function are never dropped, and `ordered` ones keep program order. */
export type OpEffects = "none" | "unordered" | "ordered";

/** What `defineOp` takes. */
export interface OpInit {
  /** TensorFlow op name. */
  readonly name: string;
  /** Inputs as in TensorFlow's OpDef: `"x: T"`, `"values: N * T"`, `"input: Tin"`. */
  readonly inputs: readonly string[];
  /** Outputs likewise. */
  readonly outputs: readonly string[];
  /** Attributes as in TensorFlow's OpDef: `"T: floating"`, `"transpose_a: bool = false"`. */
  readonly attrs?: readonly string[];
  /** Shapes of the outputs; throws `ValueError` for inputs that do not fit. */
  readonly infer: (inputs: readonly Spec[], attrs: Attrs) => readonly PartialShape[];
  /** What it computes, in smaller ops. Runs with concrete or symbolic tensors; literals arrive as they were given. */
  readonly expand?: (inputs: readonly OpInput[], attrs: Attrs) => readonly Tensor[];
  /** What a portable GraphDef has in place of the op. Absent: TensorFlow has this very op. */
  readonly portable?: Portable;
  /** Gradient; `null`: not differentiable, gradients are cut. Absent: through `expand`, else a `LookupError`. */
  readonly grad?: GradRule | null;
  /** Host kernel in plain loops, every dtype the signature allows. */
  readonly cpu?: CpuKernel;
  /** GPU kernels, tried in order. Absent: those that the device has for the meaning. */
  readonly gpu?: readonly GpuVariant[];
  /** What it is to passes, placement and devices. Default `opaque`. */
  readonly meaning?: Meaning;
  /** Side effects. Default `none`. */
  readonly effects?: OpEffects;
  /** Inputs that kernels read on the host: axes, shapes, permutations. */
  readonly hostInputs?: readonly string[];
  /** How the executor runs it on the host thread, for ops that are no kernels: scripts, control flow, state. */
  readonly host?: HostOp;
  /** Kernels read no more of the inputs than dtypes and shapes: values need not be there. */
  readonly shapeOnly?: boolean;
  /** Never folded, merged or cached: random ops, script ops that are stateful. */
  readonly stateful?: boolean;
  /** What it reaches outside of the process: graphs that come over a network may have it only where it is allowed by name. */
  readonly outside?: "files" | "network" | "environment" | "output";
}

/** A registered op. */
export interface OpDef extends OpInit {
  /** Small number for cache keys. */
  readonly id: number;
  /** What its texts of arguments and attributes say. */
  readonly signature: Signature;
  /** What it is to passes, placement and devices. */
  readonly meaning: Meaning;
  /** Side effects. */
  readonly effects: OpEffects;
}

const OPAQUE: Meaning = { kind: "opaque" };
/** All that an op may have. Each has what it lacks as well, so that engines read it from one place whichever op it is. */
const FIELDS =
  "name inputs outputs attrs infer expand portable grad cpu gpu meaning effects hostInputs host shapeOnly stateful outside id signature";
const UNSET: Partial<OpInit> = Object.fromEntries(FIELDS.split(" ").map((key) => [key, undefined]));

const registry = new Map<string, OpDef>();

/** Defines and registers an op. Throws `ValueError` where the name is taken. */
export function defineOp(init: OpInit): OpDef {
  if (registry.has(init.name)) {
    throw new ValueError(`Cannot define op "${init.name}": it is defined already`);
  }
  const def: OpDef = {
    ...UNSET,
    ...init,
    id: registry.size,
    signature: new Signature(init),
    meaning: init.meaning ?? OPAQUE,
    effects: init.effects ?? "none",
  };
  registry.set(init.name, def);
  return def;
}

/** Kinds for which no device has kernels. */
const WITHOUT_KERNELS: ReadonlySet<MeaningKind> = new Set(["constant", "input", "opaque"]);

/** True where devices other than the host may run the op: by kernels of its own, of its meaning, or of its parts. */
export function runsOnDevices({ gpu, expand, meaning }: OpDef): boolean {
  return gpu !== undefined || expand !== undefined || !WITHOUT_KERNELS.has(meaning.kind);
}

export function lookupOp(name: string): OpDef | undefined {
  return registry.get(name);
}

/** Every op, in order of definition. */
export function registeredOps(): OpDef[] {
  return [...registry.values()];
}

/** Output specs of an application: dtypes from the signature, shapes from `infer`, both with what is fused to the op. */
export function inferOutputs(
  def: OpDef,
  inputs: readonly Spec[],
  attrs: Attrs,
): { attrs: Attrs; outputs: Spec[] } {
  const fusion = fusionOf(attrs), own = fusion ? ownInputs(fusion, inputs) : inputs;
  const bound = bindSignature(def, own, attrs);
  const shapes = checkInferred(def.infer(own, bound.attrs), bound.outputs.length, def.name);
  return {
    attrs: bound.attrs,
    outputs: bound.outputs.map((dtype, i) => ({ dtype: fusion?.dtype ?? dtype, shape: shapes[i] })),
  };
}

/** Position among flat inputs → position of the argument it belongs to; beyond the last where it is fused to the op. */
export function argOfInput(def: OpDef, flat: number, total: number): number {
  const { inputArgs } = def.signature;
  for (let a = 0, i = 0; a < inputArgs.length; a++) {
    const arg = inputArgs[a];
    const n = arg.numberAttr || arg.typeListAttr ? total - (inputArgs.length - 1) : 1;
    if (flat < (i += n)) return a;
  }
  return inputArgs.length;
}
