/**
 * User-defined ops: with a shape rule, kernels in plain loops and WGSL, and a gradient, which fuse, differentiate and
 * run as the library's own do. `opCheck` and `gradCheck` of `@weft/weft/testing` check them.
 *
 * A pointwise op is one expression ({@linkcode definePointwise}). Anything else says how shapes follow, what the host computes, and, if it is
 * to run on the GPU, which dispatches of which programs do ({@linkcode defineOp}, {@linkcode makeProgram}).
 *
 * @module
 */
import "../../engine/runtime/install.ts";

export { applyOp, defineOp, definePointwise } from "./own_op.ts";
export type {
  Attrs,
  CpuKernel,
  GradContext,
  GradRule,
  OpDef,
  OpEffects,
  OpInit,
  Problem,
} from "../../engine/core/op.ts";
export type {
  HostCall,
  HostOp,
  HostResults,
  NodeState,
  Owner,
  RunScope,
  TapeOnlyCall,
} from "../../engine/core/contract/host_op.ts";
export type { Meaning } from "../../engine/core/meaning.ts";
export type { PointwiseInit } from "../../engine/ops/pointwise/define_pointwise.ts";
export { argument, castTo, constant, scalar } from "../../engine/core/scalar/expr.ts";
export type { Expr, PointwiseExpr, ScalarOp } from "../../engine/core/scalar/expr.ts";
export {
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
  type ProgramInit,
  workgroupFor,
} from "../../engine/core/dispatch.ts";
export type { OpInput } from "../../engine/core/apply.ts";
export type { ConcreteSpec, Spec } from "../../engine/core/tensor_spec.ts";
export type * from "../../engine/types.ts";
