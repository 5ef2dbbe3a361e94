/** defineOp and the registry: one value holds everything about an op. */
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

/** A concrete application, for which a kernel is chosen and planned. */
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
 * Computes on host arrays: `inputs` row-major, `outputs` allocated (not zeroed) and to be filled. An op whose output
 * shape depends on values returns new arrays instead, also where that shape happens to be known.
 */
export type CpuKernel = (
  inputs: readonly NdArray[],
  outputs: readonly NdArray[],
  problem: Problem,
) => void | readonly NdArray[];

/** The context of a gradient rule. */
export interface GradContext {
  /** Attributes of the forward application, defaults filled in. */
  readonly attrs: Attrs;
  /** Specs of the forward inputs. */
  readonly inputs: readonly Spec[];
  /** Specs of the forward outputs. */
  readonly outputs: readonly Spec[];
  /** True for each input that needs a gradient; a rule may skip the others. */
  readonly needs: readonly boolean[];
  /**
   * True for each output that a gradient flows into. The gradients of the others are zeros, made when a rule reads
   * them.
   */
  readonly given: readonly boolean[];
  /** True for each gradient that nothing reads after the rule: a function that the rule calls once with it may reuse its memory. */
  readonly spent: readonly boolean[];
  /** Returns the shape of an input as a host value: a literal where it is known, else a `Shape` op. */
  shapeOf(input: number): TensorLike;
  /** Sums a gradient down to the shape of an input that was broadcast. */
  sumLike(grad: Tensor, input: number): Tensor;
}

/** Gradient rule: `saves` names the inputs and outputs it reads. */
export interface GradRule {
  /**
   * True: the op may read variables that are not its inputs; `vjp` gets the handles of the wanted ones as further
   * inputs.
   */
  readonly captures?: boolean | ((attrs: Attrs) => boolean);
  /** Names of inputs and outputs that `vjp` reads. */
  readonly saves: readonly string[];
  /** Returns false for an output in `saves` of which an eager `vjp` needs the shape alone. Default: all are kept. */
  readonly reads?: (attrs: Attrs, output: number) => boolean;
  /** True: `vjp` passes gradients on unchanged, so that `IndexedSlices` stay rows; other rules get dense tensors. */
  readonly passesOn?: boolean;
  /** True: outputs that no gradient reached have null there, rather than zeros. */
  readonly partial?: boolean;
  /** False for attributes with which the op is not differentiable. Default: always differentiable. */
  readonly applies?: (attrs: Attrs) => boolean;
  /** True: a straight-through estimate, other than the gradient of the op's expansion, in whose place `vmap` must not run that. */
  readonly isEstimate?: boolean;
  /** The message where it does not apply, given once for each key when a gradient is computed all the same. */
  readonly cut?: (attrs: Attrs) => { text: string; key: object; strict: boolean } | null;
  /**
   * Computes one gradient per input (`null` for none) from one per output, by ordinary ops. Outputs that carry no
   * gradient (integers, handles) have null there.
   */
  readonly vjp: (
    saved: Readonly<Record<string, Tensor>>,
    dys: readonly Tensor[],
    ctx: GradContext,
  ) => readonly (Tensor | null)[];
}

/** Side effects: those of a function are never dropped, and `ordered` ones keep program order. */
export type OpEffects = "none" | "unordered" | "ordered";

/** Arguments of `defineOp`. */
export interface OpInit {
  /** TensorFlow op name. */
  readonly name: string;
  /** Inputs as in TensorFlow's OpDef: `"x: T"`, `"values: N * T"`, `"input: Tin"`. */
  readonly inputs: readonly string[];
  /** Outputs likewise. */
  readonly outputs: readonly string[];
  /** Attributes as in TensorFlow's OpDef: `"T: floating"`, `"transpose_a: bool = false"`. */
  readonly attrs?: readonly string[];
  /** Returns the shapes of the outputs; throws `ValueError` for inputs that do not fit. */
  readonly infer: (inputs: readonly Spec[], attrs: Attrs) => readonly PartialShape[];
  /** Computes the op by smaller ops. Runs with concrete or symbolic tensors; literals arrive as they were given. */
  readonly expand?: (inputs: readonly OpInput[], attrs: Attrs) => readonly Tensor[];
  /** Number of the input that `expand`, or the host, reads once and whose memory the first result may reuse. */
  readonly changes?: number;
  /** The op's replacement in a portable GraphDef. Absent: TensorFlow has this very op. */
  readonly portable?: Portable;
  /** Gradient; `null`: not differentiable, gradients are cut. Absent: through `expand`, else a `LookupError`. */
  readonly grad?: GradRule | null;
  /** Host kernel in plain loops, every dtype the signature allows. */
  readonly cpu?: CpuKernel;
  /** GPU kernels, tried in order. Absent: those that the device has for the meaning. */
  readonly gpu?: readonly GpuVariant[];
  /** Its meaning for passes, placement and devices. Default `opaque`. */
  readonly meaning?: Meaning;
  /** Side effects. Default `none`. */
  readonly effects?: OpEffects;
  /** Inputs that kernels read on the host: axes, shapes, permutations. */
  readonly hostInputs?: readonly string[];
  /** Runs it on the host thread, for ops without kernels: scripts, control flow, state. */
  readonly host?: HostOp;
  /** True: kernels read no more of the inputs than dtypes and shapes, so that values need not exist. */
  readonly shapeOnly?: boolean;
  /** True: each element of the first input gives its part of the results by itself, whatever its place and the other elements are. */
  readonly each?: boolean;
  /** True: never folded, merged or cached, as random ops and stateful script ops. */
  readonly stateful?: boolean;
  /**
   * The resource outside of the process that it accesses: graphs from a network may contain it only where it is allowed
   * by name.
   */
  readonly outside?: "files" | "network" | "environment" | "output";
}

/** A registered op. */
export interface OpDef extends OpInit {
  /** Small number for cache keys. */
  readonly id: number;
  /** Its parsed arguments and attributes. */
  readonly signature: Signature;
  /** Its meaning for passes, placement and devices. */
  readonly meaning: Meaning;
  /** Side effects. */
  readonly effects: OpEffects;
}

const OPAQUE: Meaning = { kind: "opaque" };
/**
 * All fields of an op. Each definition has all of them, present or undefined, so that engines read one hidden class.
 */
const FIELDS =
  "name inputs outputs attrs infer expand portable grad cpu gpu meaning effects hostInputs host shapeOnly each stateful outside id signature";
const UNSET: Partial<OpInit> = Object.fromEntries(FIELDS.split(" ").map((key) => [key, undefined]));

const registry = new Map<string, OpDef>();

/** True for an op that a user defined: its name has a namespace. */
export function isOwnOp({ name }: OpDef): boolean {
  return name.includes(">");
}

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

/** Kinds for which no device but the host has kernels. */
const WITHOUT_KERNELS: ReadonlySet<MeaningKind> = new Set([
  "constant",
  "elimination",
  "input",
  "opaque",
]);

/** True where devices other than the host may run the op: by kernels of its own, of its meaning, or of its parts. */
export function runsOnDevices({ gpu, expand, meaning }: OpDef): boolean {
  return gpu !== undefined || expand !== undefined || !WITHOUT_KERNELS.has(meaning.kind);
}

/** True where devices other than the host may run the op on complex64: by kernels that take it, or by parts. */
export function runsOnComplex({ expand, meaning }: OpDef): boolean {
  if (expand !== undefined) return true;
  switch (meaning.kind) {
    case "pointwise":
    case "view":
    case "copy":
    case "exchange":
    case "gather":
    case "scatter":
    case "fourier":
      return true;
    case "fill":
      return meaning.how === "element" || meaning.how === "number";
    case "reduce":
      return (meaning.op === "sum" || meaning.op === "mean") && !meaning.term && !meaning.finish;
    case "scan":
      return meaning.op === "sum";
    case "product":
      return meaning.of === undefined && meaning.asFused === undefined;
  }
  return false;
}

export function lookupOp(name: string): OpDef | undefined {
  return registry.get(name);
}

/** Returns every op, in order of definition. */
export function registeredOps(): OpDef[] {
  return [...registry.values()];
}

/** Infers the output specs of an application: dtypes from the signature, shapes from `infer`, both with its fusion. */
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

/** Position among flat inputs → position of its argument; beyond the last for an input of the fusion. */
export function argOfInput(def: OpDef, flat: number, total: number): number {
  const { inputArgs } = def.signature;
  for (let a = 0, i = 0; a < inputArgs.length; a++) {
    const arg = inputArgs[a];
    const n = arg.numberAttr || arg.typeListAttr ? total - (inputArgs.length - 1) : 1;
    if (flat < (i += n)) return a;
  }
  return inputArgs.length;
}
